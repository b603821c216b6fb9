"""The keys of one hook in the configuration."""

from typing import Annotated

from msgspec import Meta

from holdfast.core.hooks import EventName
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record
from holdfast.tools.hooks.definitions import OnFailure


class HookSection(Record, frozen=True, kw_only=True):
    """`[[hooks]]`: a program or an address that is told of what happens. There may be several, and they are
    written in the file alone."""

    event: Annotated[EventName, Meta(description="What it is told of.")]
    matcher: Annotated[
        str,
        Meta(
            description="Which of them: names with `|` between them, or an expression of RE2. Empty: all. "
            "Compared with the name of the tool (`pre_tool`, `post_tool`), of the agent, of the workflow "
            "(`run_end`), with what is asked (`needs_you`), or with why history is summarised "
            "(`pre_compact`)."
        ),
    ] = ""
    command: Annotated[
        str,
        Meta(
            description="A line for the shell, run behind the wall. It gets JSON on standard input; exit "
            "code 2 or a JSON decision objects."
        ),
    ] = ""
    url: Annotated[
        str, Meta(description="Instead of `command`: an address that gets a signed POST afterwards.")
    ] = ""
    timeout_seconds: Annotated[float, Meta(ge=1, le=3600, description="After how long it is given up.")] = (
        60.0
    )
    on_failure: Annotated[
        OnFailure, Meta(description="Whether a command that fails objects (`block`) or is ignored.")
    ] = "continue"
    secret: (
        Annotated[Secret, Meta(description="Signs what is sent to `url`: 24 to 64 random bytes in base64.")]
        | None
    ) = None
    private: Annotated[
        bool,
        Meta(description="Whether `url` may be on this machine or its network; otherwise it must be public."),
    ] = False
