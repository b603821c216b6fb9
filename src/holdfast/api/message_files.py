"""A person's message, with the files it names: they must belong to the caller, and be of a kind that the
model accepts. The chat's use of them is recorded before the message is sent, so that no sweep can come
between."""

from holdfast.accounts.access import Caller
from holdfast.api.bodies import Content, FileIn, parts_of
from holdfast.api.problems import invalid
from holdfast.api.services import Services
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId, FileId, is_uuid7
from holdfast.core.parts import File, Parts
from holdfast.store import files


async def said(
    services: Services, caller: Caller, chat_id: ChatId, content: Content, model: str | None
) -> Parts:
    """`model` is the one that will read it; None: the default one."""
    named = [] if isinstance(content, str) else [part.file_id for part in content if isinstance(part, FileIn)]
    if not named:
        return parts_of(content)
    wanted = {FileId(file_id) for file_id in named if is_uuid7(file_id)}
    found = await services.store.read(files.files(wanted, caller.user.id))
    parts = parts_of(content, {file_id: file.part for file_id, file in found.items()})
    _check_inputs(services, model, parts)
    await services.files.use(found, chat_id)
    return parts


def _check_inputs(services: Services, model: str | None, parts: Parts) -> None:
    try:
        config = services.providers.require(model)
    except HoldfastError:
        return  # the turn reports that there is no model to call
    for number, part in enumerate(parts):
        if not isinstance(part, File):
            continue
        kind = "image" if part.media_type.startswith("image/") else part.media_type.rpartition("/")[2]
        if kind in ("image", "pdf") and kind not in config.inputs:
            takes = ", ".join(config.inputs)
            raise invalid(
                f"content.{number}.file_id",
                f"the model {config.name} takes no {kind} ({part.name}), only {takes}; choose another model, "
                f"or add {kind} to its inputs if it does",
            )
