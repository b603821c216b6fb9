"""Full requests in the responses format and in Google's: a changed one is a cache miss for every user, so it
shows here."""

from typing import Any

from inline_snapshot import snapshot

from tests.providers.histories import rich_history
from tests.providers.sending import sent

FULL: dict[str, Any] = {
    "system": ("You are a test.", "Be brief."),
    "effort": "high",
    "cache_key": "chat-1",
    "provider_tools": ("web_search",),
}


def test_responses_in_full() -> None:
    assert sent("responses", rich_history("openai-responses"), **FULL) == snapshot(
        {
            "include": ["reasoning.encrypted_content"],
            "input": [
                {
                    "content": [
                        {"text": "What is in these?", "type": "input_text"},
                        {
                            "text": "[file shot.png (image/png, 4 bytes): this model cannot read such files]",
                            "type": "input_text",
                        },
                        {
                            "text": "[file t.csv (text/csv, 8 bytes)]\na,b\n1,2\n\n[end of t.csv]",
                            "type": "input_text",
                        },
                    ],
                    "role": "user",
                    "type": "message",
                },
                {
                    "encrypted_content": "enc-c681c19011beebe5a5e262b9-4c6f6f6b2066697273742e",
                    "id": "rs_1",
                    "summary": [{"text": "Look first.", "type": "summary_text"}],
                    "type": "reasoning",
                },
                {
                    "content": [{"text": "I will look.", "type": "output_text"}],
                    "role": "assistant",
                    "type": "message",
                },
                {
                    "arguments": '{"limit":5,"path":"a.txt"}',
                    "call_id": "prov1-id-1",
                    "name": "read_file",
                    "type": "function_call",
                },
                {
                    "arguments": '{"path":"b.txt"}',
                    "call_id": "prov1-id-2",
                    "name": "read_file",
                    "type": "function_call",
                },
                {"call_id": "prov1-id-1", "output": "alpha", "type": "function_call_output"},
                {
                    "call_id": "prov1-id-2",
                    "output": '{"error":"no such file"}',
                    "type": "function_call_output",
                },
                {
                    "content": [
                        {"text": "[notice: agent 7 is done]", "type": "input_text"},
                        {"text": "Hurry up.", "type": "input_text"},
                    ],
                    "role": "user",
                    "type": "message",
                },
                {
                    "encrypted_content": "enc-eb4fe444eeba5f34c9adb76f-456e6f7567682e",
                    "id": "rs_1",
                    "summary": [{"text": "Enough.", "type": "summary_text"}],
                    "type": "reasoning",
                },
                {
                    "content": [{"text": "It says alpha.", "type": "output_text"}],
                    "role": "assistant",
                    "type": "message",
                },
                {
                    "content": [{"text": "Thanks. And now?", "type": "input_text"}],
                    "role": "user",
                    "type": "message",
                },
            ],
            "instructions": "You are a test.\n\nBe brief.",
            "max_output_tokens": 4096,
            "model": "some-model",
            "prompt_cache_key": "chat-1",
            "reasoning": {"effort": "high", "summary": "auto"},
            "store": False,
            "stream": True,
            "tools": [
                {
                    "description": "Writes a note.",
                    "name": "note",
                    "parameters": {"properties": {"n": {"type": "integer"}}, "type": "object"},
                    "strict": False,
                    "type": "function",
                },
                {"type": "web_search"},
            ],
        }
    )


def test_google_in_full() -> None:
    assert sent("google", rich_history("google"), **FULL) == snapshot(
        {
            "contents": [
                {
                    "parts": [
                        {"text": "What is in these?"},
                        {"text": "[file shot.png (image/png, 4 bytes): this model cannot read such files]"},
                        {"text": "[file t.csv (text/csv, 8 bytes)]\na,b\n1,2\n\n[end of t.csv]"},
                    ],
                    "role": "user",
                },
                {
                    "parts": [
                        {
                            "text": "Look first.",
                            "thought": True,
                            "thoughtSignature": "sig-c681c19011beebe5a5e262b9",
                        },
                        {"text": "I will look."},
                        {
                            "functionCall": {
                                "args": {"limit": 5, "path": "a.txt"},
                                "id": "prov1-id-1",
                                "name": "read_file",
                            },
                            "thoughtSignature": "skip_thought_signature_validator",
                        },
                        {
                            "functionCall": {
                                "args": {"path": "b.txt"},
                                "id": "prov1-id-2",
                                "name": "read_file",
                            }
                        },
                    ],
                    "role": "model",
                },
                {
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "prov1-id-1",
                                "name": "read_file",
                                "response": {"output": "alpha"},
                            }
                        },
                        {
                            "functionResponse": {
                                "id": "prov1-id-2",
                                "name": "read_file",
                                "response": {"error": '{"error":"no such file"}'},
                            }
                        },
                    ],
                    "role": "user",
                },
                {"parts": [{"text": "[notice: agent 7 is done]"}, {"text": "Hurry up."}], "role": "user"},
                {
                    "parts": [
                        {
                            "text": "Enough.",
                            "thought": True,
                            "thoughtSignature": "sig-eb4fe444eeba5f34c9adb76f",
                        },
                        {"text": "It says alpha."},
                    ],
                    "role": "model",
                },
                {"parts": [{"text": "Thanks. And now?"}], "role": "user"},
            ],
            "generationConfig": {
                "maxOutputTokens": 4096,
                "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"},
            },
            "systemInstruction": {"parts": [{"text": "You are a test.\n\nBe brief."}]},
            "toolConfig": {"includeServerSideToolInvocations": True},
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "description": "Writes a note.",
                            "name": "note",
                            "parametersJsonSchema": {
                                "properties": {"n": {"type": "integer"}},
                                "type": "object",
                            },
                        }
                    ]
                },
                {"googleSearch": {}},
            ],
        }
    )
