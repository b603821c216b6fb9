"""How long providers keep the prefix of a request, and from which size on, as their documentation says."""

from holdfast.core.shapes import Record


class CacheRule(Record, frozen=True, kw_only=True):
    # How long a prefix is kept after its last use. None: the provider does not say.
    lifetime_seconds: int | None = None
    # Shorter requests are not kept.
    minimum_tokens: int = 0


_UNKNOWN = CacheRule()
_RULES = {
    "anthropic": CacheRule(lifetime_seconds=300, minimum_tokens=1024),
    "openai": CacheRule(lifetime_seconds=300, minimum_tokens=1024),
    "azure": CacheRule(lifetime_seconds=300, minimum_tokens=1024),
    "google": CacheRule(lifetime_seconds=300, minimum_tokens=1024),
    "deepseek": CacheRule(lifetime_seconds=3600, minimum_tokens=64),
    "demo": CacheRule(lifetime_seconds=300),
}


def cache_rule(kind: str) -> CacheRule:
    return _RULES.get(kind, _UNKNOWN)
