"""Does one thing with a large file and prints how much more memory the process needed for it."""

import asyncio
import resource
import sys
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId
from holdfast.workspaces.files.chat_files import ChatFiles
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.search.search_process import SearchRequest
from holdfast.workspaces.search.searches import search
from tests.workspaces.walls import walled_in

MIB = 1024  # ru_maxrss counts KiB


def main() -> None:
    root = Root(Path(sys.argv[1]))
    what, path = sys.argv[2:]
    files = ChatFiles(root, SeenFiles(), ChatId("c"), repeated=False)
    files.write("warm", "x")
    files.edit([("warm", PassageEdit(old="x", new="y"))])
    files.read("warm", None, None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        match what:
            case "read":
                files.read(path, None, None)
            case "read far":
                files.read(path, 3, None)
            case "edit":
                files.edit([(path, PassageEdit(old="needle", new="pin"))])
            case "write":
                files.write(path, "new")
            case "list":
                files.look(path)
            case "grep":
                request = SearchRequest(parts=(path,), pattern="needle", glob=None, limit=10)
                asyncio.run(search(walled_in(root.path.parent / "data"), root, request))
            case _:
                raise AssertionError(what)
    except HoldfastError as error:
        print(error.text[:100], file=sys.stderr)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // MIB)


if __name__ == "__main__":
    main()
