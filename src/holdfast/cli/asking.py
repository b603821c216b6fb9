"""A question that is answered with yes or no, on a terminal, before anything is drawn on it."""

import sys


def yes(question: str) -> bool:
    """Enter alone means yes, the end of the input means no. The question goes to standard error, so that it
    is not mixed with output."""
    while True:
        print(f"{question} [Y/n] ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)
            return False
        answer = line.strip().lower()
        if answer in ("", "y", "yes"):
            return True
        if answer in ("n", "no"):
            return False


def is_sure(question: str) -> bool:
    """The same for what cannot be undone: only a typed yes counts."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
