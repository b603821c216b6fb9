"""Hooks, settings and attributes of a repository: a person's git runs what they name, so no command changes
them. Everything else of git works."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from holdfast.core.errors import CannotRun
from holdfast.workspaces.commands.inside.git_parts import MOST, hooks_path
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.git.git_directories import TOO_MANY, GitDirectories
from holdfast.workspaces.git.new_repositories import harmless
from tests.workspaces.rooms import WALLS, Room, room, until
from tests.workspaces.serving import ROOT, STRANGER, strangers_environment, strangers_python

ME = "-c user.name=me -c user.email=me@example.com"


def git(directory: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=me", "-c", "user.email=me@example.com", *words],
        cwd=directory,
        check=True,
        capture_output=True,
    )


def repository(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    git(directory, "init", "--quiet", "--initial-branch=main")
    (directory / "file").write_text("one\n")
    git(directory, "add", "file")
    git(directory, "commit", "--quiet", "--message=one")


TRICKS = {
    "a hook": "echo 'touch owned' > .git/hooks/post-commit",
    "a hook by another name": "cp /bin/true made && mv made .git/hooks/pre-commit",
    "a hook through a link": "ln -s .git/hooks h && touch h/pre-commit",
    "the hooks replaced": "mv .git/hooks .git/old && mkdir .git/hooks && touch .git/hooks/pre-commit",
    "a setting": "git config core.fsmonitor 'touch owned'",
    "a setting by hand": "printf '[core]\\n\\tfsmonitor = touch owned\\n' >> .git/config",
    "the settings replaced": "cp .git/config c && mv c .git/config",
    "the settings removed": "rm -f .git/config",
    "attributes": "echo '* filter=x' > .git/info/attributes",
    "git replaced": "mv .git .other && cp -r .other .git && touch .git/hooks/pre-commit",
    "git linked": "mv .git .other && ln -s .other .git && touch .git/hooks/pre-commit",
    "mounted away": "umount .git/hooks && touch .git/hooks/pre-commit",
}


@pytest.mark.parametrize("trick", TRICKS)
async def test_what_names_programs_cannot_be_changed(walled: Room, trick: str) -> None:
    repository(walled.workspace)
    before = (walled.workspace / ".git" / "config").read_text()
    await walled.run(TRICKS[trick])
    made = {path.name for path in (walled.workspace / ".git" / "hooks").iterdir()}
    assert all(name.endswith(".sample") for name in made)
    assert (walled.workspace / ".git" / "config").read_text() == before
    assert not (walled.workspace / ".git" / "info" / "attributes").exists()


async def test_git_works(walled: Room) -> None:
    repository(walled.workspace)
    end, text = await walled.run(
        f"set -e; echo two > file; git {ME} commit -qam two; git switch -qc other; echo three > new; "
        f"git add new; git {ME} commit -qm three; git switch -q main; "
        f"git {ME} merge -q --no-ff -m merged other; git branch -D other; "
        "git tag v1; git stash list; git gc --quiet; git log --format=%s | sort"
    )
    assert end.exit_code == 0, text
    assert text.splitlines()[-4:] == ["merged", "one", "three", "two"]
    git(walled.workspace, "status")


async def test_parts_that_are_missing_cannot_be_made_either(walled: Room) -> None:
    repository(walled.workspace)
    for name in ("hooks", "info"):
        subprocess.run(["rm", "-r", str(walled.workspace / ".git" / name)], check=True)  # noqa: ASYNC221
    await walled.run("mkdir .git/hooks .git/info; touch .git/hooks/pre-commit .git/info/attributes")
    assert not (walled.workspace / ".git" / "hooks" / "pre-commit").exists()
    assert not (walled.workspace / ".git" / "info" / "attributes").exists()


async def test_where_hooks_are_looked_for_instead(walled: Room) -> None:
    repository(walled.workspace)
    (walled.workspace / "tools" / "hooks").mkdir(parents=True)
    git(walled.workspace, "config", "core.hooksPath", "tools/hooks")
    await walled.run(
        "touch tools/hooks/pre-commit; mv tools t; mkdir -p tools/hooks; touch tools/hooks/pre-push"
    )
    assert list((walled.workspace / "tools" / "hooks").iterdir()) == []
    assert (await walled.run("touch tools/other && echo ok"))[1] == "ok\n"


async def test_a_worktree_and_its_repository(walled: Room, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    repository(origin)
    worktree = tmp_path / "worktree"
    git(origin, "worktree", "add", "--quiet", "-b", "mine", str(worktree))
    place = CommandPlace(root=worktree, writable=(origin / ".git",))
    process = await walled.start(
        f"echo 'gitdir: /tmp/evil' > .git; rm .git; touch {origin}/.git/hooks/pre-commit; "
        f"echo x >> {origin}/.git/config; echo x > {origin}/.git/worktrees/worktree/commondir; "
        f"echo two > file; git {ME} commit -qam two && echo done",
        place=place,
        cwd=worktree,
    )
    await walled.ended(process)
    assert (await walled.text(process.entry)).splitlines()[-1] == "done"
    assert (worktree / ".git").read_text().startswith(f"gitdir: {origin}")
    assert not (origin / ".git" / "hooks" / "pre-commit").exists()
    git(worktree, "status")


async def test_a_link_instead_of_git_is_refused(walled: Room, tmp_path: Path) -> None:
    repository(tmp_path / "origin")
    (walled.workspace / ".git").symlink_to(tmp_path / "origin" / ".git")
    with pytest.raises(CannotRun, match="link"):
        await walled.start("true")


@pytest.mark.parametrize(
    "setting",
    [
        "[core]\n\tworktree =\t/etc\n",
        "[core]\n\tworktree = ../../elsewhere\n",
        "[core] fsmonitor = evil\n",
        "[core]\n\tfsmonitor\n",
        '[remote "x"]\n\turl = ext:":"sh -c evil\n',
        '[remote "x"]\n\tuploadpack = evil\n',
        '[submodule "x"]\n\tupdate = !evil\n',
        '[includeIf "gitdir:/"]\n\tpath = evil\n',
    ],
)
def test_settings_that_may_not_stay(setting: str) -> None:
    assert len(harmless(setting)[1]) == 1


@pytest.mark.parametrize(
    "config, path",
    [
        ("[core]\n\thooksPath = .husky\n", ".husky"),
        ('[core] hookspath = "a b"\n', "a b"),
        ("[user]\n\thooksPath = no\n", None),
        ("", None),
        ("nonsense\n[[[=\n", None),
    ],
)
def test_the_setting_is_found(config: str, path: str | None) -> None:
    assert hooks_path(config) == path


MADE = {
    "a hook": "git init -q && echo 'touch owned' > .git/hooks/post-commit && chmod +x .git/hooks/post-commit",
    "a setting": "git init -q && git config core.fsmonitor 'touch owned' && git config user.name me",
    "a setting elsewhere": "git init -q && git config include.path ../evil",
    "hooks elsewhere": "git init -q && mkdir h && git config core.hooksPath h",
    "linked hooks": "git init -q && rm -r .git/hooks && mkdir h && ln -s ../h .git/hooks",
    "a remote that is a program": "git init -q && git remote add origin 'ext::sh -c touch% owned'",
    "another directory": "git init -q --separate-git-dir=other",
}


@pytest.mark.parametrize("trick", MADE)
async def test_what_a_command_made_names_no_program(walled: Room, trick: str) -> None:
    _, text = await walled.run(MADE[trick])
    assert "[holdfast]" in text
    assert ".disabled" in text
    git = walled.workspace / ".git"
    if git.is_dir():
        made = [path.name for path in (git / "hooks").iterdir()] if (git / "hooks").is_dir() else []
        assert all(name.endswith((".sample", ".disabled")) for name in made)
        assert not (git / "hooks").is_symlink()
        assert harmless((git / "config").read_text())[1] == []
    else:
        assert not git.exists()


async def test_an_ordinary_new_repository_stays_as_it_is(walled: Room) -> None:
    _, text = await walled.run(
        "git init -q && git config user.name me && git config user.email me@example.com && "
        "git remote add origin https://example.com/x.git && echo x > x && git add x && git commit -qm one"
    )
    assert text == ""
    _, text = await walled.run("echo y >> x && git commit -qam two && git log --format=%s")
    assert text == "two\none\n"


# Each in the commands of a list, one after the other: what one of them takes away must not leave the next
# one without protection.
IN_STEPS = {
    "no head for a while": [
        "mv .git/HEAD .git/H && mv .git/objects .git/O",
        (
            "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mv .git/H .git/HEAD; "
            "mv .git/O .git/objects"
        ),
    ],
    "a submodule without head": [
        "rm .git/modules/m/HEAD",
        (
            "echo evil > .git/modules/m/hooks/pre-commit; echo evil >> .git/modules/m/config; "
            "echo ref: refs/heads/main > .git/modules/m/HEAD"
        ),
    ],
    "a submodule made by hand": [
        (
            "git init -q made && mv made/.git .git/modules/new && "
            "git config -f .git/modules/new/config core.fsmonitor evil"
        )
    ],
    "a submodule too deep to be seen": [
        (
            "mkdir -p .git/modules/a/b/c/d/e/f/g && git init -q made && "
            "mv made/.git .git/modules/a/b/c/d/e/f/g/h "
            "&& echo gitdir: ../.git/modules/a/b/c/d/e/f/g/h > made/.git"
        ),
    ],
    "a worktree with other settings": [
        "mkdir -p evil .git/worktrees/w && echo ../../../evil > .git/worktrees/w/commondir",
    ],
}


@pytest.mark.parametrize("trick", IN_STEPS)
async def test_what_names_programs_cannot_be_changed_in_steps_either(walled: Room, trick: str) -> None:
    repository(walled.workspace)
    git(walled.workspace, "init", "--quiet", "elsewhere")
    (walled.workspace / ".git" / "modules").mkdir()
    (walled.workspace / "elsewhere" / ".git").rename(walled.workspace / ".git" / "modules" / "m")
    for command in IN_STEPS[trick]:
        await walled.run(command)
    assert named(walled.workspace) == []
    assert not (walled.workspace / "made" / ".git").exists()
    assert not (walled.workspace / ".git" / "worktrees" / "w" / "commondir").exists()


def named(workspace: Path) -> list[str]:
    """What in the workspace's repositories a person's git would run."""
    hooks = [path for path in workspace.rglob("hooks/*") if path.suffix not in (".sample", ".disabled")]
    settings = [path for path in workspace.rglob("config") if "evil" in path.read_text()]
    return sorted(str(path.relative_to(workspace)) for path in (*hooks, *settings))


async def test_a_repository_that_is_no_whole_one_is_put_aside(walled: Room) -> None:
    """The next command could complete it, and nothing in it would be protected."""
    _, text = await walled.run("mkdir .git")
    assert ".git is now .git.disabled" in text
    await walled.run("git init -q && echo evil > .git/hooks/pre-commit && git config core.fsmonitor evil")
    assert named(walled.workspace) == []


async def test_repositories_inside_of_a_workspace(walled: Room) -> None:
    inner = walled.workspace / "deep" / "inner"
    inner.parent.mkdir()
    repository(inner)
    before = (inner / ".git" / "config").read_text()
    _, text = await walled.run(
        "cd deep/inner; echo evil > .git/hooks/pre-commit; git config core.fsmonitor evil; mv .git other; "
        f"echo two > file; git {ME} commit -qam two && echo done"
    )
    assert text.splitlines()[-1] == "done"
    assert (inner / ".git" / "config").read_text() == before
    assert named(walled.workspace) == []


async def test_what_a_command_made_inside_can_be_changed_and_removed_and_is_looked_at_each_time(
    walled: Room,
) -> None:
    await walled.run("git init -q inner")
    _, text = await walled.run("git -C inner config core.fsmonitor evil && touch inner/.git/hooks/pre-commit")
    assert "pre-commit.disabled" in text
    assert named(walled.workspace) == []
    assert (await walled.run("git -C inner config user.name me && echo ok"))[1] == "ok\n"
    assert (await walled.run("rm -r inner && echo ok"))[1] == "ok\n"


WITHOUT_THE_NAME = {
    "made": ["git init -q --bare bare; echo evil > bare/hooks/pre-commit; echo evil >> bare/config"],
    "in steps": [
        "mkdir -p bare/objects bare/hooks; echo evil > bare/hooks/pre-commit; echo evil > bare/config",
        "mkdir bare/refs; echo ref: refs/heads/main > bare/HEAD",
    ],
    "changed": [
        "git init -q --bare bare",
        "echo evil > bare/hooks/pre-commit; git -C bare config core.fsmonitor evil",
    ],
    "led elsewhere": [
        "mkdir -p real/objects real/refs; echo evil > real/config",
        "mkdir bare; echo ref: refs/heads/main > bare/HEAD; echo ../real > bare/commondir",
    ],
}


@pytest.mark.parametrize("trick", WITHOUT_THE_NAME)
async def test_repositories_without_the_name(walled: Room, trick: str) -> None:
    """Git finds them from inside: a person's prompt that asks git is enough."""
    for command in WITHOUT_THE_NAME[trick]:
        await walled.run(command)
    assert named(walled.workspace / "bare") == []
    assert not (walled.workspace / "bare" / "commondir").exists()


