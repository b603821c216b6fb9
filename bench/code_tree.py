"""A tree of source code, made once for all who read it: functions in ten languages that call each other.
Standard library alone."""

import random
import shutil
from pathlib import Path

from bench.task import Task

PER_DIRECTORY = 50
FUNCTIONS = 8

# By ending: a function with this name that calls another one.
LANGUAGES: dict[str, str] = {
    "py": "def {name}(value):\n    # adds one\n    return {other}(value) + 1\n",
    "js": "export function {name}(value) {{\n  return {other}(value) + 1\n}}\n",
    "ts": "export function {name}(value: number): number {{\n  return {other}(value) + 1\n}}\n",
    "go": "func {name}(value int) int {{\n\treturn {other}(value) + 1\n}}\n",
    "rs": "pub fn {name}(value: u64) -> u64 {{\n    {other}(value) + 1\n}}\n",
    "java": "class C{name} {{\n  static int {name}(int value) {{ return {other}(value) + 1; }}\n}}\n",
    "c": "int {name}(int value) {{\n  return {other}(value) + 1;\n}}\n",
    "cpp": "int {name}(int value) {{\n  return {other}(value) + 1;\n}}\n",
    "rb": "def {name}(value)\n  {other}(value) + 1\nend\n",
    "php": "function {name}($value) {{\n  return {other}($value) + 1;\n}}\n",
}
_BEGINNINGS = {"go": "package part\n\n", "php": "<?php\n"}


def code_tree_for(task: Task) -> Path:
    """Beside the directories of the single measurements: it goes with them, at the end."""
    tree = Path(task.database).parent / f"code-{task.files}"
    if not tree.exists():
        making = tree.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        make_code(making, task.files)
        making.rename(tree)
    return tree


def make_code(root: Path, files: int) -> None:
    chance = random.Random(1)
    endings = tuple(LANGUAGES)
    for number in range(files):
        directory = root / f"part_{number // PER_DIRECTORY:04}"
        if number % PER_DIRECTORY == 0:
            directory.mkdir(parents=True)
        ending = endings[number % len(endings)]
        functions = [
            LANGUAGES[ending].format(
                name=f"step_{number}_{index}",
                # Few are called by many, as in real code.
                other=f"step_{int(files * chance.random() ** 3)}_{chance.randrange(FUNCTIONS)}",
            )
            for index in range(FUNCTIONS)
        ]
        text = _BEGINNINGS.get(ending, "") + "\n".join(functions)
        (directory / f"file_{number:05}.{ending}").write_text(text)
