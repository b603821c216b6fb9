"""Where this package starts programs. Each place is named here with what it runs, so that no new one comes
along unnoticed: a program that works on what agents can write runs behind the wall, whoever asked for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import holdfast

SOURCES = Path(holdfast.__file__).parent
# What starts a program: of `os`, and by whatever name it is called.
OF_SYSTEM = {
    *("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp"),
    *(
        f"{kind}{how}"
        for kind in ("exec", "spawn")
        for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
    ),
}
STARTS = {
    *("Popen", "start_process", "open_process", "run_process", "ProcessPoolExecutor"),
    *("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"),
}
MODULES = {"multiprocessing", "pty"}

# The wall itself, and what is behind it.
BEHIND = {
    "workspaces/commands/walled_programs.py": "git, ripgrep, searches, pictures: behind the wall",
    "workspaces/commands/process_thread.py": "commands of agents and checks: behind the wall, or approved",
    "workspaces/commands/piped_programs.py": "MCP servers: behind the wall, or as an admin chose",
    "workspaces/commands/unwalled_runner.py": "becomes a command that a person approved, without a wall",
    "workspaces/commands/inside/main.py": "becomes the command, behind the wall",
    "workspaces/commands/inside/rights.py": "holds a user namespace, runs nothing",
    "workspaces/commands/wall_probe.py": "tries whether a wall stands, in directories of its own",
    "workspaces/commands/wall_promises.py": "tries what the wall keeps, in directories of its own",
    "workspaces/commands/command_user.py": "holds a user namespace, sees no workspace",
    "workspaces/commands/networks.py": "holds a network, sees no workspace",
    "workspaces/search/search_process.py": "ripgrep, in a process that is behind the wall",
    "scripts/reader.py": "reads a script that it is given as text, behind a wall of its own",
    "flows/evaluator.py": "reads flows and evaluates their expressions, behind a wall of its own",
    "flows/evaluator_process.py": "forks, behind that wall, for each text it is given",
    "scripts/engines/sandbox.py": "runs a script, behind a wall of its own",
    "scripts/engines/wall.py": "tries whether that wall stands",
}
# These see no program that agents can choose, and no workspace by its name.
WITHOUT = {
    "core/subprocesses.py": "starts what the others here name",
    "scripts/engines/python_image.py": "compiles the interpreter of scripts, which comes with us",
    "workspaces/search/searches.py": "where there is no wall: a search by descriptor, without ripgrep",
    "workspaces/search/ripgrep.py": "asks ripgrep for its version",
    "files/thumbnails.py": "where there is no wall: a picture that was copied before, by descriptor",
    "store/postgres/upkeep.py": "pg_dump, for `holdfast db backup`",
}


def starts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="subprocess"), attr=name)):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)) if name in OF_SYSTEM:
                yield name
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in STARTS:
                yield name
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in (*MODULES, "subprocess"):
                yield module
            case _:
                pass


def test_every_place_that_starts_programs_is_known() -> None:
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if any(starts(ast.parse(path.read_text(encoding="utf-8"))))
        # The command line runs as the person who typed it, where they are.
        and not path.is_relative_to(SOURCES / "cli")
    }
    assert found == BEHIND.keys() | WITHOUT.keys()