async def test_a_persons_status_runs_nothing_of_a_repository_inside(walled: Room) -> None:
    """Git asks repositories inside of another one with their own settings, without being told to."""
    repository(walled.workspace)
    owned = walled.workspace / "owned"
    script = f"printf '#!/bin/sh\\ntouch {owned}\\n' > evil.sh; chmod +x evil.sh"
    make = f"git init -q inner; cd inner; touch x; git add x; git {ME} commit -qm x; cd ..; git add inner"
    setting = f"git config core.fsmonitor {walled.workspace}/evil.sh"
    await walled.run(f"{script}; {make} 2>/dev/null; cd inner && {setting}")
    git(walled.workspace, "status")
    assert not owned.exists()
    git(walled.workspace / "inner", "config", "core.fsmonitor", f"{walled.workspace}/evil.sh")
    git(walled.workspace, "status")
    assert owned.exists(), "the test would notice"


async def test_submodules_of_a_new_repository_stay_as_they_are(walled: Room) -> None:
    _, text = await walled.run(
        f"git init -q lib && git -C lib {ME} commit -q --allow-empty -m one && git init -q . && "
        "git -c protocol.file.allow=always submodule --quiet add ./lib sub && git -C sub log --format=%s"
    )
    assert text == "one\n"
    git(walled.workspace / "sub", "status")


