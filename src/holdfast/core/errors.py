"""Every error Holdfast raises on purpose. Each has a stable code, a text that is safe to show, and says
whether trying again can help.

HoldfastError
 +-- InvalidInput            what was asked makes no sense
 |    +-- BadScript          a workflow script that cannot be read, and the line
 |    +-- BadFlow            the definition of a flow that cannot be used, with line and column
 |    +-- TooLarge           it is larger than what is taken
 |    +-- WrongUsage         a command was given what it does not take
 +-- NotFound                there is no such thing, or it is somebody else's
 +-- Forbidden               the caller may not do this
 +-- WrongState              it would be possible, but not as things are now
 |    +-- CallOver           the call this is done for does not go on any more, or not here
 |    +-- Contradiction      a workflow script does not take the way that its journal has
 +-- TryAgain                nothing is wrong with the request; it cannot be done now
 |    +-- StoreFull          no space is left where the database lives
 |    +-- StoreClosed        the store is shutting down
 |    +-- Shortage           no thread, process, descriptor or memory is left on this machine
 |         +-- NotBegun      and nothing was done of what was asked for
 +-- CannotStart             one sentence: what is wrong and what to do
 |    +-- BadConfig          a key or variable that is unknown or has an impossible value
 |    |    +-- BadFlag       the same of the command line: wrong usage
 |    +-- BadSecretKey       stored keys cannot be opened with the secret key that is there
 |    +-- BadDatabaseUrl     the URL cannot be understood
 |    +-- DatabaseUnreachable  nobody answers, or the password is wrong
 |    +-- DatabaseInUse      another server process owns the file
 |    +-- DatabaseTooNew     written by a newer version
 |    +-- DatabaseDamaged    not a database of ours, or corrupted
 |    +-- DirectoryUnusable  the data directory cannot be written
 |    +-- MigrationFailed    a schema change could not be made
 +-- CannotRun               a command could not be started; nothing of it was run
 +-- AttemptFailed           one attempt at a model call did not give a whole answer
 +-- Unreachable             no server answers where one should be
 +-- Refused                 a server answered what we asked of it with a problem
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
        """`field` is where it is, by the name that it has in requests; None: it is not one field's."""
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
    """The script's text is pinned, so nothing that it was told can have made it."""

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
    """Of something that may not be repeated: it can be, this time."""

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


class AttemptFailed(HoldfastError):
    """Whether another attempt can help is said by the failure."""

    code = "attempt_failed"

    def __init__(
        self,
        failure: Failure,
        retry_after_seconds: float | None = None,
        limits: ModelLimits | None = None,
    ) -> None:
        """`limits`: what the refusal says about the model, so that the next attempt can follow it."""
        super().__init__(failure.message)
        self.failure = failure
        self.retry_after_seconds = retry_after_seconds
        self.limits = limits


class Unreachable(HoldfastError):
    code = "unreachable"


class Refused(HoldfastError):
    """`status` and `problem` (its code) are the server's."""

    code = "refused"

    def __init__(self, text: str, status: int = 0, problem: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.problem = problem


class Bug(HoldfastError):
    code = "internal"
