"""Hooks as people write them, in the configuration or in the settings file of a workspace, and which of them
an event is for."""

import base64
import binascii
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from holdfast.core.errors import InvalidInput
from holdfast.core.hooks import EVENTS, EventName
from holdfast.core.ids import WorkspaceId
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record, encode
from holdfast.tools.addresses import AddressRefused, check_address_of

if TYPE_CHECKING:
    from holdfast.workspaces.search.re2_engine import Expression

# holdfast: our own input and names.  claude: those of Claude Code, whose scripts then work unchanged.
Dialect = Literal["holdfast", "claude"]
OnFailure = Literal["continue", "block"]
HookSource = Literal["config", "workspace"]

TIMEOUT_SECONDS = 60.0
MOST_SECONDS = 3600.0
MOST_HOOKS = 100
# What these decide counts. The others are told, and nothing waits for them.
DECIDING: frozenset[EventName] = frozenset(
    ("user_prompt", "pre_tool", "post_tool", "turn_end", "agent_end", "pre_compact")
)
# What a matcher is compared with; nothing for the others.
MATCHED: frozenset[EventName] = frozenset(
    ("pre_tool", "post_tool", "agent_end", "needs_you", "pre_compact", "run_end")
)
_PREFIX = "whsec_"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-, |")


class Hook(Record, frozen=True, kw_only=True):
    source: HookSource
    dialect: Dialect = "holdfast"
    event: EventName
    matcher: str = ""
    command: str = ""
    url: str = ""
    secret: Secret | None = None
    # Whether `url` may be on this machine or its network.
    private: bool = False
    timeout_seconds: float = TIMEOUT_SECONDS
    on_failure: OnFailure = "continue"
    # Where it is written, for people.
    path: str
    workspace_id: WorkspaceId | None = None
    # Why it cannot run as it stands.
    error: str | None = None

    @property
    def id(self) -> str:
        """The same as long as what it does is the same."""
        about = (self.source, self.workspace_id, self.event, self.matcher, self.command, self.url)
        return hashlib.sha256(encode(about)).hexdigest()[:16]

    @property
    def name(self) -> str:
        """For people: the program, or the host."""
        if self.url:
            return host_of(self.url)
        # Never an argument or a variable, which may be secret.
        words = (word.strip("\"'") for word in self.command.split())
        program = next((word for word in words if "=" not in word), "command")
        return program.rstrip("/").rpartition("/")[2][:60] or "command"

    @property
    def decides(self) -> bool:
        """Whether the turn waits for it. An address is told afterwards, and so are programs of some
        events."""
        return bool(self.command) and self.event in DECIDING

    def is_for(self, event: EventName, subjects: tuple[str, ...] = ()) -> bool:
        """`subjects`: the names that what happened goes by, such as a tool's."""
        if self.event != event or self.error is not None:
            return False
        return event not in MATCHED or matches(self.matcher, subjects)


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"


def matches(matcher: str, subjects: tuple[str, ...]) -> bool:
    """Empty or `*`: everything. Names with `|` or commas between them: exactly these. Anything else is an
    expression that is looked for anywhere in the name."""
    if matcher in ("", "*"):
        return True
    if _PLAIN.issuperset(matcher):
        named = {one.strip() for one in matcher.replace(",", "|").split("|")}
        return not named.isdisjoint(subjects)
    expression = _compiled(matcher)
    return any(expression.find(one.encode()) is not None for one in subjects)


@lru_cache(maxsize=500)
def _compiled(matcher: str) -> "Expression":
    # Loaded by the first matcher that needs it.
    from holdfast.workspaces.search.re2_engine import Expression

    return Expression(matcher)


def check_matcher(matcher: str) -> None:
    if len(matcher) > 1000:
        raise InvalidInput("A matcher has at most 1000 characters.", field="matcher")
    if matcher in ("", "*") or _PLAIN.issuperset(matcher):
        return
    from holdfast.workspaces.search.re2_engine import BadExpression

    try:
        _compiled(matcher)
    except BadExpression as error:
        raise InvalidInput(f"This is not a valid RE2 expression: {error}.", field="matcher") from None


def check_hook(hook: Hook) -> None:
    """InvalidInput says which field is wrong, and never repeats a secret."""
    if hook.event not in EVENTS:
        raise InvalidInput(f"It is one of {', '.join(EVENTS)}.", field="event")
    if bool(hook.command.strip()) == bool(hook.url):
        raise InvalidInput("Give either command or url.", field="command")
    if "\0" in hook.command or len(hook.command) > 32_768:
        raise InvalidInput("A command has at most 32768 characters, and no NUL.", field="command")
    if hook.matcher and hook.event not in MATCHED:
        raise InvalidInput(f"{hook.event} has nothing that a matcher could match.", field="matcher")
    check_matcher(hook.matcher)
    if not hook.url:
        if hook.secret is not None:
            raise InvalidInput("Only a hook with a url has a secret.", field="secret")
        if hook.on_failure == "block" and not hook.decides:
            raise InvalidInput(f"Nothing waits for a hook of {hook.event}.", field="on_failure")
        return
    if hook.on_failure == "block":
        raise InvalidInput("A url is told afterwards; only a command can block.", field="on_failure")
    if hook.secret is None:
        raise InvalidInput("A url needs a secret, which signs what is sent.", field="secret")
    signing_key(hook.secret)
    try:
        if not hook.private:
            check_address_of(hook.url)
        elif not hook.url.startswith(("http://", "https://")):
            raise AddressRefused("only http and https addresses are reached")
    except AddressRefused as error:
        raise InvalidInput(f"It cannot be told: {error}.", field="url") from None


def signing_key(secret: Secret) -> bytes:
    """The bytes of a secret as the standard writes them: base64, with or without `whsec_`."""
    try:
        key = base64.b64decode(secret.reveal().removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not 16 <= len(key) <= 128:
        raise InvalidInput(
            "A secret is 24 to 64 random bytes in base64, with or without whsec_ before it. One is made by "
            "`openssl rand -base64 32`.",
            field="secret",
        )
    return key
