"""Files through the API: uploaded, named by messages, shown to models that take them, served as downloads."""

import io
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from holdfast.config.sections import FilesSection
from tests.api.serving import Answer, Client, Serving, config_for, serving

PDF = b"%PDF-1.7\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n"


def picture(kind: str = "PNG", size: tuple[int, int] = (600, 200), mode: str = "RGB") -> bytes:
    written = io.BytesIO()
    Image.new(mode, size, (10, 200, 30) if mode == "RGB" else 120).save(written, kind)
    return written.getvalue()


async def upload(
    client: Client, content: bytes, name: str = "a.png", field: str = "file", key: str | None = None
) -> Answer:
    """The form byte by byte: a library would make the name safe by itself."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    headers = {} if key is None else {"Idempotency-Key": key}
    head = f'--b\r\nContent-Disposition: form-data; name="{field}"; filename="{quoted}"\r\n\r\n'.encode()
    body = head + content + b"\r\n--b--\r\n"
    return await client.post(
        "files", raw=body, headers={"Content-Type": "multipart/form-data; boundary=b", **headers}
    )


async def uploaded(client: Client, content: bytes, name: str = "a.png") -> dict[str, Any]:
    answer = await upload(client, content, name)
    assert answer.status == 201, answer
    return answer.json


KINDS: tuple[tuple[bytes, str], ...] = (
    (picture("PNG"), "image/png"),
    (picture("JPEG"), "image/jpeg"),
    (picture("GIF", mode="L"), "image/gif"),
    (picture("WEBP"), "image/webp"),
    (PDF, "application/pdf"),
    ("Grüße\x1b[31m\n".encode(), "text/plain"),
    (b"<script>alert(1)</script>", "text/plain"),
)


async def test_what_is_uploaded_comes_back_as_a_download(admin: Client) -> None:
    """B-069: nothing of it is opened by a browser."""
    for content, media_type in KINDS:
        file = await uploaded(admin, content, "hello.html")
        assert (file["media_type"], file["size"]) == (media_type, len(content))
        back = await admin.get(f"files/{file['id']}")
        assert (back.status, back.body) == (200, content)
        assert back.headers["Content-Type"].startswith(media_type)
        assert back.headers["Content-Disposition"].startswith("attachment; ")
        assert back.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in back.headers["Content-Security-Policy"]
        small = await admin.get(f"files/{file['id']}/thumbnail")
        if media_type.startswith("image/"):
            assert small.headers["Content-Type"] == "image/png"
            with Image.open(io.BytesIO(small.body)) as shown:
                assert shown.size == (300, 100)
        else:
            assert small.status == 404


async def test_the_same_content_is_kept_once_and_read_by_its_owners_alone(server: Serving) -> None:
    content = picture()
    first, second = [await uploaded(server.admin, content) for _ in range(2)]
    assert first["id"] != second["id"]
    member = await server.member()
    theirs = await uploaded(member, content)
    for path in (f"files/{first['id']}", f"files/{first['id']}/thumbnail"):
        nobodys = path.replace(first["id"], "01890000-0000-7000-8000-000000000000")
        assert (await member.get(path)).body == (await member.get(nobodys)).body
        assert (await member.get(path)).status == 404
    assert (await member.get(f"files/{theirs['id']}")).body == content
    if server.parts.services.store.engine == "sqlite":
        kept = [path for path in (server.data / "files").rglob("*") if path.is_file()]
        assert len(kept) == 2, kept  # and its small picture


NAMES: dict[str, str | None] = {
    "../../x": "x",
    "con.txt": "_con.txt",
    "a" * 1000 + ".png": None,
    'x"; filename=evil.html': "x_; filename=evil.html",
    "a\\b\\c.txt": "c.txt",
    "\u202egnp.exe": "_gnp.exe",
    "...": "file",
    "größe 日本.txt": "größe 日本.txt",
}


async def test_names_are_made_safe(admin: Client) -> None:
    """B-067."""
    for name, kept in NAMES.items():
        file = await uploaded(admin, b"text", name)
        assert len(file["name"]) <= 200
        assert kept is None or file["name"] == kept
        back = await admin.get(f"files/{file['id']}")
        assert "\n" not in back.headers["Content-Disposition"]
        assert back.headers["Content-Disposition"].count("filename=") == 1


BAD: dict[str, bytes] = {
    "zip": b"PK\x03\x04" + b"\0" * 100,
    "elf": b"\x7fELF\0\0",
    "not_utf8": b"caf\xe9",
    "utf16": "hello".encode("utf-16"),
    "nul": b"a\0b",
    "empty": b"",
    "a_picture_in_name_only": b"\x89PNG\r\n\x1a\n" + b"x" * 100,
    "half_a_picture": picture("JPEG", (2000, 2000))[:500],
    "svg_bomb": b"GIF89a" + b"\xff" * 40,
}


async def test_what_is_no_file_is_refused(admin: Client) -> None:
    """B-064, B-066, B-067."""
    for kind, content in BAD.items():
        refused = await upload(admin, content)
        assert (refused.status, refused.code) == (422, "invalid_input"), kind


@pytest.mark.heavy
async def test_a_picture_with_too_many_pixels_is_refused_before_it_is_opened(admin: Client) -> None:
    """B-064: a few kilobytes that would be gigabytes. In black and white, which takes less time to make."""
    bomb = picture("PNG", (30_000, 30_000), "1")
    assert len(bomb) < 2_000_000
    refused = await upload(admin, bomb)
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert "30000 x 30000 pixels" in refused.json["detail"]


@pytest.fixture
async def small(database_url: str, tmp_path: Path) -> AsyncGenerator[Serving]:
    config = config_for(tmp_path / "data", database_url)
    async with serving(replace(config, files=FilesSection(max_mib=1))) as running:
        yield running


async def test_the_limit_is_the_configurations(small: Serving) -> None:
    assert (await upload(small.admin, b"a" * 2**20, "a.txt")).status == 201
    refused = await upload(small.admin, b"a" * (2**20 + 1), "a.txt")
    assert (refused.status, refused.code) == (413, "too_large")
    assert not list((small.data / "files" / "incoming").iterdir())


FORMS: dict[str, tuple[str, bytes, int]] = {
    "no_boundary": ("multipart/form-data", b"x", 415),
    "json": ("application/json", b"{}", 415),
    "nothing": ("multipart/form-data; boundary=b", b"--b--\r\n", 422),
    "no_end": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nabc',
        422,
    ),
    "not_a_form": ("multipart/form-data; boundary=b", b"hello", 422),
    "many_parts": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\nabc\r\n' * 10_000 + b"--b--\r\n",
        413,
    ),
    "long_header": (
        "multipart/form-data; boundary=b",
        b"--b\r\nContent-Disposition: " + b"x" * 100_000,
        413,
    ),
    "two_files": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nabc\r\n' * 2 + b"--b--\r\n",
        422,
    ),
    "only_another_field": (
        "multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="other"; filename="x"\r\n\r\nabc\r\n--b--\r\n',
        422,
    ),
}


async def test_bad_forms(admin: Client) -> None:
    """B-067."""
    for name, (kind, body, status) in FORMS.items():
        answer = await admin.post("files", raw=body, headers={"Content-Type": kind})
        assert answer.status == status, (name, answer)
        assert answer.code


async def test_a_message_names_files_that_are_the_callers(server: Serving) -> None:
    admin = server.admin
    file = await uploaded(admin, b"The word is holdfast.", "word.txt")
    content = [{"type": "text", "text": "say: read"}, {"type": "file", "file_id": file["id"]}]
    chat = await admin.start_chat(content)  # pyright: ignore[reportArgumentType]
    await admin.until_settled(chat["id"])
    parts = (await admin.messages(chat["id"]))[0]["parts"]
    assert parts[1] == {
        "type": "file",
        "file_id": file["id"],
        "media_type": "text/plain",
        "name": "word.txt",
        "size": 21,
    }
    member = await server.member()
    for file_id in (file["id"], "nothing", "01890000-0000-7000-8000-000000000000"):
        refused = await member.post("chats", {"content": [{"type": "file", "file_id": file_id}]})
        assert (refused.status, refused.code) == (422, "invalid_input")
        assert refused.json["errors"][0]["field"] == "content.0.file_id"


async def test_a_file_alone_is_a_message(admin: Client) -> None:
    file = await uploaded(admin, b"say: read", "word.txt")
    chat = await admin.start_chat([{"type": "file", "file_id": file["id"]}])  # pyright: ignore[reportArgumentType]
    assert (await admin.until_settled(chat["id"]))["status"] == "idle"


async def test_a_model_that_takes_no_such_files_is_not_sent_any(admin: Client) -> None:
    """The demo model reads text alone."""
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    for content, word in ((picture(), "image"), (PDF, "pdf")):
        file = await uploaded(admin, content)
        body = {"content": [{"type": "file", "file_id": file["id"]}]}
        for path in ("chats", f"chats/{chat['id']}/messages"):
            refused = await admin.post(path, body)
            assert (refused.status, refused.code) == (422, "invalid_input")
            assert f"takes no {word}" in refused.json["detail"]


async def test_files_that_no_chat_has_are_swept(server: Serving) -> None:
    admin, files = server.admin, server.parts.services.files
    unused = await uploaded(admin, b"nobody names me", "a.txt")
    used = await uploaded(admin, b"somebody does", "b.txt")
    chat = await admin.start_chat([{"type": "file", "file_id": used["id"]}])  # pyright: ignore[reportArgumentType]
    await admin.until_settled(chat["id"])
    fork = (await admin.post(f"chats/{chat['id']}/fork", {})).json
    assert await files.sweep() == 0, "a day has not passed"
    assert await files.sweep(after_micros=-1_000_000) == 1
    assert (await admin.get(f"files/{unused['id']}")).status == 404
    assert (await admin.get(f"files/{used['id']}")).body == b"somebody does"
    assert (await admin.delete(f"chats/{chat['id']}")).status == 204
    assert await files.sweep(after_micros=-1_000_000) == 0, "the fork has it too"
    assert (await admin.delete(f"chats/{fork['id']}")).status == 204
    assert await files.sweep(after_micros=-1_000_000) == 1
    assert (await admin.get(f"files/{used['id']}")).status == 404
    if server.parts.services.store.engine == "sqlite":
        assert not [path for path in (server.data / "files").rglob("*") if path.is_file()]


async def test_an_agent_attaches_a_file(server: Serving) -> None:
    admin = server.admin
    root = server.data.parent / "code"
    root.mkdir()
    (root / "chart.png").write_bytes(picture())
    (root / "out").symlink_to("/etc/passwd")
    made = await admin.post("workspaces", {"name": "code", "path": str(root)})
    chat = await admin.start_chat(
        'call: attach_file {"path": "chart.png"}\ncall: attach_file {"path": "out"}\nsay: {result}',
        workspace_id=made.json["id"],
    )
    await admin.until_settled(chat["id"])
    messages = await admin.messages(chat["id"])
    shown = [part for message in messages for part in message["parts"] if part["type"] == "file"]
    assert [(part["name"], part["media_type"]) for part in shown] == [("chart.png", "image/png")]
    back = await admin.get(f"files/{shown[0]['file_id']}")
    assert back.body == (root / "chart.png").read_bytes()
    assert "leads out of the workspace" in str(messages)
    await server.parts.services.files.sweep(after_micros=-1_000_000)
    assert (await admin.get(f"files/{shown[0]['file_id']}/thumbnail")).status == 200


async def test_uploading_twice_under_one_key_makes_one_file(admin: Client) -> None:
    first, again = (
        await upload(admin, b"tea", "a.txt", key="k"),
        await upload(admin, b"tea", "a.txt", key="k"),
    )
    assert (again.status, again.body) == (201, first.body)
    assert (await upload(admin, b"tea", "a.txt")).json["id"] != first.json["id"]
    for content, name in ((b"coffee", "a.txt"), (b"tea", "b.txt")):
        other = await upload(admin, content, name, key="k")
        assert (other.status, other.code) == (409, "idempotency_mismatch")
    assert (await upload(admin, b"tea", "a.txt", key="two words")).status == 422
