"""Providers and models that admins configured in the database, with sealed keys. A key goes in and is never
shown again; changing the address requires the key again."""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.accounts.access import Caller
from holdfast.accounts.audit_entries import Audit
from holdfast.accounts.local_token import check_keys
from holdfast.accounts.vault import Vault
from holdfast.core.accounts import StoredModel, StoredProvider
from holdfast.core.clock import Clock
from holdfast.core.errors import Forbidden, InvalidInput, WrongState
from holdfast.core.ids import Ids
from holdfast.core.shapes import Json
from holdfast.providers.configs import NO_KEY, ModelConfig, ProviderConfig, check_model, check_provider
from holdfast.providers.kinds import KINDS
from holdfast.store import idempotency_keys, preferences, provider_configs
from holdfast.store.audit import audited
from holdfast.store.interface import OnceOf, Store
from holdfast.store.provider_configs import Put
from holdfast.store.query import joined

DEFAULT_MODEL_KEY = provider_configs.DEFAULT_MODEL_KEY


@dataclass(frozen=True, slots=True)
class Kept:
    """The database's part, for `config.sources.merged`; and a sentence for each entry that cannot be used."""

    providers: tuple[ProviderConfig, ...]
    models: tuple[ModelConfig, ...]
    unusable: tuple[str, ...] = ()
    # The default model chosen by an admin; empty: none.
    default: str = ""
    # Differs whenever anything was changed.
    revision: object = None


@dataclass(frozen=True, slots=True)
class Written:
    """A provider as it was written, without its key; and whether it has a key that is sent."""

    config: ProviderConfig
    has_key: bool


