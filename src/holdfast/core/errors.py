"""Every error Holdfast raises on purpose. Each has a stable code, a text that is safe to show, and says
whether trying again can help.

HoldfastError
 +-- InvalidInput            what was asked makes no sense
 +-- NotFound                there is no such thing, or it is somebody else's
 +-- TryAgain                nothing is wrong with the request; the store cannot take it now
 |    +-- StoreFull          no space is left where the database lives
 |    +-- StoreClosed        the store is shutting down
 +-- CannotStart             one sentence: what is wrong and what to do
 |    +-- BadDatabaseUrl     the URL cannot be understood
 |    +-- DatabaseUnreachable  nobody answers, or the password is wrong
 |    +-- DatabaseInUse      another server process owns the file
 |    +-- DatabaseTooNew     written by a newer version
 |    +-- DatabaseDamaged    not a database of ours, or corrupted
 |    +-- DirectoryUnusable  the data directory cannot be written
 |    +-- MigrationFailed    a schema change could not be made
 +-- AttemptFailed           one attempt at a model call did not give a whole answer
 +-- Bug                     an invariant does not hold; the transaction was not committed
"""

from typing import ClassVar

from holdfast.core.failures import Failure


class HoldfastError(Exception):
    code: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InvalidInput(HoldfastError):
    code = "invalid_input"


class NotFound(HoldfastError):
    code = "not_found"


class TryAgain(HoldfastError):
    code = "try_again"
    retryable = True

    def __init__(self, text: str, after_seconds: float = 1.0) -> None:
        super().__init__(text)
        self.after_seconds = after_seconds


class StoreFull(TryAgain):
    code = "store_full"


class StoreClosed(TryAgain):
    code = "store_closed"


class CannotStart(HoldfastError):
    code = "cannot_start"


class BadDatabaseUrl(CannotStart):
    code = "bad_database_url"


class DatabaseUnreachable(CannotStart):
    code = "database_unreachable"
    retryable = True


class DatabaseInUse(CannotStart):
    code = "database_in_use"


class DatabaseTooNew(CannotStart):
    code = "database_too_new"


class DatabaseDamaged(CannotStart):
    code = "database_damaged"


class DirectoryUnusable(CannotStart):
    code = "directory_unusable"


class MigrationFailed(CannotStart):
    code = "migration_failed"


class AttemptFailed(HoldfastError):
    """Whether another attempt can help is said by the failure."""

    code = "attempt_failed"

    def __init__(self, failure: Failure, retry_after_seconds: float | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after_seconds = retry_after_seconds


class Bug(HoldfastError):
    code = "internal"
