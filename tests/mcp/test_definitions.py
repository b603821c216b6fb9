"""What servers say of their tools, made fit for models; and what was approved of it."""

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.secret import Secret
from holdfast.core.shapes import Json
from holdfast.tools.mcp.definitions import MOST_TOOLS, ToolDefinition, definition, full_name, offered
from holdfast.tools.mcp.entries import ServerEntry, ServerFields, check_fields, check_secrets, start_plan
from holdfast.tools.mcp.pins import KnownTools, approve, judged, listed_anew, usable


def defined(
    name: str, description: str = "d", schema: Json = None, *, read_only: bool = False
) -> ToolDefinition:
    schema = {"type": "object"} if schema is None else schema
    told = [name, description, schema, read_only]
    return definition("srv", name, description, schema, read_only=read_only, told=told)


def test_names_fit_every_provider() -> None:
    assert full_name("git", "git_status") == "mcp__git__git_status"
    long = full_name("server", "t" * 100)
    assert len(long) == 64
    assert long.startswith("mcp__server__ttt")
    assert long[55] == "_"
    assert all(character in "0123456789abcdef" for character in long[56:])
    assert full_name("server", "t" * 101) != long
    # Exactly 64 characters stay as they are.
    exact = full_name("server", "t" * (64 - len("mcp__server__")))
    assert exact == "mcp__server__" + "t" * 51
    # A name that looks like another's is not the same name.
    assert full_name("s", "exec\u0443te").isascii()
    assert full_name("s", "exec\u0443te") != full_name("s", "execute")
    assert full_name("s", "a b") != full_name("s", "a_b")


def test_descriptions_and_schemas_are_bounded() -> None:
    big = defined("a", "x" * 100_000 + "\u202e\0")
    assert len(big.description) < 5000
    looped = defined("a", schema={"type": "object", "properties": {"x": {"$ref": "#"}}})
    assert looped.error
    assert looped.schema == {"type": "object"}
    inlined = defined(
        "a",
        schema={"properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {"type": "string"}}},
    )
    assert inlined.error is None
    assert inlined.schema == {"type": "object", "properties": {"x": {"type": "string"}}}
    assert defined("a", schema={"$ref": "https://example.com/schema"}).error
    assert defined("a", schema=["no"]).error
    deep: Json = {}
    for _ in range(500):
        deep = {"properties": {"x": deep}}
    assert defined("a", schema=deep).error


def test_no_more_tools_are_offered_than_fit() -> None:
    tools, count = offered([defined(f"t{number}") for number in range(10_000)], ())
    assert (len(tools), count) == (MOST_TOOLS, 10_000)
    chosen, _ = offered([defined(f"t{number}") for number in range(10_000)], ["t9999"])
    assert [tool.name for tool in chosen] == ["t9999"]


def listing(*tools: ToolDefinition) -> KnownTools:
    return KnownTools(listed=tools)


def test_the_first_list_counts_and_what_differs_later_waits() -> None:
    a, b = defined("a"), defined("b")
    first = listed_anew(None, listing(a, b))
    assert usable(first) == (a, b)
    for other in (
        defined("a", "other"),
        defined("a", schema={"properties": {}}),
        defined("a", read_only=True),
    ):
        changed = listed_anew(first, listing(other, b, defined("c")))
        assert {one.tool.name: one.state for one in judged(changed)} == {
            "a": "changed",
            "b": "approved",
            "c": "new",
        }
        assert usable(changed) == (b,)
        assert usable(approve(changed, ["a"])) == (other, b)
        assert len(usable(approve(changed, None))) == 3
        # It says again what was approved: nothing waits.
        assert usable(listed_anew(changed, listing(a, b))) == (a, b)
    gone = listed_anew(first, listing(b))
    assert {one.tool.name: one.state for one in judged(gone)} == {"a": "gone", "b": "approved"}


def entry(**fields: object) -> ServerEntry:
    env = {"KEY": Secret("${STORED}"), "PLAIN": Secret("value")}
    made = ServerFields(**fields)  # pyright: ignore[reportArgumentType]
    return ServerEntry(id="x", name="x", origin="own", fields=made, env=env)


def test_references_are_replaced_from_the_entry_and_its_owner_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_SECRET", "canary")
    stored = {"STORED": Secret("${PLAIN} kept")}
    args = ("${PLAIN}/x", "${KEY}", "${OTHER:-else}", "$PLAIN")
    plan = start_plan(entry(command="run", args=args), stored)
    # What a value holds is not looked at again.
    assert plan.args == ("value/x", "${PLAIN} kept", "else", "$PLAIN")
    assert plan.env["KEY"].reveal() == "${PLAIN} kept"
    with pytest.raises(InvalidInput, match="SERVER_SECRET"):
        start_plan(entry(command="run", args=("${SERVER_SECRET}",)), stored)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"command": "a", "url": "https://example.com"},
        {"url": "ftp://example.com"},
        {"url": "https://user:pw@example.com"},
        {"url": "https://example.com", "args": ("x",)},
        {"command": "a", "wall": False},
        {"command": "a", "network": "host"},
        {"command": "A=b"},
        {"command": "a\0"},
    ],
)
def test_what_no_member_may_configure(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        check_fields(ServerFields(**fields), by_admin=False)  # pyright: ignore[reportArgumentType]


def test_variables_and_headers_that_are_not_for_servers() -> None:
    check_secrets({"TOKEN": "x"}, {"X-Key": "x"})
    for env, headers in [
        ({"LD_PRELOAD": "x"}, {}),
        ({"a b": "x"}, {}),
        ({}, {"Host": "x"}),
        ({}, {"X": "a\nb"}),
    ]:
        with pytest.raises(InvalidInput):
            check_secrets(env, headers)
