"""What a person does in a conversation, done through the API. Each says in one line what came of it, or
nothing when the feed will tell."""

from holdfast.cli.chats import Sent
from holdfast.cli.chosen import find_workspace
from holdfast.cli.client import Client
from holdfast.cli.conversation.answers import Decide, Submit
from holdfast.cli.models import Model
from holdfast.cli.neutral import neutral_line
from holdfast.cli.runs.arguments import order
from holdfast.cli.runs.details import Workflow, workflows_table
from holdfast.cli.tables import table
from holdfast.cli.wording import amount, money
from holdfast.core.chats import Chat
from holdfast.core.errors import WrongUsage
from holdfast.core.ids import ChatId
from holdfast.core.messages import Busy, QueueItem
from holdfast.core.run_shapes import RunShown
from holdfast.core.usage import Usage

NO_CHAT = "There is no chat yet: say something first."


class Deeds:
    """`model` is for the next message, and for the chat that it begins."""

    def __init__(
        self, client: Client, chat_id: ChatId | None, model: str | None, workspace: str | None
    ) -> None:
        self.chat_id = chat_id
        self.model = model
        self._client = client
        self._workspace = workspace

    async def send(self, text: str, busy: Busy) -> None:
        if self.chat_id is None:
            await self._begin(text)
            return
        body: dict[str, object] = {"content": text, "busy": busy}
        if self.model is not None and busy != "steer":
            body["model"] = self.model
        await self._client.post(f"/chats/{self.chat_id}/messages", Sent, body)

    async def _begin(self, text: str) -> None:
        body: dict[str, object] = {"content": text}
        if self.model is not None:
            body["model"] = self.model
        if (workspace := await find_workspace(self._client, self._workspace)) is not None:
            body["workspace_id"] = workspace
        self.chat_id = (await self._client.post("/chats", Chat, body)).id

    async def move(self, what: str) -> None:
        """interrupt, retry or compact."""
        await self._client.post(f"/chats/{self._chat()}/{what}", Chat)

    async def answer(self, answer: Decide | Submit) -> None:
        """In the chat that asks, which may be a sub-agent's."""
        call = answer.call
        match answer:
            case Decide():
                path = f"/chats/{call.chat_id}/calls/{call.call_id}/decision"
                body = {"decision": answer.decision, "scope": answer.scope, "note": answer.note}
            case Submit():
                path = f"/chats/{call.chat_id}/tool-results"
                body = {"results": [{"call_id": call.call_id, "output": answer.output}]}
        await self._client.post(path, Chat, body)

    async def drop(self, place: str, queue: tuple[QueueItem, ...]) -> str:
        if not place.isdecimal() or not 1 <= int(place) <= len(queue):
            raise WrongUsage(f"Give a place in the queue, 1 to {len(queue)}." if queue else "Nothing waits.")
        item = queue[int(place) - 1]
        await self._client.request("DELETE", f"/chats/{self._chat()}/queue/{item.id}", type(None))
        return "Taken out of the queue."

    async def use_model(self, name: str) -> str:
        models = await self._client.listed("/models", Model)
        if not name:
            marks = {True: " (default)", False: ""}
            return "\n".join(f"  {model.name}{marks[model.default]}: {model.provider}" for model in models)
        if name not in {model.name for model in models}:
            known = ", ".join(model.name for model in models)
            raise WrongUsage(f"There is no model {neutral_line(name, 64)}; there is {known}.")
        self.model = name
        if self.chat_id is not None:
            await self._client.request("PATCH", f"/chats/{self.chat_id}", Chat, body={"model": name})
        return f"{name}, from the next message on."

    async def rename(self, title: str) -> None:
        await self._client.request("PATCH", f"/chats/{self._chat()}", Chat, body={"title": title})

    async def workflows(self) -> str:
        """Those that can be run in the chat's workspace."""
        where = {"workspace_id": await self._place()}
        rows = workflows_table(await self._client.listed("/workflows", Workflow, where))
        return "\n".join(table(("name", "source", "takes", "description"), rows))

    async def start_workflow(self, line: str) -> RunShown:
        """In the chat's workspace, with the model of the next message."""
        body = {**order(line), "workspace_id": await self._place(), "model": self.model}
        return await self._client.post("/workflow-runs", RunShown, body)

    async def _place(self) -> str | None:
        if self.chat_id is None:
            return await find_workspace(self._client, self._workspace)
        return (await self._client.get(f"/chats/{self.chat_id}", Chat)).workspace_id

    def _chat(self) -> ChatId:
        if self.chat_id is None:
            raise WrongUsage(NO_CHAT)
        return self.chat_id


def usage_text(usage: Usage | None) -> str:
    if usage is None or not usage.total:
        return "Nothing yet."
    words = [f"{amount(usage.input)} tokens in ({amount(usage.cache_read)} from the cache)"]
    words.append(f"{amount(usage.output)} out")
    if usage.context_used is not None:
        limit = f" of {amount(usage.context_limit)}" if usage.context_limit else ""
        words.append(f"context {amount(usage.context_used)}{limit}")
    words.append(money(usage.cost_usd_micros) if not usage.unpriced_steps else "price not known")
    return " · ".join(words)
