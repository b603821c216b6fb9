"""Full requests of the families that differ: a changed one is a cache miss for every user, so it shows
here."""

from typing import Any

from inline_snapshot import snapshot

from tests.providers.histories import rich_history
from tests.providers.sending import model, sent

FULL: dict[str, Any] = {
    "system": ("You are a test.", "Be brief."),
    "effort": "high",
    "cache_key": "chat-1",
}


def test_anthropic_in_full() -> None:
    assert sent("anthropic", rich_history("anthropic"), **FULL) == snapshot(
        {
            "cache_control": {"type": "ephemeral"},
            "max_tokens": 4096,
            "messages": [
                {
                    "content": [
                        {"text": "What is in these?", "type": "text"},
                        {
                            "text": "[file shot.png (image/png, 4 bytes): this model cannot read such files]",
                            "type": "text",
                        },
                        {
                            "text": """\
[file t.csv (text/csv, 8 bytes)]
a,b
1,2

[end of t.csv]\
""",
                            "type": "text",
                        },
                    ],
                    "role": "user",
                },
                {
                    "content": [
                        {
                            "signature": "sig-c681c19011beebe5a5e262b9",
                            "thinking": "Look first.",
                            "type": "thinking",
                        },
                        {"text": "I will look.", "type": "text"},
                        {
                            "id": "prov1-id-1",
                            "input": {"limit": 5, "path": "a.txt"},
                            "name": "read_file",
                            "type": "tool_use",
                        },
                        {
                            "id": "prov1-id-2",
                            "input": {"path": "b.txt"},
                            "name": "read_file",
                            "type": "tool_use",
                        },
                    ],
                    "role": "assistant",
                },
                {
                    "content": [
                        {"content": "alpha", "tool_use_id": "prov1-id-1", "type": "tool_result"},
                        {
                            "content": '{"error":"no such file"}',
                            "is_error": True,
                            "tool_use_id": "prov1-id-2",
                            "type": "tool_result",
                        },
                        {"text": "[notice: agent 7 is done]", "type": "text"},
                        {"text": "Hurry up.", "type": "text"},
                    ],
                    "role": "user",
                },
                {
                    "content": [
                        {
                            "signature": "sig-eb4fe444eeba5f34c9adb76f",
                            "thinking": "Enough.",
                            "type": "thinking",
                        },
                        {"text": "It says alpha.", "type": "text"},
                    ],
                    "role": "assistant",
                },
                {"content": [{"text": "Thanks. And now?", "type": "text"}], "role": "user"},
            ],
            "model": "claude-sonnet-5",
            "output_config": {"effort": "high"},
            "stream": True,
            "system": [
                {"text": "You are a test.", "type": "text"},
                {"cache_control": {"type": "ephemeral"}, "text": "Be brief.", "type": "text"},
            ],
            "thinking": {"display": "summarized", "type": "adaptive"},
            "tools": [
                {
                    "cache_control": {"type": "ephemeral"},
                    "description": "Writes a note.",
                    "input_schema": {"properties": {"n": {"type": "integer"}}, "type": "object"},
                    "name": "note",
                }
            ],
        }
    )


def test_openai_in_full() -> None:
    chosen = model("openai", temperature=0.5, top_p=0.9, inputs=("text", "image"))
    assert sent("openai", rich_history("openai"), **FULL, model=chosen) == snapshot(
        {
            "max_completion_tokens": 4096,
            "messages": [
                {
                    "content": """\
You are a test.

Be brief.\
""",
                    "role": "system",
                },
                {
                    "content": [
                        {"text": "What is in these?", "type": "text"},
                        {"image_url": {"url": "data:image/png;base64,iVBORw=="}, "type": "image_url"},
                        {
                            "text": """\
[file t.csv (text/csv, 8 bytes)]
a,b
1,2

[end of t.csv]\
""",
                            "type": "text",
                        },
                    ],
                    "role": "user",
                },
                {
                    "content": "I will look.",
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "function": {"arguments": '{"limit":5,"path":"a.txt"}', "name": "read_file"},
                            "id": "prov1-id-1",
                            "type": "function",
                        },
                        {
                            "function": {"arguments": '{"path":"b.txt"}', "name": "read_file"},
                            "id": "prov1-id-2",
                            "type": "function",
                        },
                    ],
                },
                {"content": "alpha", "role": "tool", "tool_call_id": "prov1-id-1"},
                {"content": '{"error":"no such file"}', "role": "tool", "tool_call_id": "prov1-id-2"},
                {
                    "content": """\
[notice: agent 7 is done]

Hurry up.\
""",
                    "role": "user",
                },
                {"content": "It says alpha.", "role": "assistant"},
                {"content": "Thanks. And now?", "role": "user"},
            ],
            "model": "some-model",
            "prompt_cache_key": "chat-1",
            "reasoning_effort": "high",
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.5,
            "tools": [
                {
                    "function": {
                        "description": "Writes a note.",
                        "name": "note",
                        "parameters": {"properties": {"n": {"type": "integer"}}, "type": "object"},
                    },
                    "type": "function",
                }
            ],
            "top_p": 0.9,
        }
    )


