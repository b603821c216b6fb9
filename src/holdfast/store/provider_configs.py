"""Providers and models configured by admins. Their meaning is not known here: a config is JSON, a key is
sealed bytes. Every change is announced, so that all replicas pick it up."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from holdfast.core.accounts import StoredModel, StoredProvider
from holdfast.core.clock import from_micros, to_micros
from holdfast.core.errors import NotFound
from holdfast.core.events import Configured
from holdfast.core.shapes import encode_text
from holdfast.store import preferences
from holdfast.store.columns import columns, listed
from holdfast.store.preferences import SERVER
from holdfast.store.query import Query, Row, Rows, announcing, at_most_one, each, joined, query

PROVIDER = columns("name created_at updated_at config sealed_key")
MODEL = columns("name created_at updated_at config")

_PROVIDERS = f"SELECT {listed(PROVIDER)} FROM provider_configs"
ONE_PROVIDER = f"{_PROVIDERS} WHERE name = $1"
ALL_PROVIDERS = f"{_PROVIDERS} ORDER BY name"
PUT_PROVIDER = (
    f"INSERT INTO provider_configs ({listed(PROVIDER)}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) "
    "DO UPDATE SET updated_at = excluded.updated_at, config = excluded.config, sealed_key = %s "
    f"RETURNING {listed(PROVIDER)}"
)
DELETE_PROVIDER = "DELETE FROM provider_configs WHERE name = $1 RETURNING name"

_MODELS = f"SELECT {listed(MODEL)} FROM model_configs"
ONE_MODEL = f"{_MODELS} WHERE name = $1"
ALL_MODELS = f"{_MODELS} ORDER BY name"
PUT_MODEL = (
    f"INSERT INTO model_configs ({listed(MODEL)}) VALUES ($1, $2, $3, $4) ON CONFLICT (name) "
    "DO UPDATE SET updated_at = excluded.updated_at, config = excluded.config "
    f"RETURNING {listed(MODEL)}"
)
DELETE_MODEL = "DELETE FROM model_configs WHERE name = $1 RETURNING name"

# The server setting that names the default model.
DEFAULT_MODEL_KEY = "models.default"
REVISIONS = (
    "SELECT 0, name, updated_at FROM provider_configs "
    "UNION ALL SELECT 1, name, updated_at FROM model_configs "
    "UNION ALL SELECT 2, key, updated_at FROM preferences "
    f"WHERE owner = '{SERVER}' AND key = '{DEFAULT_MODEL_KEY}' "
    "ORDER BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class Put:
    """The result of writing a provider, and what was there before."""

    before: StoredProvider | None
    after: StoredProvider


def provider(name: str) -> Query[StoredProvider | None]:
    return query(ONE_PROVIDER, name, read=at_most_one(_provider_of))


def providers() -> Query[tuple[StoredProvider, ...]]:
    return query(ALL_PROVIDERS, read=each(_provider_of))


def put_provider(new: StoredProvider, *, keep_key: bool) -> Query[Put]:
    """Creates it, or replaces the one of this name; with `keep_key` the existing key stays. The caller judges
    by `before` whether it may stay; raising undoes the write."""
    sql = PUT_PROVIDER % ("provider_configs.sealed_key" if keep_key else "excluded.sealed_key")
    args = (new.name, to_micros(new.created_at), to_micros(new.updated_at), encode_text(new.config))
    put = Query(
        ((ONE_PROVIDER, (new.name,)), (sql, (*args, new.sealed_key))),
        lambda results: Put(at_most_one(_provider_of)(results[0]), _provider_of(results[1][0])),
    )
    return announcing(put, Configured())


def delete_provider(name: str) -> Query[None]:
    """Raises NotFound."""
    return announcing(query(DELETE_PROVIDER, name, read=_deleted("provider")), Configured())


def model(name: str) -> Query[StoredModel | None]:
    return query(ONE_MODEL, name, read=at_most_one(_model_of))


def models() -> Query[tuple[StoredModel, ...]]:
    return query(ALL_MODELS, read=each(_model_of))


def revisions() -> Query[tuple[Row, ...]]:
    """Differs whenever anything was changed: the names, and when each was last written."""
    return query(REVISIONS, read=lambda rows: tuple(tuple(row) for row in rows))


def put_model(new: StoredModel) -> Query[StoredModel]:
    args = (new.name, to_micros(new.created_at), to_micros(new.updated_at), encode_text(new.config))
    return announcing(query(PUT_MODEL, *args, read=lambda rows: _model_of(rows[0])), Configured())


def delete_model(name: str) -> Query[None]:
    """Raises NotFound."""
    return announcing(query(DELETE_MODEL, name, read=_deleted("model")), Configured())


def choose_default(name: str | None) -> Query[None]:
    """The default model; None: nobody has chosen one."""
    chosen = preferences.choose(None, {DEFAULT_MODEL_KEY: name})
    return announcing(joined(chosen, read=lambda _: None), Configured())


def _deleted(kind: str) -> Callable[[Rows], None]:
    def read(rows: Rows) -> None:
        if not rows:
            raise NotFound(f"There is no such {kind} in the database.")

    return read


def _provider_of(row: Row) -> StoredProvider:
    sealed: bytes | None = row[4]
    return StoredProvider(
        name=row[0],
        created_at=from_micros(row[1]),
        updated_at=from_micros(row[2]),
        config=msgspec.json.decode(row[3]),
        sealed_key=None if sealed is None else bytes(sealed),
    )


def _model_of(row: Row) -> StoredModel:
    return StoredModel(
        name=row[0],
        created_at=from_micros(row[1]),
        updated_at=from_micros(row[2]),
        config=msgspec.json.decode(row[3]),
    )