class Stored:
    """With `once`, raises idempotency_keys.Repeated if it was already done under that key."""

    def __init__(self, store: Store, vault: Vault, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock
        self._audit = Audit(store, clock, ids)

    async def read(self) -> Kept:
        """With the keys themselves, only for the registry."""
        providers, models, revision, chosen = await self._store.read(
            provider_configs.providers(),
            provider_configs.models(),
            provider_configs.revisions(),
            preferences.preferences(None),
        )
        default = chosen.get(DEFAULT_MODEL_KEY)
        found = [*map(self._opened, providers), *map(_read_model, models)]
        return Kept(
            tuple(one for one in found if isinstance(one, ProviderConfig)),
            tuple(one for one in found if isinstance(one, ModelConfig)),
            tuple(one for one in found if isinstance(one, str)),
            default if isinstance(default, str) else "",
            revision,
        )

    async def revision(self) -> object:
        """As `Kept` has it."""
        return await self._store.read(provider_configs.revisions())

    def _opened(self, stored: StoredProvider) -> ProviderConfig | str:
        try:
            config = provider_of(stored)
        except msgspec.ValidationError as error:
            return f"The provider {stored.name} of the database cannot be read ({error})."
        if stored.sealed_key is None:
            return config
        key = self._vault.unseal(stored.sealed_key, name=config.name, base_url=address_of(config))
        if key is None:
            return f"The key of the provider {config.name} cannot be opened; enter it again."
        return replace(config, api_key=key.reveal())

    async def put_provider(
        self, by: Caller, config: ProviderConfig, *, once: OnceOf[Written] | None = None
    ) -> Written:
        """Creates or replaces. With `api_key` None the existing key stays: InvalidInput if the address
        differs."""
        _need_admin(by)
        check_keys(by)
        check_provider(config)
        if config.kind not in KINDS:
            raise InvalidInput(f"kind is one of {', '.join(KINDS)}, not {config.kind}", field="kind")
        key = config.api_key
        _refuse_places(key)
        now = self._clock.now()
        new = StoredProvider(
            name=config.name,
            config=_without(config, "name", "api_key"),
            sealed_key=None
            if key is None
            else self._vault.seal(key, name=config.name, base_url=address_of(config)),
            created_at=now,
            updated_at=now,
        )

        def judge(put: Put) -> Written:
            kept = put.before if key is None else None
            if (
                kept is not None
                and kept.sealed_key is not None
                and address_of(provider_of(kept)) != address_of(config)
            ):
                raise InvalidInput("Another address needs the key again: give api_key too.", field="api_key")
            opened = self._opened(put.after)
            has_key = isinstance(opened, ProviderConfig) and opened.api_key not in (None, NO_KEY)
            return Written(provider_of(put.after), has_key)

        entry = self._audit.entry(
            by,
            "provider.put",
            f"provider:{config.name}",
            kind=config.kind,
            base_url=config.base_url,
            with_key=key is not None,
        )
        put = joined(provider_configs.put_provider(new, keep_key=key is None), read=judge)
        return await idempotency_keys.write(self._store, audited(put, entry), once)

    async def delete_provider(self, by: Caller, name: str, *, once: OnceOf[None] | None = None) -> None:
        """Raises NotFound, and WrongState while models of the database use it."""
        _need_admin(by)
        check_keys(by)

        def judge(_: None, models: tuple[StoredModel, ...]) -> None:
            users = [model.name for model in models if model_of(model).provider == name]
            if users:
                raise WrongState(
                    f"Models use this provider: {', '.join(users)}. Change or delete them first."
                )

        delete = joined(provider_configs.delete_provider(name), provider_configs.models(), read=judge)
        entry = self._audit.entry(by, "provider.delete", f"provider:{name}")
        await idempotency_keys.write(self._store, audited(delete, entry), once)

    async def put_model(
        self, by: Caller, config: ModelConfig, *, once: OnceOf[ModelConfig] | None = None
    ) -> ModelConfig:
        """Creates or replaces. Whether its provider exists is checked when all sources are merged."""
        _need_admin(by)
        check_model(config)
        now = self._clock.now()
        new = StoredModel(name=config.name, config=_without(config, "name"), created_at=now, updated_at=now)
        entry = self._audit.entry(
            by, "model.put", f"model:{config.name}", provider=config.provider, model=config.model
        )
        put = joined(provider_configs.put_model(new), read=model_of)
        return await idempotency_keys.write(self._store, audited(put, entry), once)

    async def delete_model(self, by: Caller, name: str, *, once: OnceOf[None] | None = None) -> None:
        """Raises NotFound. Chats that chose it continue with the default model."""
        _need_admin(by)
        entry = self._audit.entry(by, "model.delete", f"model:{name}")
        await idempotency_keys.write(self._store, audited(provider_configs.delete_model(name), entry), once)

    async def choose_default(self, by: Caller, name: str | None, *, once: OnceOf[None] | None = None) -> None:
        """Sets the default model; None: no choice. The caller must know that the model exists."""
        _need_admin(by)
        entry = self._audit.entry(by, "model.default", f"model:{name}" if name else "model")
        await idempotency_keys.write(self._store, audited(provider_configs.choose_default(name), entry), once)


def provider_of(stored: StoredProvider) -> ProviderConfig:
    """Without its key."""
    return msgspec.convert({**_fields(stored.config), "name": stored.name}, ProviderConfig)


def model_of(stored: StoredModel) -> ModelConfig:
    return msgspec.convert({**_fields(stored.config), "name": stored.name}, ModelConfig)


def address_of(config: ProviderConfig) -> str:
    """Where its requests go: its own address, or that of its kind."""
    kind = KINDS.get(config.kind)
    return config.base_url or (kind.base_url if kind is not None else "")


def _refuse_places(key: str | None) -> None:
    """Entering a key over the network must not make the server read its own files or variables."""
    if key is not None and key.startswith(("env:", "file:")):
        raise InvalidInput(
            "api_key must be the key itself; env: and file: can only be used in holdfast.toml.",
            field="api_key",
        )


def _without(config: ProviderConfig | ModelConfig, *names: str) -> Json:
    return {name: value for name, value in msgspec.to_builtins(config).items() if name not in names}


def _fields(config: Json) -> dict[str, Any]:
    return config if isinstance(config, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _read_model(stored: StoredModel) -> ModelConfig | str:
    try:
        return model_of(stored)
    except msgspec.ValidationError as error:
        return f"The model {stored.name} of the database cannot be read ({error})."


def _need_admin(by: Caller) -> None:
    if not by.may("admin"):
        raise Forbidden("Only an admin may do this.")
