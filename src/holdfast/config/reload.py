"""Reading the configuration again while the server runs: which keys take effect, and which wait."""

from holdfast.config.sections import RELOADED, SECTIONS, Config


def needs_restart(running: Config, read: Config) -> tuple[str, ...]:
    """The keys that differ and are only read at the start, as "section.key"; and key files that are new: the
    wall hides from commands what there was at the start."""
    keys = tuple(
        f"{name}.{key}"
        for name, section in SECTIONS.items()
        if name not in RELOADED
        for key in section.__struct_fields__
        if getattr(getattr(running, name), key) != getattr(getattr(read, name), key)
    )
    return (*keys, *(f"file:{path}" for path in read.key_files if path not in running.key_files))
