"""The process that reads pictures: a file by its path or on standard input, a small PNG on standard output. A
separate process, limited by the kernel in memory and time, because pictures come from strangers; one that is
too large is refused before any of it is decoded."""

import resource
import sys
import warnings
from typing import BinaryIO

EDGE_PIXELS = 300
MOST_PIXELS = 40_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_MEMORY_BYTES = 1024**3
_CPU_SECONDS = 10
REFUSED = 3


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What Pillow would refuse is refused here with our own message.
    warnings.simplefilter("ignore")
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None
    try:
        with _opened() as content, Image.open(content, formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > MOST_PIXELS:
                _refuse(f"it has {width} x {height} pixels, more than {MOST_PIXELS // 10**6} million")
            picture.draft("RGB", (2 * EDGE_PIXELS, 2 * EDGE_PIXELS))
            small = ImageOps.exif_transpose(picture)
            small.thumbnail((EDGE_PIXELS, EDGE_PIXELS))
            small = small.convert(
                "RGBA" if "A" in small.getbands() or "transparency" in small.info else "RGB"
            )
            # The thumbnail does not keep metadata, such as where the picture was taken and by whom.
            small.info.clear()
            small.save(sys.stdout.buffer, "PNG")
    except (OSError, ValueError, SyntaxError, MemoryError, EOFError, IndexError, TypeError, KeyError):
        _refuse("it is damaged, or not what it claims to be")


def _opened() -> BinaryIO:
    return open(sys.argv[1], "rb") if len(sys.argv) > 1 else sys.stdin.buffer


def _refuse(reason: str) -> None:
    sys.stderr.write(reason)
    sys.exit(REFUSED)


if __name__ == "__main__":
    main()
