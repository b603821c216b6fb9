"""The OpenAPI document: it has every route and names every shape, it is the one that is committed, and
whatever is made from it, right or wrong, is answered without a fault of the server."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from litestar.routes import HTTPRoute
from schemathesis import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,  # pyright: ignore[reportUnknownVariableType]
)

from holdfast.api.app import document, litestar_app
from tests.api.operations import Ids, a_chat_and_all
from tests.api.serving import Serving, config_for, serving

pytestmark = pytest.mark.heavy

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")


def test_it_has_every_route() -> None:
    described = {
        (method.upper(), path)
        for path, item in document()["paths"].items()
        for method in item
        if method in METHODS
    }
    there = {
        (method, re.sub(r":\w+\}", "}", route.path))
        for route in litestar_app(None).routes
        if isinstance(route, HTTPRoute)
        for method in route.methods - {"OPTIONS", "HEAD"}
        if route.path.startswith("/api/v1") or route.path in ("/healthz", "/readyz")
    }
    assert described == there


def test_it_is_the_one_that_is_committed() -> None:
    assert json.loads(COMMITTED.read_text()) == json.loads(json.dumps(document())), "run make docs"


def test_every_list_has_pages() -> None:
    # The nearest files are a look-up; workflows, agents and what is to be trusted are files of a workspace;
    # modes, MCP servers, hooks and templates are configured; values and questions of servers and the newest
    # builds are few: they come as they are.
    whole = {
        *("look_up_files", "list_workflows", "list_workspace_agents", "list_trust", "list_modes"),
        *("list_mcp_servers", "list_mcp_values", "list_mcp_questions", "list_templates"),
        *("list_workspace_builds", "list_hooks"),
    }
    lists = 0
    for path, method, operation in _operations(document()):
        schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
        if method == "get" and schema.get("schema", {}).get("$ref", "").endswith("Page"):
            names = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
            assert names >= {"limit", "cursor"} or operation["operationId"] in whole, path
            lists += 1
    assert lists > 10


def test_every_operation_says_what_it_does_under_a_name_of_its_own() -> None:
    names: list[str] = []
    for path, method, operation in _operations(document()):
        names.append(operation["operationId"])
        assert operation.get("description"), (method, path)
        assert operation["responses"]["default"]["content"].keys() == {"application/problem+json"}
    assert len(names) == len(set(names))


def test_what_needs_no_credential_says_so() -> None:
    open_to_all = {path for path, _, operation in _operations(document()) if operation.get("security") == []}
    assert open_to_all == {"/healthz", "/readyz", "/api/v1/session"}
    assert document()["paths"]["/api/v1/session"]["get"].get("security") is None


def test_every_answer_of_a_route_is_described() -> None:
    """Where there is more than one."""
    paths = document()["paths"]
    sent = paths["/api/v1/chats/{chat_id}/messages"]["post"]["responses"]
    assert sent["201"]["content"] == sent["202"]["content"]
    exported = paths["/api/v1/chats/{chat_id}/export"]["get"]["responses"]["200"]["content"]
    assert exported.keys() == {"application/json", "text/markdown", "text/html"}


def test_no_shape_is_without_a_name() -> None:
    """A client made from the document would have to invent one."""
    assert list(_unnamed(document(), ())) == []
    for path, method, operation in _operations(document()):
        for status, response in operation["responses"].items():
            for kind, content in response.get("content", {}).items():
                if kind == "application/json" and not path.endswith(("/export", "/patch")):
                    assert "$ref" in content["schema"], (method, path, status)


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in described["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _unnamed(value: Any, place: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match value:
        case dict():
            fields = cast(dict[str, Any], value)
            named = len(place) == 3 and place[:2] == ("components", "schemas")
            if fields.get("type") == "object" and "properties" in fields and not named:
                yield place
            for key, item in fields.items():
                yield from _unnamed(item, (*place, key))
        case list():
            for number, item in enumerate(cast(list[Any], value)):
                yield from _unnamed(item, (*place, str(number)))
        case _:
            pass


modes = pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@pytest.mark.timeout(1200)
@modes
async def test_whatever_is_sent_is_no_fault_of_the_server(mode: GenerationMode, tmp_path: Path) -> None:
    await _try_everything(mode, tmp_path, examples=6)


@pytest.mark.slow
@modes
async def test_whatever_is_sent_for_long_is_no_fault_of_the_server(
    mode: GenerationMode, tmp_path: Path
) -> None:
    await _try_everything(mode, tmp_path, examples=40)


async def _try_everything(mode: GenerationMode, tmp_path: Path, examples: int) -> None:
    async with serving(config_for(tmp_path / "data")) as server:
        ids = await a_chat_and_all(server.admin)
        schema: Any = schemathesis.openapi.from_dict(_without_headers(document()))
        operations: list[APIOperation[Any, Any, Any, Any]] = [
            found.ok() for found in schema.get_all_operations()
        ]
        # Feeds have no end: each request would take its whole timeout. Who needs not even a credential can
        # be given nothing that is wrong.
        untried = (*_feeds(document()), *(("healthz", "readyz") if mode == GenerationMode.NEGATIVE else ()))
        for operation in sorted(operations, key=lambda one: one.method == "delete"):
            if operation.definition.raw["operationId"] not in untried:
                await asyncio.to_thread(_try, server, operation, ids, mode, examples)


def _feeds(described: dict[str, Any]) -> list[str]:
    return [
        operation["operationId"]
        for _, _, operation in _operations(described)
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    ]


def _without_headers(described: dict[str, Any]) -> dict[str, Any]:
    """A key that was used would be answered without a handler. What is no key is tried elsewhere."""
    for _, _, operation in _operations(described):
        operation["parameters"] = [one for one in operation.get("parameters", ()) if one["in"] != "header"]
    return described


def _try(server: Serving, operation: Any, ids: Ids, mode: GenerationMode, examples: int) -> None:
    headers = {"Authorization": f"Bearer {server.admin.token}"}
    existing = {name: ids[name] for name in re.findall(r"\{(\w+)\}", operation.path)}
    with requests.Session() as session:

        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=(
                HealthCheck.too_slow,
                HealthCheck.filter_too_much,
                HealthCheck.data_too_large,
            ),
        )
        @given(case=operation.as_strategy(mode))
        def attempt(case: Any) -> None:
            # Half of what is asked for exists: otherwise nothing but 404 would be seen.
            if case.path_parameters and len(repr(case.path_parameters)) % 2:
                case.path_parameters = dict(existing)
            answer = case.call(base_url=server.address, headers=headers, session=session)
            assert answer.status_code < 500, (case.as_curl_command(), answer.content)
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == ["application/problem+json"], answer.content
                assert answer.json()["code"]
            else:
                case.validate_response(answer, checks=[response_schema_conformance])

        attempt()