async def test_a_git_that_leads_elsewhere(walled: Room) -> None:
    repository(walled.workspace)
    await walled.run("git init -q --separate-git-dir=hidden one; git init -q two; ln -s ../two/.git link")
    await walled.run("mkdir three && ln -s ../two/.git three/.git")
    assert not (walled.workspace / "one" / ".git").exists()
    assert not (walled.workspace / "three" / ".git").is_symlink()
    assert (walled.workspace / "two" / ".git").is_dir()


async def test_what_a_command_made_is_looked_at_after_the_server_was_killed_too(
    walled: Room, tmp_path: Path
) -> None:
    process = await walled.start("git init -q; echo made; exec sleep 1000", background=True)
    await walled.printed(process, "made")
    written = walled.data / "commands" / "running" / f"{process.entry.id}.json"
    kept = written.read_bytes()
    await walled.processes.stop(process, "stopped", grace_seconds=0)
    written.write_bytes(kept)  # as a killed server leaves it
    (walled.workspace / ".git" / "hooks" / "pre-commit").touch()
    assert [entry.id for entry in await walled.processes.end_left_over()] == [process.entry.id]
    assert named(walled.workspace) == []


@pytest.mark.parametrize("kind", WALLS)
async def test_what_a_command_makes_is_looked_at_while_it_runs(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind, look_seconds=0.05) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        workspace = found.workspace
        # A repository that is only half made is left alone: nobody's git takes it for one.
        process = await found.start(
            "git init -q made; mkdir -p half/.git/hooks; echo evil > half/.git/hooks/pre-commit; "
            "echo evil > made/.git/hooks/pre-commit; exec sleep 1000",
            background=True,
        )
        aside = workspace / "made" / ".git" / "hooks" / "pre-commit.disabled"
        await until(aside.exists, "the hook is put aside")
        assert not process.ended.done()
        assert named(workspace) == ["half/.git/hooks/pre-commit"]
        await found.processes.stop(process, "stopped", grace_seconds=0)
        assert not (workspace / "half" / ".git").exists()
        text = await found.text(process.entry)
        assert "pre-commit is now pre-commit.disabled" in text
        assert ".git is now .git.disabled" in text


