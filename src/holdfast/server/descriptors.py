"""How many files and sockets this process may have open, and how many of these connections may take: the
other half is for the worker, which needs them for providers, databases, commands and files."""

import resource

import structlog

log = structlog.get_logger(__name__)

# Enough for thousands of watchers. Not more, because commands inherit it, and some programs go through all
# descriptors there might be.
WANTED = 16_384
FEW = 4096


def raise_limit() -> None:
    """As far as the system lets us without privileges."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if _is_less(soft, wanted):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError) as error:
            log.warning("the limit of open files stays", limit=soft, reason=str(error))
    if _is_less(limit := resource.getrlimit(resource.RLIMIT_NOFILE)[0], FEW):
        log.warning("few files and connections may be open at once; raise `ulimit -n`", limit=limit)


def for_connections() -> int:
    """How many of the descriptors connections may take."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (soft if _is_less(soft, WANTED) else WANTED) // 2


def _is_less(limit: int, than: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < than
