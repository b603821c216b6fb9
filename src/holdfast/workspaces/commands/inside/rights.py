"""Who the command is. Under a root server it is a user that owns nothing on the machine: user ids are mapped
to a range that nobody has, and the workspace's mounts are seen through the same mapping."""

import os

from holdfast.workspaces.commands.inside import kernel

# Ids that no system gives to anybody.
RANGE = 0x70000000
SIZE = 65536
# Inside nobody is root: what belongs to root outside belongs to this user.
INSTEAD_OF_ROOT = 1000
_LAST = 40

Extents = list[tuple[int, int, int]]


def swapped(one: int, other: int) -> Extents:
    """(id, id in the range, how many): everybody unchanged, but these two swapped."""
    pair = {one: other, other: one}
    extents: Extents = []
    start = 0
    for number in sorted(number for number in pair if number < SIZE):
        if number > start:
            extents.append((start, RANGE + start, number - start))
        extents.append((number, RANGE + placed(pair[number]), 1))
        start = number + 1
    extents.append((start, RANGE + start, SIZE - start))
    beyond = [number for number in pair if number >= SIZE][:1]  # there is one place for them
    extents += [(number, RANGE + placed(pair[number]), 1) for number in beyond]
    return [extent for extent in extents if extent[2] > 0]


def placed(number: int) -> int:
    """An id beyond the range gets the place after its end."""
    return min(SIZE, number)


def seen_as(owner: int) -> int:
    """The id that a command running for this owner has inside."""
    return owner or INSTEAD_OF_ROOT


def user_namespace(processes: int, users: Extents, groups: Extents) -> int:
    """A descriptor of a new one. `processes`: a /proc with our own process ids."""
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            kernel.unshare(kernel.NEW_USER)
            os.write(to_parent, b"!")
            os.close(to_child)
            os.read(from_parent, 1)
        finally:
            os._exit(0)
    try:
        os.close(to_parent)
        if not os.read(from_child, 1):
            raise OSError(0, "users cannot be mapped: no user namespace can be made")
        for name, extents in (("uid_map", users), ("gid_map", groups)):
            file = os.open(f"{child}/{name}", os.O_WRONLY, dir_fd=processes)
            try:
                os.write(file, "".join(f"{a} {b} {c}\n" for a, b, c in extents).encode())
            finally:
                os.close(file)
        return os.open(f"{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    finally:
        for end in (from_child, from_parent, to_child):
            os.close(end)
        os.waitpid(child, 0)


def become(users: int, user: int, group: int) -> None:
    """Enters the namespace, as this user in it."""
    kernel.enter(users)
    os.setgroups([])
    kernel.prctl(kernel.SET_KEEP_CAPABILITIES, 1)
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def give_up(kept: tuple[int, ...]) -> None:
    """Drops every capability but these, for good; no program can get any back."""
    for number in range(_LAST + 1):
        if number not in kept:
            try:
                kernel.prctl(kernel.DROP_BOUNDING, number)
            except OSError:
                break  # beyond the last that this kernel knows
    kernel.prctl(kernel.AMBIENT, kernel.AMBIENT_CLEAR)
    kernel.keep_capabilities(sum(1 << number for number in kept))
    for number in kept:
        kernel.prctl(kernel.AMBIENT, kernel.AMBIENT_RAISE, number)
    kernel.prctl(kernel.SET_NO_NEW_PRIVILEGES, 1)