@pytest.mark.parametrize("kind", WALLS)
async def test_a_command_that_puts_hooks_back_is_stopped(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind, look_seconds=0.05) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        process = await found.start(
            "git init -q; while true; do echo evil > .git/hooks/pre-commit; sleep 0.02; done", background=True
        )
        await found.ended(process)
        assert process.entry.end is not None
        assert process.entry.end.how == "stopped"
        assert "The command was stopped" in await found.text(process.entry)
        assert named(found.workspace) == []


CLOSED = """
import os, sys
from pathlib import Path
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.git.git_directories import GitDirectories
from holdfast.workspaces.git.new_repositories import put_aside
root = Path(sys.argv[1]).resolve() / "work"
for name in ("a", "b", "c/d"):
    git = root / name / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main")
    (git / "config").write_text("[core] fsmonitor = evil")
    (git / "hooks" / "pre-commit").write_text("evil")
(root / "a" / ".git" / "hooks").chmod(0o111)
(root / "b" / ".git" / "hooks").chmod(0o555)
(root / "b" / ".git").chmod(0o555)
(root / "c").chmod(0o111)
put_aside(CommandPlace(root=root), (), GitDirectories())
for name in ("a", "b", "c/d"):
    git = root / name / ".git"
    print(name, os.listdir(git / "hooks"), "evil" in (git / "config").read_text())
"""


