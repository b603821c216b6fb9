"""Where keys are found: the file, the environment, the command line. Each gives values with the place they
came from; unknown names are refused here."""

import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from holdfast.config.sections import LISTED_SECTIONS, NAMED_SECTIONS, SECTIONS
from holdfast.config.values import GivenValue, Unfit, keys_of, path_of
from holdfast.core.errors import BadConfig, BadFlag
from holdfast.core.shapes import Record

FILE_NAME = "holdfast.toml"
FILE_VARIABLE = "HOLDFAST_CONFIG"
PREFIX = "HOLDFAST_"
ENVIRONMENT = "the environment"
_ALL = tuple(dict.fromkeys((*SECTIONS, *NAMED_SECTIONS, *LISTED_SECTIONS)))
# Set by Kubernetes in every pod for a service named holdfast, or holdfast-anything.
_OF_KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)")


@dataclass(slots=True)
class ConfigValues:
    """`[section] key` and `[section.name] key`."""

    plain: dict[tuple[str, str], GivenValue] = field(default_factory=dict[tuple[str, str], GivenValue])
    named: dict[tuple[str, str], dict[str, GivenValue]] = field(
        default_factory=dict[tuple[str, str], dict[str, GivenValue]]
    )

    def put(self, section: str, key: str, given: GivenValue, name: str | None = None) -> None:
        if name is None:
            self.plain[section, key] = given
        else:
            self.named.setdefault((section, name), {})[key] = given

    def covered_by(self, nearer: "ConfigValues") -> "ConfigValues":
        """Both, key by key; the nearer one wins."""
        named = {table: dict(keys) for table, keys in self.named.items()}
        for table, keys in nearer.named.items():
            named.setdefault(table, {}).update(keys)
        return ConfigValues({**self.plain, **nearer.plain}, named)

    def key_files(self) -> tuple[Path, ...]:
        """The files of all values written as `file:PATH`: whatever the key, such a file contains a secret."""
        given = [*self.plain.values(), *(value for table in self.named.values() for value in table.values())]
        return tuple(sorted({path for value in given for path in _files_in(value.value)}))


