"""Logging: for people on a terminal, as JSON elsewhere. Our own tokens (`hf_...`) are masked in what we log;
other secrets have to be removed before (`providers/redact.py`)."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_TOKEN = re.compile(r"hf_[0-9A-Za-z]{43}")


def set_up(level: str | None = None) -> None:
    """On a terminal only warnings and worse: what a person needs to know is printed in words."""
    terminal = sys.stderr.isatty()
    level = level or ("warning" if terminal else "info")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            without_tokens,
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
            if terminal
            else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    # Messages of libraries: warnings and worse, in the same place.
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    uvicorn = logging.getLogger("uvicorn.error")
    uvicorn.setLevel(logging.ERROR)
    # It is logged for every WebSocket that is refused with an answer.
    uvicorn.addFilter(lambda record: "without completing handshake" not in record.getMessage())


def without_tokens(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if isinstance(value, str) and "hf_" in value:
            event[key] = _TOKEN.sub("hf_***", value)
    return event