@pytest.mark.heavy
def test_no_mode_of_a_directory_keeps_us_from_looking() -> None:
    """Root may look everywhere; a server that is another user has what its commands leave it."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    directory = Path(tempfile.mkdtemp(prefix="holdfast-"))
    try:
        os.chown(directory, STRANGER, STRANGER)
        done = subprocess.run(
            [strangers_python(), "-c", CLOSED, str(directory)],
            cwd=ROOT,
            env=strangers_environment(),
            user=STRANGER,
            group=STRANGER,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        shutil.rmtree(directory)
    expected = [f"{name} ['pre-commit.disabled'] False" for name in ("a", "b", "c/d")]
    assert [line for line in done.stdout.splitlines() if line in expected] == expected, done.stdout


def test_repositories_are_found_wherever_they_are(tmp_path: Path) -> None:
    root, data = tmp_path / "root", tmp_path / "root" / "data"
    for path in (root / "a" / "b", data / "c"):
        path.mkdir(parents=True)
    directories = GitDirectories((data,))
    place = CommandPlace(root=root)
    assert directories.look(place) == ()
    for path in (root / "a" / "b", data / "c"):
        git(path, "init", "--quiet")
    (root / "link").symlink_to(root / "a")
    for _ in range(2):
        assert [one.path for one in directories.look(place)] == [f"{root}/a/b/.git"]
    (root / "a" / "b" / ".git" / "modules").mkdir()
    for number in range(MOST + 1):
        (root / "a" / "b" / ".git" / "modules" / f"{number}" / "hooks").mkdir(parents=True)
    assert [one.state for one in directories.look(place)] == [TOO_MANY]


async def test_settings_elsewhere_cannot_be_led_to(walled: Room) -> None:
    """`commondir` makes git read another directory's settings."""
    repository(walled.workspace)
    await walled.run("mkdir evil && echo ../evil > .git/commondir")
    assert not (walled.workspace / ".git" / "commondir").exists()
