"""The root directory that a command sees. Every source was opened without following a link, and every target
is found below the new root without following one: nobody who exchanges directories meanwhile can get anything
else mounted, or anything mounted elsewhere."""

import errno
import os
import stat

from holdfast.workspaces.commands.inside import kernel

PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# It exists, or cannot be created: looking for it says which.
_ALREADY = (errno.EEXIST, errno.EROFS, errno.EACCES, errno.EPERM, errno.EINVAL)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


class BuildRefused(Exception):
    """Nothing of the command may run; says why."""


def open_source(path: str) -> int:
    """What is there, not the target of a link."""
    descriptor = os.open("/", PATH | os.O_DIRECTORY)
    for name in path.split("/"):
        if name:
            descriptor = _step(descriptor, name, path)
    return descriptor


def _step(directory: int, name: str, path: str) -> int:
    try:
        found = os.open(name, PATH, dir_fd=directory)
    except OSError as error:
        raise BuildRefused(f"{path} cannot be opened ({error.strerror})") from None
    finally:
        os.close(directory)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise BuildRefused(f"{path} is a link now, or lies behind one, and commands cannot run there")
    return found


class NewRoot:
    def __init__(self, mountpoint: str) -> None:
        place = open_source(mountpoint)
        kernel.attach(kernel.new_file_system("tmpfs", kernel.NO_SETUID, mode="755"), place)
        os.close(place)
        self.top = open_source(mountpoint)
        self._texts = 0
        # What was mounted where, the innermost last.
        self._mounted: list[tuple[str, int]] = []

    def bind(self, source: int, tree: int, target: str) -> None:
        """`tree` is a copy of what is mounted at `source`."""
        is_directory = stat.S_ISDIR(os.fstat(source).st_mode)
        place = self._make(target, is_directory=is_directory)
        self._mounted.append((target, os.dup(source)))
        kernel.attach(tree, place)
        os.close(place)

    def link(self, target: str, to: str) -> None:
        directory, name = os.path.split(target)
        place = self.find(directory, make=True)
        os.symlink(to, name, dir_fd=place)
        _close(place)

    def cover(self, target: str) -> None:
        """What is there cannot be seen, and the directories that lead there cannot be moved away with it."""
        place = self.find(target)
        if place is None:
            return
        attributes = kernel.READ_ONLY | kernel.NO_SETUID | kernel.NO_DEVICES
        if stat.S_ISDIR(os.fstat(place).st_mode):
            tree = kernel.new_file_system("tmpfs", attributes, mode="755")
        else:
            # A device where no devices may be used: nobody can open it, not even root.
            device = open_source("/dev/null")
            tree = kernel.clone_tree(device)
            kernel.set_attributes(tree, attributes)
            os.close(device)
        kernel.attach(tree, place)
        os.close(place)

    def text(self, target: str, text: str) -> None:
        """A file with this content, over the one that is there."""
        place = self.find(target)
        if place is None:
            if self._is_ours(target):
                place = self.find(target, make_file=True)
            if place is None:
                return
        kernel.attach(self._file(text), place)
        os.close(place)

    def pin(self, directory: int, *, attributes: int = 0) -> int:
        """It becomes a separate mount, so it cannot be renamed or removed. Returns what is mounted there
        now."""
        tree = kernel.clone_tree(directory)
        kernel.set_attributes(tree, attributes | kernel.NO_SETUID | kernel.NO_DEVICES)
        held = os.dup(tree)
        kernel.attach(tree, directory)
        return held

    def pin_above(self, target: str, below: str) -> None:
        """The directories between the two, from the outer one on."""
        names = target.removeprefix(below).strip("/").split("/")[:-1]
        path = below.rstrip("/")
        for name in names:
            path = f"{path}/{name}"
            place = self.find(path)
            if place is None:
                return
            os.close(self.pin(place))
            os.close(place)

    def _make(self, target: str, *, is_directory: bool) -> int:
        """The place to mount something on. Inside an existing mount it is created at that mount's source:
        through a mount that maps users, root can create nothing."""
        outer = [(of, source) for of, source in self._mounted if target.startswith(f"{of.rstrip('/')}/")]
        top, rest = (outer[-1][1], target.removeprefix(outer[-1][0])) if outer else (self.top, target)
        names = [name for name in rest.split("/") if name]
        directory = os.dup(top)
        for place, name in enumerate(names):
            make = _make_directory if is_directory or place + 1 < len(names) else _make_file
            make(directory, name)
            directory = _step(directory, name, target)
        os.close(directory)
        found = self.find(target)
        if found is None:
            raise BuildRefused(f"{target} was moved away")
        return found

    def find(self, target: str, *, make: bool = False, make_file: bool = False) -> int | None:
        """Below the new root; None: it does not exist."""
        names = [name for name in target.split("/") if name]
        directory = os.dup(self.top)
        for place, name in enumerate(names):
            try:
                if make or (make_file and place + 1 < len(names)):
                    _make_directory(directory, name)
                elif make_file:
                    _make_file(directory, name)
                found = os.open(name, PATH, dir_fd=directory)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise BuildRefused(f"{target} cannot be reached ({error.strerror})") from None
            finally:
                os.close(directory)
            if stat.S_ISLNK(os.fstat(found).st_mode):
                os.close(found)
                raise BuildRefused(
                    f"{target} is a link now, or lies behind one, and commands cannot run there"
                )
            directory = found
        return directory

    def devices(self, source: str) -> None:
        self._put("dev", kernel.new_file_system("tmpfs", kernel.NO_SETUID, mode="755"))
        self._put(
            "dev/shm", kernel.new_file_system("tmpfs", kernel.NO_SETUID | kernel.NO_DEVICES, mode="1777")
        )
        terminals = kernel.new_file_system("devpts", kernel.NO_SETUID, ptmxmode="0666", mode="620")
        self._put("dev/pts", terminals)
        for name in DEVICES:
            device = open_source(f"{source}/{name}")
            tree = kernel.clone_tree(device)
            os.close(device)
            place = self.find(f"dev/{name}", make_file=True)
            assert place is not None
            kernel.attach(tree, place)
            os.close(place)
        for name, to in (
            ("ptmx", "pts/ptmx"),
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ):
            self.link(f"dev/{name}", to)

    def processes(self, tree: int, *, read_only: bool) -> None:
        if read_only:
            kernel.set_attributes(tree, kernel.READ_ONLY)
        self._put("proc", tree)

    def enter(self) -> None:
        for number in range(self._texts):
            os.unlink(f".text-{number + 1}", dir_fd=self.top)
        kernel.change_root(self.top)
        kernel.set_attributes(self.top, kernel.READ_ONLY, below=False)
        os.close(self.top)

    def _put(self, target: str, tree: int) -> None:
        place = self.find(target, make=True)
        assert place is not None
        kernel.attach(tree, place)
        os.close(place)

    def _file(self, text: str) -> int:
        self._texts += 1
        name = f".text-{self._texts}"
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=self.top)
        try:
            os.fchmod(file, 0o644)
            os.write(file, text.encode("utf-8", "surrogateescape"))
            tree = kernel.clone_tree(file)
            kernel.set_attributes(tree, kernel.READ_ONLY | kernel.NO_SETUID | kernel.NO_DEVICES)
        finally:
            os.close(file)
        return tree

    def _is_ours(self, target: str) -> bool:
        """Whether its directory belongs to the new root itself, where files can be created."""
        directory = self.find(os.path.dirname(target), make=False)
        if directory is None:
            return True
        try:
            return os.fstat(directory).st_dev == os.fstat(self.top).st_dev
        finally:
            os.close(directory)


def _make_directory(directory: int, name: str) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
        owner = os.stat(directory)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _ALREADY:
            raise


def _make_file(directory: int, name: str) -> None:
    try:
        os.close(
            os.open(
                name,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o644,
                dir_fd=directory,
            )
        )
    except OSError as error:
        if error.errno not in _ALREADY:
            raise


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
