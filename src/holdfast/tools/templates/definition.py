"""What a template is: a directory with a `template.toml`. Reading one runs nothing; what is wrong with one is
a sentence in its place, and hurts no other."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.shapes import Json, Record, check_json, encode, encode_text
from holdfast.core.text import clean, one_line
from holdfast.tools.schema import Object, Shape, check_schema
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.line_ranges import open_file, read_up_to

FILE = "template.toml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FILE_BYTES = 256 * 1024
_DESCRIPTION = 2000
_COMMAND = 50_000
_MOST_SERVICES = 20
PARAMETER_BYTES = 32 * 1024
_KEYS = ("name", "description", "parameters", "setup", "check", "services")
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NO_PARAMETERS: Object = {"type": "object", "properties": {}, "additionalProperties": False}


class TemplateProcess(Record, frozen=True, kw_only=True):
    """A command that runs in the background as long as somebody works in the workspace."""

    name: str
    command: str


@dataclass(frozen=True, kw_only=True)
class Template:
    """`address`: the git address it is from; None: a directory of the configuration. `hash`: of all its
    files, where a person has to trust them. `directory`: where its files are now."""

    name: str
    directory: Root
    description: str = ""
    parameters: Object | None = None
    setup: str = ""
    check: str = ""
    services: tuple[TemplateProcess, ...] = ()
    address: str | None = None
    hash: str | None = None
    error: str | None = None

    @property
    def runs_something(self) -> bool:
        return bool(self.setup or self.check or self.services)

    @property
    def schema(self) -> Object:
        return self.parameters or _NO_PARAMETERS


def read_template(
    directory: Root, fallback: str, *, address: str | None = None, content_hash: str | None = None
) -> Template | None:
    """None: there is no template in this directory. `fallback` is the name of one that does not say its
    own."""
    made = Template(name=fallback, directory=directory, address=address, hash=content_hash)
    try:
        text = _text(directory)
    except HoldfastError as error:
        return replace(made, error=error.text)
    if text is None:
        return None
    try:
        content = cast(Mapping[str, Json], tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return replace(made, error=f"{FILE} cannot be read: {one_line(str(error), 300)}.")
    try:
        return _read(made, content)
    except InvalidInput as error:
        return replace(made, error=error.text)


def given_parameters(template: Template, given: Mapping[str, Json]) -> dict[str, Json]:
    """With the schema's defaults. InvalidInput says what does not fit."""
    full = {**_defaults(template.schema), **given}
    try:
        check_json(full)
    except ValueError as error:
        raise InvalidInput(f"The parameters are not valid: {error}.", field="parameters") from None
    if len(encode(full)) > PARAMETER_BYTES:
        raise InvalidInput(
            f"The parameters have more than {PARAMETER_BYTES // 1024} KiB.", field="parameters"
        )
    if wrong := Shape(template.schema).complaints(full):
        raise InvalidInput(
            f"The parameters do not fit the template {template.name}: {'; '.join(wrong)}", field="parameters"
        )
    return full


def environment_of(parameters: Mapping[str, Json], name: str) -> tuple[str, ...]:
    """How the commands of a template are given the parameters: as variables, never as part of a command."""
    words = [f"TEMPLATE_PARAMETERS={encode_text(dict(parameters))}", f"TEMPLATE_WORKSPACE={name}"]
    for key, value in parameters.items():
        if _VARIABLE.fullmatch(key):
            text = value if isinstance(value, str) else encode_text(value)
            words.append(f"TEMPLATE_{key.upper()}={text.replace(chr(0), '')}")
    return tuple(words)


