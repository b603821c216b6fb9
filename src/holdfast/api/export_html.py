"""A chat as one HTML file that can be sent to a colleague: rendered Markdown, calls with their results,
foldable, for light and dark screens and paper. Everything a person or a model wrote is data: the file runs
and loads nothing."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from html import escape
from typing import cast

from markdown_it import MarkdownIt

from holdfast.api.export_text import History, one_line, written
from holdfast.core.chats import Chat
from holdfast.core.ids import CallId
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json

# How much of each part is rendered as Markdown; the rest is shown as it is. Hostile text takes quadratic
# time: half a second for this much.
MOST_MARKDOWN = 12_000
# Raw HTML stays text. Pictures would be loaded from other sites, so they become links.
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
_MARKDOWN.disable("image")

STYLE = """
:root{color-scheme:light dark;--canvas:light-dark(#fff,#16181c);--sunken:light-dark(#f5f6f7,#111316);
--line:light-dark(#e1e4e8,#2c3036);--text:light-dark(#1a1d21,#e8eaed);--soft:light-dark(#525a65,#a9b1bb);
--accent:light-dark(#0b5f58,#5eead4);--good:light-dark(#e3f5e9,#17301f);--bad:light-dark(#fdeceb,#3a1b19);
--bad-text:light-dark(#b3261e,#ff958c)}
*{box-sizing:border-box}
body{font:15px/1.6 Inter,ui-sans-serif,system-ui,sans-serif;max-width:48rem;margin:0 auto;padding:2rem 1rem;
color:var(--text);background:var(--canvas);overflow-wrap:anywhere}
header{border-bottom:1px solid var(--line);margin-bottom:1.5rem;padding-bottom:1rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
header p,.meta{color:var(--soft);font-size:.8125rem;margin:0}
article{margin:0 0 1.25rem}
article.user{margin-left:15%}
article.user .said{background:var(--sunken);border-radius:1rem 1rem .25rem 1rem;padding:.5rem 1rem}
.said>:first-child{margin-top:0}.said>:last-child{margin-bottom:0}
a{color:var(--accent)}
pre,code{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
pre{background:var(--sunken);border:1px solid var(--line);border-radius:.5rem;padding:.75rem;
white-space:pre-wrap;margin:.5rem 0}
table{border-collapse:collapse;margin:.5rem 0}
th,td{border:1px solid var(--line);padding:.25rem .6rem;text-align:left}
blockquote{border-left:3px solid var(--line);margin:.5rem 0;padding-left:1rem;color:var(--soft)}
details{border:1px solid var(--line);border-radius:.5rem;margin:.4rem 0;padding:.3rem .75rem}
summary{cursor:pointer;font-size:.8125rem}summary .outcome{color:var(--soft)}
details.failed summary .outcome{color:var(--bad-text)}
.diff{padding:0;overflow:hidden}.diff span{display:block;padding:0 .75rem}
.diff .added{background:var(--good)}.diff .removed{background:var(--bad)}.diff .place{color:var(--soft)}
footer{border-top:1px solid var(--line);color:var(--soft);font-size:.8125rem;margin-top:2rem;padding-top:1rem}
@media print{:root{color-scheme:light}body{max-width:none;padding:0}details{break-inside:avoid}
details:not([open])>*:not(summary){display:block}details::details-content{content-visibility:visible}}
"""


async def html(chat: Chat, history: History) -> AsyncGenerator[bytes]:
    title = escape(one_line(chat.title) or "Chat")
    yield (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<header><h1>{title}</h1><p>{chat.created_at:%Y-%m-%d %H:%M} UTC</p></header><main>\n"
    ).encode()
    # A message waits for the results of its calls, which are in the messages after it. Each is rendered in a
    # thread, because much text takes a while.
    waiting: Message | None = None
    results: dict[CallId, ToolResult] = {}
    async for message in history:
        found = {part.call_id: part for part in message.parts if isinstance(part, ToolResult)}
        if waiting is not None and found and all(isinstance(part, ToolResult) for part in message.parts):
            results |= found
            continue
        if waiting is not None:
            yield await asyncio.to_thread(_article, waiting, results)
        waiting, results = message, found
    if waiting is not None:
        yield await asyncio.to_thread(_article, waiting, results)
    yield b"</main><footer>Exported from Holdfast</footer></body></html>\n"


def _article(message: Message, results: dict[CallId, ToolResult]) -> bytes:
    shown = "".join(_shown(message, results))
    mark = '<p class="meta">Interrupted here.</p>' if message.interrupted else ""
    return (
        f'<article class="{message.role}" id="{escape(message.id)}"><p class="meta">'
        f"{_WHO[message.role]} · {message.created_at:%Y-%m-%d %H:%M:%S}</p>"
        f'<div class="said">{shown}</div>{mark}</article>\n'
    ).encode()


_WHO = {"user": "You", "assistant": "Agent", "tool": "Tools", "system": "Holdfast"}


def _shown(message: Message, results: dict[CallId, ToolResult]) -> Iterator[str]:
    called: set[CallId] = set()
    for part in message.parts:
        if isinstance(part, ToolCall):
            called.add(part.call_id)
            yield _call(part, results.get(part.call_id))
        elif not isinstance(part, ToolResult):
            yield _part(part)
    for call_id, result in results.items():
        if call_id not in called:
            yield _result(result)


def _part(part: Part) -> str:
    match part:
        case Text():
            return drawn(part.text)
        case Reasoning():
            return f"<details><summary>Reasoning</summary>{drawn(part.text)}</details>"
        case File():
            return f'<p class="meta">File: {escape(part.name)}, {part.size} bytes</p>'
        case Source():
            return f'<p class="meta">Source: {escape(part.url)}</p>'
        case Notice():
            return f"<p><em>{escape(part.text)}</em></p>"
        case ToolCall() | ToolResult():
            return ""


def drawn(text: str) -> str:
    """Markdown as HTML. Text that is far too long is shown as it is."""
    rest = text[MOST_MARKDOWN:]
    shown = _MARKDOWN.render(text[:MOST_MARKDOWN])
    return shown + (f"<pre>{escape(rest)}</pre>" if rest else "")


def _call(call: ToolCall, result: ToolResult | None) -> str:
    outcome = "no result" if result is None else result.outcome
    look = "" if outcome == "succeeded" else "failed"
    return (
        f'<details class="call {look}"><summary><code>{escape(call.name)}</code> {_about(call)} '
        f'<span class="outcome">{outcome}</span></summary><pre>{escape(written(call.input))}</pre>'
        f"{'' if result is None else _output(result)}</details>"
    )


def _about(call: ToolCall) -> str:
    """The most informative field of a call, on one line."""
    given: Json = call.input
    fields = cast(dict[str, Json], given) if isinstance(given, dict) else {}
    named = next(
        (fields[name] for name in ("path", "command", "pattern", "url", "label") if name in fields), ""
    )
    text = one_line(named) if isinstance(named, str) else ""
    return escape(text if len(text) <= 100 else text[:99] + "…")


def _result(result: ToolResult) -> str:
    return (
        f'<details class="call"><summary><code>{escape(result.name)}</code> '
        f'<span class="outcome">{result.outcome}</span></summary>{_output(result)}</details>'
    )


def _output(result: ToolResult) -> str:
    if not result.diff:
        return f"<pre>{escape(written(result.output))}</pre>"
    lines = "".join(
        f'<span class="{_kind(line)}">{escape(line) or " "}</span>' for line in result.diff.splitlines()
    )
    return f'<pre class="diff">{lines}</pre>'


def _kind(line: str) -> str:
    if line.startswith(("+++", "---", "@@", "diff ")):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")
