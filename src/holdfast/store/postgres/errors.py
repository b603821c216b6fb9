"""Translates the errors of asyncpg and the network: "try again" for everything that passes, and whether it is
certain that nothing was committed."""

import asyncio

import asyncpg

from holdfast.core.errors import Bug, HoldfastError, StoreFull, TryAgain

# Everything that a query or a connection attempt can raise. asyncpg raises the internal error if the server
# closed the session and the end of the connection has not been noticed yet.
ANY = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncio.IncompleteReadError,
    OSError,
    TimeoutError,
)

# Rolled back because of what others wrote at the same moment.
OVERTAKEN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)

# The server answered, so the transaction is known to be rolled back and the connection is still good.
_UNDONE = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.DataError,
    asyncpg.SyntaxOrAccessError,
    asyncpg.InvalidTransactionStateError,
    asyncpg.ProgramLimitExceededError,
)
# The same, and a retry may well succeed.
_PASSING = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
)


def is_undone(error: BaseException) -> bool:
    """Whether it is certain that nothing was committed. An idle transaction that was ended takes its
    connection with it, but nothing of it remains."""
    return isinstance(error, _UNDONE)


def translated(error: BaseException) -> HoldfastError:
    """What to raise instead. The server's texts are not repeated: they may quote what people wrote."""
    match error:
        case HoldfastError():
            return error
        case asyncpg.DiskFullError():
            return StoreFull("The database's disk is full; free some space there.", after_seconds=10.0)
        case asyncpg.LockNotAvailableError() | asyncpg.QueryCanceledError():
            return TryAgain("The database is busy with something that takes too long.")
        case asyncpg.TooManyConnectionsError():
            return TryAgain("The database accepts no more connections.")
        case asyncpg.DeadlockDetectedError() | asyncpg.SerializationError():
            return TryAgain("Others wrote the same at the same time.", after_seconds=0.1)
        case asyncpg.ReadOnlySQLTransactionError():
            return TryAgain("The database is currently read-only, as after a failover.")
        case asyncpg.PostgresError() if is_undone(error) and not isinstance(error, _PASSING):
            return Bug(f"the database refused a statement ({type(error).__name__})")
        case TimeoutError():
            return TryAgain("The database does not answer.")
        case _:
            return TryAgain("The connection to the database broke.")