def _read(made: Template, content: Mapping[str, Json]) -> Template:
    for key in content:
        if key not in _KEYS:
            raise InvalidInput(f"{FILE} has no key {one_line(key, 60)}; there is {', '.join(_KEYS)}.")
    name = content.get("name", made.name)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(f"{FILE}: a name is at most 64 letters, digits, dots, dashes and underscores.")
    made = replace(made, name=name)
    parameters = content.get("parameters")
    if parameters is not None:
        try:
            parameters = check_schema(parameters)
        except InvalidInput as error:
            raise _named(made, f"parameters: {error.text}") from None
        if parameters.get("type", "object") != "object":
            raise _named(made, 'parameters is the schema of an object: "type" is "object".')
    return replace(
        made,
        description=one_line(_word(content, "description"), _DESCRIPTION),
        parameters=parameters,
        setup=_command(content, "setup"),
        check=_command(content, "check"),
        services=_services(content.get("services")),
    )


def _named(made: Template, text: str) -> InvalidInput:
    return InvalidInput(f"{FILE} of {made.name}: {text}")


def _word(content: Mapping[str, Json], key: str) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{FILE}: {key} is a text.")
    return clean(value)


def _command(content: Mapping[str, Json], key: str) -> str:
    """A text, or several lines as a list."""
    value = content.get(key, "")
    if isinstance(value, list):
        lines = cast(list[Json], value)
        value = "\n".join(line for line in lines if isinstance(line, str)) if _all_texts(lines) else None
    if not isinstance(value, str) or len(value) > _COMMAND or "\0" in value:
        raise InvalidInput(f"{FILE}: {key} is a text of at most {_COMMAND} characters, or a list of lines.")
    return value.strip()


def _all_texts(lines: list[Json]) -> bool:
    return all(isinstance(line, str) for line in lines)


def _services(value: Json) -> tuple[TemplateProcess, ...]:
    """A table of commands by name, or a list of tables with `name` and `command`."""
    if value is None:
        return ()
    listed: list[Json] = [value]
    if isinstance(value, dict):
        tables = cast(Object, value)
        listed = [{"name": name, "command": command} for name, command in tables.items()]
    elif isinstance(value, list):
        listed = cast(list[Json], value)
    found: list[TemplateProcess] = []
    for one in listed:
        table = cast(Object, one) if isinstance(one, dict) else {}
        name, command = table.get("name"), table.get("command")
        if not isinstance(name, str) or not NAME.fullmatch(name) or not isinstance(command, str):
            raise InvalidInput(f"{FILE}: a service has a name and a command.")
        if not command.strip() or len(command) > _COMMAND or "\0" in command:
            raise InvalidInput(f"{FILE}: the command of the service {name} is empty or too long.")
        found.append(TemplateProcess(name=name, command=command.strip()))
    if len(found) > _MOST_SERVICES or len({one.name for one in found}) < len(found):
        raise InvalidInput(f"{FILE}: at most {_MOST_SERVICES} services, each with a name of its own.")
    return tuple(found)


def _defaults(schema: Object) -> dict[str, Json]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    found: dict[str, Json] = {}
    for name, one in cast(Object, properties).items():
        if isinstance(one, dict) and "default" in (described := cast(Object, one)):
            found[name] = described["default"]
    return found


def _text(directory: Root) -> str | None:
    with directory.open() as tree:
        try:
            with tree.place((FILE,), follow=False) as place:
                if place.stat() is None:
                    return None
                with open_file(place, (FILE,)) as descriptor:
                    data = read_up_to(descriptor, _FILE_BYTES + 1)
        except OSError as error:
            raise InvalidInput(f"{FILE} cannot be read ({error.strerror}).") from error
    if len(data) > _FILE_BYTES:
        raise InvalidInput(f"{FILE} has more than {_FILE_BYTES // 1024} KiB.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{FILE} is not UTF-8 text.") from None


def directories_in(root: Path) -> list[Root]:
    """The directory itself if it is a template, else those directly below it; links are not followed."""
    if os.path.lexists(root / FILE):
        return [Root(root)]
    with os.scandir(root) as entries:
        names = sorted(
            one.name for one in entries if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")
        )
    return [Root(root, (name,)) for name in names]
