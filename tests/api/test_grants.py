"""Access outside the workspace: requested by the agent, granted by a person, listed and revoked."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.config.sections import ToolsSection
from tests.api.serving import Client, Serving, config_for, serving


async def asks(client: Client, path: Path | str, then: str = "", **more: Any) -> tuple[str, dict[str, Any]]:
    """A chat that asks for a path; its id, and what the person is asked."""
    script = f'call: request_access {{"path": "{path}", "reason": "notes"}}\n{then}say: {{result}}'
    chat = await client.start_chat(script, **more)
    waiting = await client.until_status(chat["id"], "requires_action")
    return chat["id"], waiting["action"]["calls"][0]


async def decide(client: Client, chat_id: str, call: dict[str, Any], decision: str, **more: Any) -> None:
    path = f"chats/{chat_id}/calls/{call['call_id']}/decision"
    answer = await client.post(path, {"decision": decision, **more})
    assert answer.status == 202, answer


async def results(client: Client, chat_id: str) -> list[str]:
    await client.until_settled(chat_id)
    return [
        str(part["output"])
        for message in await client.messages(chat_id)
        for part in message["parts"]
        if part["type"] == "tool_result"
    ]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    notes = tmp_path / "elsewhere"
    (notes / "sub").mkdir(parents=True)
    (notes / "a.txt").write_text("the word is holdfast\n")
    (notes / "sub" / "b.txt").write_text("another word\n")
    (notes / "out").symlink_to("/etc/passwd")
    return notes.resolve()


async def test_a_granted_directory_is_read_and_never_written(server: Serving, outside: Path) -> None:
    admin = server.admin
    then = "".join(
        f"call: {call}\n"
        for call in (
            f'read_file {{"path": "{outside}/a.txt"}}',
            f'list {{"path": "{outside}"}}',
            f'grep {{"pattern": "word", "path": "{outside}"}}',
            f'glob {{"pattern": "*.txt", "path": "{outside}"}}',
            f'read_file {{"path": "{outside}/out"}}',
            f'read_file {{"path": "{outside}/../outside.txt"}}',
            f'read_file {{"path": "{outside}x/a.txt"}}',
            f'write_file {{"path": "{outside}/a.txt", "content": "x"}}',
            f'delete_file {{"path": "{outside}/a.txt"}}',
        )
    )
    chat_id, call = await asks(admin, outside, then)
    assert (call["kind"], call["name"]) == ("approval", "request_access")
    await decide(admin, chat_id, call, "approve")
    said = await results(admin, chat_id)
    assert said[1] == "the word is holdfast\n"
    assert said[2].splitlines() == ["a.txt", "out -> /etc/passwd", "sub/"]
    assert said[3].splitlines() == [
        f"{outside}/a.txt:1:the word is holdfast",
        f"{outside}/sub/b.txt:1:another word",
    ]
    assert said[4].splitlines() == [f"{outside}/a.txt", f"{outside}/sub/b.txt"]
    assert "leads out" in said[5]
    assert "leads out" in said[6]
    assert all("outside the workspace" in each for each in said[7:])
    assert (outside / "a.txt").read_text() == "the word is holdfast\n"


async def test_a_grant_is_listed_audited_and_taken_back(server: Serving, outside: Path) -> None:
    admin = server.admin
    chat_id, call = await asks(admin, outside)
    await decide(admin, chat_id, call, "approve")
    await admin.until_settled(chat_id)
    me = (await admin.get("session")).json["user"]["id"]
    (grant,) = (await admin.get("grants")).json["items"]
    assert {name: grant[name] for name in ("chat_id", "path", "kind", "reason", "granted_by")} == {
        "chat_id": chat_id,
        "path": str(outside),
        "kind": "directory",
        "reason": "notes",
        "granted_by": me,
    }
    member = await server.member()
    assert (await member.get("grants")).json["items"] == []
    assert (await member.delete(f"grants/{grant['id']}")).status == 404
    read = f'call: read_file {{"path": "{outside}/a.txt"}}\nsay: {{result}}'
    await admin.post(f"chats/{chat_id}/messages", {"content": read})
    assert (await results(admin, chat_id))[-1] == "the word is holdfast\n"
    other = await admin.start_chat(read)
    assert "request_access" in (await results(admin, other["id"]))[-1], "a grant is for one chat"
    assert (await admin.delete(f"grants/{grant['id']}")).status == 204
    assert (await admin.delete(f"grants/{grant['id']}")).status == 404
    await admin.post(f"chats/{chat_id}/messages", {"content": read})
    assert "outside the workspace" in (await results(admin, chat_id))[-1]
    entries = {entry["action"]: entry for entry in (await admin.get("audit")).json["items"]}
    assert entries["grant.give"]["user_id"] == me
    assert entries["grant.revoke"]["detail"]["path"] == str(outside)


async def test_a_file_alone_is_granted_alone(server: Serving, outside: Path) -> None:
    """Not what lies beside it, nor what a link in its place leads to."""
    admin = server.admin
    then = f'call: read_file {{"path": "{outside}/sub/b.txt"}}\n'
    chat_id, call = await asks(admin, outside / "a.txt", then)
    await decide(admin, chat_id, call, "approve")
    assert "outside the workspace" in (await results(admin, chat_id))[-1]
    look = (
        f'calls: read_file {{"path": "{outside}/a.txt"}}; '
        f'grep {{"pattern": "w", "path": "{outside}/a.txt"}}\nsay: ok'
    )
    await admin.post(f"chats/{chat_id}/messages", {"content": look})
    assert (await results(admin, chat_id))[-2:] == [
        "the word is holdfast\n",
        f"{outside}/a.txt:1:the word is holdfast",
    ]
    (outside / "a.txt").unlink()
    (outside / "secret.txt").write_text("a secret word\n")
    (outside / "a.txt").symlink_to("secret.txt")
    await admin.post(f"chats/{chat_id}/messages", {"content": look})
    assert "secret" not in str((await results(admin, chat_id))[-2:])


async def test_what_cannot_be_granted(server: Serving, outside: Path) -> None:
    """Told only once it was allowed: a model must not find out otherwise what there is."""
    admin = server.admin
    (outside / "link").symlink_to(outside / "sub")
    refused = ("/", "/proc/self", "/dev", str(server.data), str(server.data.parent), f"{outside}/link")
    for path in (*refused, "relative", f"{outside}/../x", f"{outside}/nothing"):
        chat_id, call = await asks(admin, path)
        await decide(admin, chat_id, call, "approve")
        assert "You may read" not in (await results(admin, chat_id))[-1], path
    assert (await admin.get("grants")).json["items"] == []


async def test_only_a_persons_word_on_this_call_grants(tmp_path: Path, outside: Path) -> None:
    """No rule of the configuration, of the chat, or of an earlier approval."""
    config = config_for(tmp_path / "data", tools=ToolsSection(approval="allow"))
    async with serving(config) as server:
        admin = server.admin
        chat_id, call = await asks(admin, outside / "sub", tools={"request_access": "allow"})
        await decide(admin, chat_id, call, "approve", scope="chat")
        await admin.until_settled(chat_id)
        again = f'call: request_access {{"path": "{outside}", "reason": "more"}}\nsay: {{result}}'
        await admin.post(f"chats/{chat_id}/messages", {"content": again})
        waiting = await admin.until_status(chat_id, "requires_action")
        await decide(admin, chat_id, waiting["action"]["calls"][0], "deny")
        assert "did not allow" in (await results(admin, chat_id))[-1]
        assert len((await admin.get("grants")).json["items"]) == 1


async def test_once_counts_until_the_turn_ends(server: Serving, outside: Path) -> None:
    admin = server.admin
    read = f'call: read_file {{"path": "{outside}/a.txt"}}\n'
    chat_id, call = await asks(admin, outside, read)
    await decide(admin, chat_id, call, "approve", scope="once")
    said = await results(admin, chat_id)
    assert "until this turn ends" in said[0]
    assert said[1] == "the word is holdfast\n"
    (grant,) = (await admin.get("grants")).json["items"]
    assert grant["scope"] == "once"
    await admin.post(f"chats/{chat_id}/messages", {"content": read + "say: {result}"})
    assert "outside the workspace" in (await results(admin, chat_id))[-1]
    assert (await admin.get("grants")).json["items"] == [], "it is over, so nobody has to take it back"
    assert (await admin.delete(f"grants/{grant['id']}")).status == 404


async def test_for_the_chat_is_the_path_and_no_rule_on_the_tool(server: Serving, outside: Path) -> None:
    admin = server.admin
    chat_id, call = await asks(admin, outside)
    await decide(admin, chat_id, call, "approve", scope="chat")
    assert "in this chat" in (await results(admin, chat_id))[0]
    assert (await admin.get(f"chats/{chat_id}/approvals")).json["items"] == []
    await admin.post(
        f"chats/{chat_id}/messages",
        {"content": f'call: read_file {{"path": "{outside}/a.txt"}}\nsay: {{result}}'},
    )
    assert (await results(admin, chat_id))[-1] == "the word is holdfast\n"
