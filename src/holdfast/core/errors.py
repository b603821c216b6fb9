"""Every error Holdfast raises on purpose. Each has a stable code, a text that is safe to show, and says
whether retrying can help.

HoldfastError
 +-- InvalidInput            the request makes no sense
 |    +-- BadScript          a workflow script that cannot be read, and the line
 |    +-- BadFlow            the definition of a flow that cannot be used, with line and column
 |    +-- TooLarge           it is larger than what is taken
 |    +-- WrongUsage         a command was given what it does not take
 +-- NotFound                there is no such thing, or it is somebody else's
 +-- Forbidden               the caller may not do this
 +-- WrongState              possible in general, but not in the current state
 |    +-- CallOver           the call this was done for has ended, or runs elsewhere
 |    +-- Contradiction      a workflow script does not repeat the calls in its journal
 +-- TryAgain                nothing is wrong with the request; it cannot be done right now
 |    +-- StoreFull          no space is left where the database lives
 |    +-- StoreClosed        the store is shutting down
 |    +-- Shortage           no thread, process, descriptor or memory is left on this machine
 |         +-- NotBegun      and nothing of the request was done
 +-- CannotStart             one sentence: what is wrong and what to do
 |    +-- BadConfig          an unknown key or variable, or an impossible value
 |    |    +-- BadFlag       the same on the command line: wrong usage
 |    +-- BadSecretKey       stored keys cannot be opened with the current secret key
 |    +-- BadDatabaseUrl     the URL cannot be parsed
 |    +-- DatabaseUnreachable  nothing answers, or the password is wrong
 |    +-- DatabaseInUse      another server process owns the file
 |    +-- DatabaseTooNew     written by a newer version
 |    +-- DatabaseDamaged    not one of our databases, or corrupted
 |    +-- DirectoryUnusable  the data directory cannot be written to
 |    +-- MigrationFailed    a schema migration failed
 +-- CannotRun               a command could not be started; none of it ran
 +-- CannotExport            traces cannot be sent out; everything else works
 +-- AttemptFailed           an attempt at a model call did not return a complete answer
 +-- Unreachable             no server answers at the address
 +-- Refused                 a server answered our request with a problem
 +-- Bug                     an invariant does not hold; the transaction was not committed
"""

from typing import ClassVar

from holdfast.core.failures import Failure, ModelLimits


class HoldfastError(Exception):
    code: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class InvalidInput(HoldfastError):
    code = "invalid_input"

    def __init__(self, text: str, *, field: str | None = None) -> None:
        """`field` is the name of the offending field in the request; None if it is not about one field."""
        super().__init__(text)
        self.field = field


class BadScript(InvalidInput):
    code = "bad_script"

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text, field="script")
        self.line = line


class BadFlow(InvalidInput):
    code = "bad_flow"

    def __init__(self, sentence: str, line: int | None = None, column: int | None = None) -> None:
        """`sentence` without the place: the text begins with it."""
        at = "" if line is None else f"Line {line}: " if column is None else f"Line {line}, column {column}: "
        super().__init__(f"{at}{sentence}", field="flow")
        self.sentence = sentence
        self.line = line
        self.column = column


class TooLarge(InvalidInput):
    code = "too_large"


class WrongUsage(InvalidInput):
    code = "wrong_usage"


class NotFound(HoldfastError):
    code = "not_found"


class Forbidden(HoldfastError):
    code = "forbidden"


class WrongState(HoldfastError):
    code = "wrong_state"


class CallOver(WrongState):
    code = "call_over"


class Contradiction(WrongState):
    """The script's text is pinned, so only something nondeterministic in the script can cause this."""

    code = "contradiction"


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


class Shortage(TryAgain):
    code = "shortage"


class NotBegun(Shortage):
    """Raised for an operation that normally must not be repeated: this time it may be."""

    code = "not_begun"


class CannotStart(HoldfastError):
    code = "cannot_start"


class BadConfig(CannotStart):
    code = "bad_config"


class BadFlag(BadConfig):
    code = "bad_flag"


class BadSecretKey(CannotStart):
    code = "bad_secret_key"


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


class CannotRun(HoldfastError):
    code = "cannot_run"


class CannotExport(HoldfastError):
    code = "cannot_export"


class AttemptFailed(HoldfastError):
    """The failure says whether another attempt can help."""

    code = "attempt_failed"

    def __init__(
        self,
        failure: Failure,
        retry_after_seconds: float | None = None,
        limits: ModelLimits | None = None,
    ) -> None:
        """`limits`: what the provider's refusal says about the model's limits, so that the next attempt can
        respect them."""
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after_seconds = retry_after_seconds
        self.limits = limits


class Unreachable(HoldfastError):
    code = "unreachable"


class Refused(HoldfastError):
    """`status` and `problem` (its code) come from the server."""

    code = "refused"

    def __init__(self, text: str, status: int = 0, problem: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.problem = problem


class Bug(HoldfastError):
    code = "internal"
