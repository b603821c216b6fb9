"""Asks providers which models they have, and remembers their answers for the configured models. An answer is
bounded in size and time; a provider that does not answer affects nobody else."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec

from holdfast.core.errors import AttemptFailed, InvalidInput, NotFound
from holdfast.providers.anthropic import ANTHROPIC_VERSION
from holdfast.providers.failures import Endpoint
from holdfast.providers.kinds import PYDANTIC_AI
from holdfast.providers.model_facts import (
    ListedModel,
    ModelFacts,
    facts_by_name,
    google_models,
    listed_models,
    llamacpp_facts,
    ollama_facts,
    ollama_loaded,
    ollama_models,
    together,
)
from holdfast.providers.prices import Prices
from holdfast.providers.registry import ModelRegistry, ProviderConnection

if TYPE_CHECKING:
    from aiohttp import ClientResponse

ANSWER_SECONDS = 15.0
# When providers are asked again: a server on one's own machine may be started late, lists grow.
_AGAIN_SECONDS, _FAILED_SECONDS = 3600.0, 60.0
_ANSWER_BYTES = 16 * 2**20
_MOST_MODELS = 2000
# Models of one Ollama that are asked about, and how many at a time.
_MOST_SHOWN, _AT_ONCE = 200, 8


class Discovery:
    def __init__(self, registry: ModelRegistry, prices: Prices) -> None:
        self._registry = registry
        self._prices = prices

    async def list_models(self, name: str) -> list[ListedModel]:
        """The models that this provider has now, with all that is known about each. Raises NotFound, and
        AttemptFailed with what to change."""
        provider = self._registry.setup.providers.get(name)
        if provider is None:
            raise NotFound(f"there is no provider {name}")
        if provider.kind == "demo":
            listed = [ListedModel(id="demo")]
        elif provider.kind == PYDANTIC_AI:
            # The library asks nobody.
            models = self._registry.setup.models.values()
            listed = [ListedModel(id=model.model) for model in models if model.provider == name]
        else:
            listed = await _Asking(self._registry.connection(provider)).models()
        if self._prices.concern(provider.kind):
            await asyncio.to_thread(self._prices.load)
        kept = [
            msgspec.structs.replace(model, facts=self._whole(name, model.id, model.facts))
            for model in listed[:_MOST_MODELS]
        ]
        self._registry.note_facts(name, {model.id: model.facts for model in kept})
        return kept

    async def run(self) -> None:
        """Looks at the start, after every change of the configuration, and now and then; until cancelled."""
        while True:
            self._registry.changed.clear()
            seconds = _AGAIN_SECONDS if await self.look() else _FAILED_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._registry.changed.wait()

    async def look(self) -> bool:
        """Asks every provider that models of the configuration use. Whether all answered."""
        setup = self._registry.setup
        used = {model.provider for model in setup.models.values() if model.enabled}
        names = [name for name in setup.providers if name in used and setup.providers[name].enabled]
        return all(await asyncio.gather(*map(self._look_at, names)))

    async def _look_at(self, name: str) -> bool:
        try:
            await self.list_models(name)
        except (AttemptFailed, InvalidInput, NotFound):
            # Whoever calls a model of it is told. The price list needs nobody.
            setup = self._registry.setup
            models = [model.model for model in setup.models.values() if model.provider == name]
            if name in setup.providers and self._prices.concern(setup.providers[name].kind):
                await asyncio.to_thread(self._prices.load)
            self._registry.note_facts(
                name, {model: self._whole(name, model, ModelFacts()) for model in models}
            )
            return False
        return True

    def _whole(self, name: str, model: str, said: ModelFacts) -> ModelFacts:
        provider = self._registry.setup.providers.get(name)
        if provider is None:
            return said
        by_name = facts_by_name(self._registry.family(provider), model)
        kind = provider.kind
        if not self._prices.loaded or not self._prices.concern(kind):
            return together(said, by_name)
        known = ModelFacts(
            usual_context=self._prices.context_limit(kind, model), price=self._prices.price(kind, model)
        )
        return together(said, by_name, known)


class _Asking:
    """The requests to one provider."""

    def __init__(self, connection: ProviderConnection) -> None:
        self._to = connection

    async def models(self) -> list[ListedModel]:
        match self._to.family:
            case "ollama":
                return await self._of_ollama()
            case "google":
                answer = await self._get(f"{self._to.url}/models?pageSize=1000")
                try:
                    return google_models(answer)
                except ValueError:
                    raise self._no_list(answer) from None
            case "anthropic":
                return self._read(await self._get(f"{self._to.url}/v1/models?limit=1000"))
            case _:
                listed = self._read(await self._get(f"{self._to.url}/models"))
        if self._to.family == "llamacpp" or any(model.owner == "llamacpp" for model in listed):
            return await self._of_llamacpp(listed)
        return listed

    def _read(self, answer: object) -> list[ListedModel]:
        try:
            return listed_models(answer)
        except ValueError:
            raise self._no_list(answer) from None

    async def _of_llamacpp(self, listed: list[ListedModel]) -> list[ListedModel]:
        """It serves one model, with the context that it was started with."""
        try:
            facts = llamacpp_facts(await self._get(f"{self._root()}/props"))
        except AttemptFailed:
            return listed
        return [msgspec.structs.replace(model, facts=together(facts, model.facts)) for model in listed]

    async def _of_ollama(self) -> list[ListedModel]:
        root = self._root()
        answer = await self._get(f"{root}/api/tags")
        try:
            listed = ollama_models(answer)
        except ValueError:
            raise self._no_list(answer) from None
        try:
            loaded = ollama_loaded(await self._get(f"{root}/api/ps"))
        except AttemptFailed:
            loaded = {}
        few = asyncio.Semaphore(_AT_ONCE)

        async def whole(model: ListedModel) -> ListedModel:
            async with few:
                try:
                    shown = await self._ask("POST", f"{root}/api/show", {"model": model.id})
                except AttemptFailed:
                    return model
            return msgspec.structs.replace(model, facts=ollama_facts(shown, loaded.get(model.id)))

        asked = await asyncio.gather(*map(whole, listed[:_MOST_SHOWN]))
        return [*asked, *listed[_MOST_SHOWN:]]

    def _root(self) -> str:
        """The address without the path of the OpenAI format."""
        parsed = urlsplit(self._to.url)
        return urlunsplit((parsed.scheme, parsed.netloc, parsed.path.removesuffix("/v1"), "", ""))

    async def _get(self, url: str) -> object:
        return await self._ask("GET", url)

    async def _ask(
        self, method: Literal["GET", "POST"], url: str, body: Mapping[str, str] | None = None
    ) -> object:
        import aiohttp

        endpoint = self._to.endpoint
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                self._to.session.request(
                    method,
                    url,
                    data=None if body is None else msgspec.json.encode(body),
                    headers=_headers(self._to.family, self._to.key, body is not None),
                    # A key is meant for the host it was given for, and for no other that this one names.
                    allow_redirects=False,
                    proxy=self._to.proxy,
                ) as response,
            ):
                content = await _read_all(response, endpoint)
                headers = {name.lower(): value for name, value in response.headers.items()}
        except TimeoutError:
            raise endpoint.silent(ANSWER_SECONDS) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise endpoint.broken(error) from None
        if response.status != 200:
            raise self._refused(response.status, headers, content)
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError:
            raise endpoint.not_a_model_server(content[:2000], 200) from None

    def _refused(self, status: int, headers: Mapping[str, str], content: bytes) -> AttemptFailed:
        if status in (404, 405, 501):
            return self._no_list(None)
        return self._to.endpoint.refused("", status, headers, content)

    def _no_list(self, answer: object) -> AttemptFailed:
        endpoint = self._to.endpoint
        return endpoint.failed(
            "config",
            f"{endpoint.provider} ({endpoint.host}) has no list of models. Name the model yourself, or check "
            f"base_url of [providers.{endpoint.provider}].",
            detail=None if answer is None else repr(answer)[:500],
        )


async def _read_all(response: "ClientResponse", endpoint: Endpoint) -> bytes:
    content = b""
    while chunk := await response.content.readany():
        content += chunk
        if len(content) > _ANSWER_BYTES:
            raise endpoint.failed("server", f"{endpoint.provider} sent a list that is too long.")
    return content


def _headers(family: str, key: str | None, with_body: bool) -> dict[str, str]:
    headers = {"Accept": "application/json"}
    if with_body:
        headers["Content-Type"] = "application/json"
    if family == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
        if key:
            headers["x-api-key"] = key
    elif key and family == "google":
        headers["x-goog-api-key"] = key
    elif key and family == "azure":
        headers["api-key"] = key
    elif key:
        headers["Authorization"] = f"Bearer {key}"
    return headers
