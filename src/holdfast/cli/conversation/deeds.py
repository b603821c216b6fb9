"""The actions of `holdfast chat`, done through the API. Each returns one line about its result, or nothing if
the feed will show it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from holdfast.cli.changes import (
    ChangesAnswer,
    DecidedAnswer,
    RewoundAnswer,
    all_changes,
    change_lines,
    decided_lines,
    rewound_lines,
)
from holdfast.cli.chat_changes import last_said
from holdfast.cli.chats import SentAnswer
from holdfast.cli.client import Client
from holdfast.cli.context import context_lines, read_context
from holdfast.cli.conversation.answers import DecisionAnswer, Submit
from holdfast.cli.lookups import find_chat
from holdfast.cli.models import ModelRow
from holdfast.cli.runs.arguments import order
from holdfast.cli.runs.details import ListedWorkflow, workflows_table
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.tables import table
from holdfast.cli.wording import ago, amount, money, short, title
from holdfast.core.chats import Chat
from holdfast.core.errors import WrongUsage
from holdfast.core.ids import CallId, ChatId
from holdfast.core.messages import Busy, QueueItem
from holdfast.core.run_shapes import RunShown
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Usage

NO_CHAT = "There is no chat yet. Send a message first."
# Chats that /resume lists.
_RECENT = 10

# What gives the agent its instructions as they are now.
RENEW = "renew"


class ShownOutput(Record, frozen=True, kw_only=True):
    output: Json
    truncated: bool


class ModeRow(Record, frozen=True, kw_only=True):
    name: str
    instructions: str


class Deeds:
    """`model` and `effort` are for the next message, and for the chat that it begins; `workspace_id` is where
    that chat works."""

    def __init__(
        self,
        client: Client,
        chat_id: ChatId | None = None,
        *,
        model: str | None = None,
        effort: str | None = None,
        workspace_id: str | None = None,
    ) -> None:
        self.chat_id = chat_id
        self.model = model
        self.effort = effort
        # The mode of the next chat that is started.
        self.mode: str | None = None
        self._client = client
        self._workspace_id = workspace_id

    async def send(self, content: Json, busy: Busy) -> None:
        if self.chat_id is None:
            await self._begin(content)
            return
        body: dict[str, Json] = {"content": content, "busy": busy}
        if busy != "steer":
            body |= self._chosen()
        await self._client.post(f"/chats/{self.chat_id}/messages", SentAnswer, body)

    async def _begin(self, content: Json) -> None:
        body: dict[str, Json] = {"content": content, **self._chosen()}
        if self.mode is not None:
            body["mode"] = self.mode
        if self._workspace_id is not None:
            body["workspace_id"] = self._workspace_id
        self.chat_id = (await self._client.post("/chats", Chat, body)).id

    def _chosen(self) -> dict[str, Json]:
        chosen = {"model": self.model, "effort": self.effort}
        return {name: value for name, value in chosen.items() if value is not None}

    async def move(self, what: str) -> None:
        """interrupt, retry or compact."""
        await self._client.post(f"/chats/{self._chat()}/{what}", Chat)

    async def answer(self, answer: DecisionAnswer | Submit) -> None:
        """In the chat that asks, which may be a sub-agent's."""
        call = answer.call
        match answer:
            case DecisionAnswer():
                path = f"/chats/{call.chat_id}/calls/{call.call_id}/decision"
                body = {"decision": answer.decision, "scope": answer.scope, "note": answer.note}
            case Submit():
                path = f"/chats/{call.chat_id}/tool-results"
                body = {"results": [{"call_id": call.call_id, "output": answer.output}]}
        await self._client.post(path, Chat, body)

    async def context(self, what: str) -> str:
        if what not in ("", RENEW):
            raise WrongUsage(f"/context takes nothing, or {RENEW}.")
        filled = await read_context(self._client, self._chat(), renew=what == RENEW)
        return "\n".join(context_lines(filled, word=f"/context {RENEW}"))

    async def drop(self, place: str, queue: tuple[QueueItem, ...]) -> str:
        if not place.isdecimal() or not 1 <= int(place) <= len(queue):
            raise WrongUsage(
                f"Give a position in the queue, 1 to {len(queue)}." if queue else "The queue is empty."
            )
        item = queue[int(place) - 1]
        await self._client.request("DELETE", f"/chats/{self._chat()}/queue/{item.id}", type(None))
        return "Removed from the queue."

    # --- models ---

    async def use_model(self, name: str) -> str:
        models = await self.models()
        if not name:
            marks = {True: " (default)", False: ""}
            return "\n".join(f"  {model.name}{marks[model.default]}: {model.provider}" for model in models)
        if name not in {model.name for model in models}:
            known = ", ".join(model.name for model in models)
            raise WrongUsage(f"There is no model {neutral_line(name, 64)}. Available: {known}.")
        self.model = name
        await self._change({"model": name})
        return f"Using {name} from the next message."

    async def use_effort(self, level: str) -> str:
        known = await self.efforts()
        if not level:
            listed = ", ".join(known) or "no known effort levels; any value is passed on"
            return f"This model has {listed}. Current: {self.effort or 'default'}."
        if known and level not in known:
            raise WrongUsage(f"This model accepts {', '.join(known)}.")
        self.effort = level
        await self._change({"effort": level})
        return f"Effort {level} from the next message."

    async def models(self) -> Sequence[ModelRow]:
        return await self._client.listed("/models", ModelRow, {"limit": 200})

    async def efforts(self) -> tuple[str, ...]:
        """Of the model that the next message goes to."""
        name = self.model
        if name is None and self.chat_id is not None:
            name = (await self._client.get(f"/chats/{self.chat_id}", Chat)).model
        models = await self.models()
        used = next((one for one in models if one.name == name or (name is None and one.default)), None)
        return () if used is None else used.efforts

    # --- changes ---

    async def changes(self, since: str) -> str:
        if since not in ("", "turn"):
            raise WrongUsage("/changes takes nothing, or turn.")
        found = await self._changes(since or "base")
        return "\n".join(change_lines(found.items, diff=True))

    async def _changes(self, since: str) -> ChangesAnswer:
        return await all_changes(self._client, self._chat(), since)

    async def undo(self, path: str) -> str:
        """The file; else the newest act if it was a rewind or an undo; else the newest turn."""
        if path:
            body: dict[str, Json] = {"paths": [path]}
        else:
            found = await self._changes("turn")
            newest = found.checkpoints[0] if found.checkpoints else None
            if newest is None:
                return "Nothing was changed."
            made = next((one.turn for one in found.checkpoints if one.step), 0)
            body = {"checkpoint": newest.id} if newest.kind == "rewind" else {"turn": made}
        done = await self._client.post(f"/chats/{self._chat()}/changes/undo", DecidedAnswer, body)
        return "\n".join(decided_lines(done))

    async def rewind(self, what: str) -> str:
        if what not in ("", "files", "conversation", "both"):
            raise WrongUsage("/rewind takes files, conversation or both.")
        body = {"message_id": await last_said(self._client, self._chat()), "what": what or "both"}
        done = await self._client.post(f"/chats/{self._chat()}/changes/rewind", RewoundAnswer, body)
        return "\n".join(rewound_lines(done))

    # --- modes ---

    async def use_mode(self, name: str) -> str:
        modes = await self.modes()
        if not name:
            return "\n".join(f"  {mode.name}: {mode.instructions}" for mode in modes)
        if name not in {mode.name for mode in modes}:
            known = ", ".join(mode.name for mode in modes)
            raise WrongUsage(f"There is no mode {neutral_line(name, 64)}; there is {known}.")
        await self._set_mode(name)
        return f"Mode {name}: it counts for every call that has not begun."

    async def next_mode(self) -> str:
        """The one after the present one, and round again."""
        names = [mode.name for mode in await self.modes()]
        now = self.mode or "build"
        if self.chat_id is not None:
            now = (await self._client.get(f"/chats/{self.chat_id}", Chat)).mode
        name = names[(names.index(now) + 1) % len(names)] if now in names else names[0]
        await self._set_mode(name)
        return f"Mode {name}."

    async def modes(self) -> Sequence[ModeRow]:
        return await self._client.listed("/modes", ModeRow)

    async def _set_mode(self, name: str) -> None:
        self.mode = name
        await self._change({"mode": name})

    async def _change(self, body: dict[str, Json]) -> None:
        if self.chat_id is not None:
            await self._client.request("PATCH", f"/chats/{self.chat_id}", Chat, body=body)

    async def rename(self, title: str) -> None:
        await self._client.request("PATCH", f"/chats/{self._chat()}", Chat, body={"title": title})

    # --- other chats ---

    async def recent(self) -> str:
        now = datetime.now(UTC)
        rows = [(short(chat.id), ago(chat.updated_at, now), title(chat)) for chat in await self.chats()]
        return "\n".join(table(("id", "active", "title"), rows)) if rows else "No chats yet."

    async def chats(self) -> Sequence[Chat]:
        return await self._client.listed("/chats", Chat, {"limit": _RECENT})

    async def find(self, word: str) -> Chat:
        return await find_chat(self._client, word)

    async def fork(self) -> Chat:
        return await self._client.post(f"/chats/{self._chat()}/fork", Chat)

    async def full_output(self, call_id: CallId) -> ShownOutput:
        return await self._client.get(f"/chats/{self._chat()}/calls/{call_id}", ShownOutput)

    # --- the workspace ---

    async def files(self, part: str) -> list[str]:
        """Paths in the workspace that have these letters, the nearest first."""
        workspace_id = await self._place()
        if workspace_id is None:
            return []
        path = f"/workspaces/{workspace_id}/files"
        return [file.path for file in await self._client.listed(path, _File, {"q": part, "limit": 20})]

    async def workflow_names(self) -> list[str]:
        where = {"workspace_id": await self._place()}
        return [one.name for one in await self._client.listed("/workflows", ListedWorkflow, where)]

    async def workflows(self) -> str:
        """Those that can be run in the chat's workspace."""
        where = {"workspace_id": await self._place()}
        rows = workflows_table(await self._client.listed("/workflows", ListedWorkflow, where))
        return "\n".join(table(("name", "source", "takes", "description"), rows))

    async def start_workflow(self, line: str) -> RunShown:
        """In the chat, which is told of its end; before there is a chat, in the workspace that it will have.
        With the model of the next message."""
        place = {"workspace_id": self._workspace_id} if self.chat_id is None else {"chat_id": self.chat_id}
        body = {**order(line), **place, "model": self.model}
        return await self._client.post("/workflow-runs", RunShown, body)

    async def _place(self) -> str | None:
        if self.chat_id is None:
            return self._workspace_id
        return (await self._client.get(f"/chats/{self.chat_id}", Chat)).workspace_id

    def _chat(self) -> ChatId:
        if self.chat_id is None:
            raise WrongUsage(NO_CHAT)
        return self.chat_id


class _File(Record, frozen=True, kw_only=True):
    path: str


def usage_text(usage: Usage | None) -> str:
    if usage is None or not usage.total:
        return "Nothing yet."
    words = [f"{amount(usage.input)} tokens in ({amount(usage.cache_read)} from the cache)"]
    words.append(f"{amount(usage.output)} out")
    if usage.context_used is not None:
        limit = f" of {amount(usage.context_limit)}" if usage.context_limit else ""
        words.append(f"context {amount(usage.context_used)}{limit}")
    words.append(money(usage.cost_usd_micros) if not usage.unpriced_steps else "price unknown")
    return " · ".join(words)