def test_deepseek_in_full() -> None:
    assert sent("deepseek", rich_history("deepseek"), **FULL) == snapshot(
        {
            "max_tokens": 4096,
            "messages": [
                {
                    "content": """\
You are a test.

Be brief.\
""",
                    "role": "system",
                },
                {
                    "content": """\
What is in these?

[file shot.png (image/png, 4 bytes): this model cannot read such files]

[file t.csv (text/csv, 8 bytes)]
a,b
1,2

[end of t.csv]\
""",
                    "role": "user",
                },
                {
                    "content": "I will look.",
                    "reasoning_content": "Look first.",
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "function": {"arguments": '{"limit":5,"path":"a.txt"}', "name": "read_file"},
                            "id": "prov1-id-1",
                            "type": "function",
                        },
                        {
                            "function": {"arguments": '{"path":"b.txt"}', "name": "read_file"},
                            "id": "prov1-id-2",
                            "type": "function",
                        },
                    ],
                },
                {"content": "alpha", "role": "tool", "tool_call_id": "prov1-id-1"},
                {"content": '{"error":"no such file"}', "role": "tool", "tool_call_id": "prov1-id-2"},
                {
                    "content": """\
[notice: agent 7 is done]

Hurry up.\
""",
                    "role": "user",
                },
                {"content": "It says alpha.", "role": "assistant"},
                {"content": "Thanks. And now?", "role": "user"},
            ],
            "model": "deepseek-flash",
            "reasoning_effort": "high",
            "stream": True,
            "stream_options": {"include_usage": True},
            "thinking": {"type": "enabled"},
            "tools": [
                {
                    "function": {
                        "description": "Writes a note.",
                        "name": "note",
                        "parameters": {"properties": {"n": {"type": "integer"}}, "type": "object"},
                    },
                    "type": "function",
                }
            ],
        }
    )


def test_openrouter_in_full() -> None:
    assert sent("openrouter", rich_history("openrouter"), **FULL) == snapshot(
        {
            "cache_control": {"type": "ephemeral"},
            "max_tokens": 4096,
            "messages": [
                {
                    "content": """\
You are a test.

Be brief.\
""",
                    "role": "system",
                },
                {
                    "content": """\
What is in these?

[file shot.png (image/png, 4 bytes): this model cannot read such files]

[file t.csv (text/csv, 8 bytes)]
a,b
1,2

[end of t.csv]\
""",
                    "role": "user",
                },
                {
                    "content": "I will look.",
                    "reasoning_details": [
                        {"index": 0, "signature": "s", "text": "Look first.", "type": "reasoning.text"}
                    ],
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "function": {"arguments": '{"limit":5,"path":"a.txt"}', "name": "read_file"},
                            "id": "prov1-id-1",
                            "type": "function",
                        },
                        {
                            "function": {"arguments": '{"path":"b.txt"}', "name": "read_file"},
                            "id": "prov1-id-2",
                            "type": "function",
                        },
                    ],
                },
                {"content": "alpha", "role": "tool", "tool_call_id": "prov1-id-1"},
                {"content": '{"error":"no such file"}', "role": "tool", "tool_call_id": "prov1-id-2"},
                {
                    "content": """\
[notice: agent 7 is done]

Hurry up.\
""",
                    "role": "user",
                },
                {
                    "content": "It says alpha.",
                    "reasoning_details": [
                        {"index": 0, "signature": "s", "text": "Enough.", "type": "reasoning.text"}
                    ],
                    "role": "assistant",
                },
                {"content": "Thanks. And now?", "role": "user"},
            ],
            "model": "anthropic/claude-sonnet-5",
            "reasoning": {"effort": "high"},
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [
                {
                    "function": {
                        "description": "Writes a note.",
                        "name": "note",
                        "parameters": {"properties": {"n": {"type": "integer"}}, "type": "object"},
                    },
                    "type": "function",
                }
            ],
            "usage": {"include": True},
        }
    )


def test_mistral_in_full() -> None:
    assert sent("mistral", rich_history("mistral"), **FULL) == snapshot(
        {
            "max_tokens": 4096,
            "messages": [
                {
                    "content": """\
You are a test.

Be brief.\
""",
                    "role": "system",
                },
                {
                    "content": """\
What is in these?

[file shot.png (image/png, 4 bytes): this model cannot read such files]

[file t.csv (text/csv, 8 bytes)]
a,b
1,2

[end of t.csv]\
""",
                    "role": "user",
                },
                {
                    "content": [
                        {"thinking": [{"text": "Look first.", "type": "text"}], "type": "thinking"},
                        {"text": "I will look.", "type": "text"},
                    ],
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "function": {"arguments": '{"limit":5,"path":"a.txt"}', "name": "read_file"},
                            "id": "cwPQHMcg3",
                            "type": "function",
                        },
                        {
                            "function": {"arguments": '{"path":"b.txt"}', "name": "read_file"},
                            "id": "di4eoNKUn",
                            "type": "function",
                        },
                    ],
                },
                {"content": "alpha", "role": "tool", "tool_call_id": "cwPQHMcg3"},
                {"content": '{"error":"no such file"}', "role": "tool", "tool_call_id": "di4eoNKUn"},
                {"content": "OK.", "role": "assistant"},
                {
                    "content": """\
[notice: agent 7 is done]

Hurry up.\
""",
                    "role": "user",
                },
                {
                    "content": [
                        {"thinking": [{"text": "Enough.", "type": "text"}], "type": "thinking"},
                        {"text": "It says alpha.", "type": "text"},
                    ],
                    "role": "assistant",
                },
                {"content": "Thanks. And now?", "role": "user"},
            ],
            "model": "some-model",
            "reasoning_effort": "high",
            "stream": True,
            "tools": [
                {
                    "function": {
                        "description": "Writes a note.",
                        "name": "note",
                        "parameters": {"properties": {"n": {"type": "integer"}}, "type": "object"},
                    },
                    "type": "function",
                }
            ],
        }
    )