def _files_in(value: object) -> Iterator[Path]:
    if isinstance(value, str) and value.startswith("file:"):
        # One without a path is reported where it is read.
        with suppress(Unfit):
            yield path_of(value.removeprefix("file:"))
    elif isinstance(value, dict):
        for inner in cast(dict[str, object], value).values():
            yield from _files_in(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from _files_in(inner)


# --- the file ---


def find_file(flag: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The one given by flag or variable, else the one in the person's configuration directory. Never one in
    the current directory: whoever can write there, perhaps an agent, would decide for the server."""
    if flag is not None:
        return Path(os.path.expanduser(flag)).absolute()
    if named := environ.get(FILE_VARIABLE):
        return Path(os.path.expanduser(named)).absolute()
    path = default_file(environ)
    # Unlike Path's own method, this never raises: in a directory that may not be read there is no file for
    # us.
    return path if os.path.isfile(path) else None


def default_file(environ: Mapping[str, str]) -> Path:
    return (config_directory(environ) / FILE_NAME).absolute()


def passed_over(read: Path | None) -> Path | None:
    """A file of that name in the current directory that was not read, although people may expect it to be."""
    here = Path(FILE_NAME).absolute()
    if not os.path.isfile(here) or (read is not None and os.path.realpath(read) == os.path.realpath(here)):
        return None
    return here


def config_directory(environ: Mapping[str, str]) -> Path:
    """A person's own directory: for the configuration, and for instructions to all agents."""
    return Path(os.path.expanduser(environ.get("XDG_CONFIG_HOME") or "~/.config"), "holdfast")


def skill_directories(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the person who runs the server keeps skills for all workspaces; the first of a name counts."""
    return config_directory(environ) / "skills", Path(os.path.expanduser("~/.agents/skills"))


def read_file(path: Path) -> ConfigValues:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadFlag(
            f"There is no configuration file {path}. Correct --config or {FILE_VARIABLE}, or leave it out."
        ) from None
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise BadConfig(f"{path} cannot be read ({error.strerror}). Give this user access to it.") from None
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path} is not valid TOML: {error}. Correct that line.") from None
    return from_tables(tables, path)


def from_tables(tables: Mapping[str, object], path: Path) -> ConfigValues:
    found = ConfigValues()
    for section, table in tables.items():
        if section not in _ALL:
            raise BadConfig(f"{path} has an unknown section [{section}]; {near(section, _ALL)}")
        if section in LISTED_SECTIONS:
            _take_list(found, section, table, path)
            continue
        if not isinstance(table, dict):
            raise BadConfig(f"{path}: {section} must be a section, [{section}] with keys below it.")
        for key, value in cast(dict[str, Any], table).items():
            _take(found, section, key, value, path)
    return found


def _take(found: ConfigValues, section: str, key: str, value: object, path: Path) -> None:
    plain, keys = _keys(SECTIONS, section), _keys(NAMED_SECTIONS, section)
    # `default` of [models] is a name; [models.default] is a table.
    if key in plain and not (keys and isinstance(value, dict)):
        found.put(section, key, GivenValue(value, f"{section}.{key} in {path}", str(path)))
        return
    if not keys or (plain and not isinstance(value, dict)):
        raise BadConfig(f"{path}: [{section}] has no key {key}; {near(key, plain)}")
    if not isinstance(value, dict):
        raise BadConfig(f"{path}: {section}.{key} must be a section, [{section}.{key}] with keys below it.")
    # One without keys counts: `[providers.ollama]` is complete.
    found.named.setdefault((section, key), {})
    for inner, given in cast(dict[str, Any], value).items():
        if inner not in keys:
            raise BadConfig(f"{path}: [{section}.{key}] has no key {inner}; {near(inner, keys)}")
        found.put(section, inner, GivenValue(given, f"{section}.{key}.{inner} in {path}", str(path)), key)


def _take_list(found: ConfigValues, section: str, tables: object, path: Path) -> None:
    """`[[section]]`, each under its number, which begins with 1."""
    keys = tuple(keys_of(LISTED_SECTIONS[section]))
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in cast(list[object], tables)):
        raise BadConfig(f"{path}: {section} must be written as [[{section}]], once for each.")
    for number, table in enumerate(cast(list[dict[str, Any]], tables), 1):
        found.named.setdefault((section, str(number)), {})
        for key, value in table.items():
            if key not in keys:
                raise BadConfig(f"{path}: [[{section}]] number {number} has no key {key}; {near(key, keys)}")
            place = f"{section}.{key} (number {number}) in {path}"
            found.put(section, key, GivenValue(value, place, str(path)), str(number))


def _keys(sections: Mapping[str, type[Record]], section: str) -> tuple[str, ...]:
    return tuple(keys_of(sections[section])) if section in sections else ()


# --- the environment ---


def from_environment(environ: Mapping[str, str], names: Collection[tuple[str, str]] = ()) -> ConfigValues:
    """Variables `HOLDFAST_<SECTION>_<KEY>` and `HOLDFAST_<SECTION>_<NAME>_<KEY>`. `names` are the tables in
    the file: a variable refers to the one with the same spelling, whatever its case and dashes."""
    found = ConfigValues()
    alike = {(section, _spelled(name)): name for section, name in names}
    for variable, value in sorted(environ.items()):
        # An empty variable counts as not set.
        if not variable.startswith(PREFIX) or not value or _OF_KUBERNETES.search(variable):
            continue
        if variable == FILE_VARIABLE:
            continue
        section, _, rest = variable.removeprefix(PREFIX).lower().partition("_")
        if section in LISTED_SECTIONS:
            raise BadConfig(
                f"The variable {variable} cannot be used: [[{section}]] is written in the file. Remove it."
            )
        if section in _ALL:
            key, name = _meant(variable, section, rest)
            given = GivenValue(value, variable, ENVIRONMENT, as_text=True)
            found.put(section, key, given, None if name is None else alike.get((section, name), name))
        elif close := get_close_matches(section, _ALL, n=1, cutoff=0.8):
            # Others may have variables that start like ours; only near misses are mistakes.
            raise BadConfig(
                f"The variable {variable} names no section of the configuration; did you mean "
                f"{PREFIX}{close[0].upper()}_{rest.upper()}? Correct or remove it."
            )
    return found


def _meant(variable: str, section: str, rest: str) -> tuple[str, str | None]:
    plain, keys = _keys(SECTIONS, section), _keys(NAMED_SECTIONS, section)
    if rest in plain:
        return rest, None
    # The longest match: `..._provider_options` does not mean a key `options`.
    for key in sorted(keys, key=len, reverse=True):
        name = rest.removesuffix(f"_{key}")
        if name and name != rest:
            return key, name
    hint = near(rest, [*plain, *keys])
    raise BadConfig(f"The variable {variable} names no key of [{section}]; {hint} Correct or remove it.")


def _spelled(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "_", name.lower())


def near(name: str, known: Collection[str]) -> str:
    """A hint at what was meant."""
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"there is {', '.join(sorted(known))}."
