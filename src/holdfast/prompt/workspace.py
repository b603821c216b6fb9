"""What agents are told about their workspace: the instructions that people wrote, and the available skills.
A chat without a workspace has only the server's instructions."""

from collections.abc import Callable, Iterable
from pathlib import Path

from holdfast.prompt.sources import PromptChat, PromptPlace
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.git.branch import read_branch
from holdfast.workspaces.places.chat_directory import Workspaces
from holdfast.workspaces.places.instructions import LIMIT_BYTES, Instructions, read_instructions
from holdfast.workspaces.places.skills import Skill, list_skills

# Records that there are none, so that they are not searched for before every model call.
NO_INSTRUCTIONS = "This workspace has no instructions of its own."


class Workplace:
    """The workspace as it is when the chat first works there; it enters history once."""

    place: PromptPlace = "instructions"

    def __init__(self, workspaces: Workspaces, rules: Callable[[], tuple[str, ...]]) -> None:
        """`rules` are the sentences about commands and approvals."""
        self._workspaces = workspaces
        self._rules = rules

    async def text(self, where: PromptChat) -> str:
        if where.workspace_id is None:
            return ""
        root = await self._workspaces.root_of(where)
        branch = await blocking(lambda: read_branch(root))
        return workplace_text(str(root.path), branch, self._rules())


def workplace_text(directory: str, branch: str | None, rules: Iterable[str]) -> str:
    git = "It is not the top of a git repository." if branch is None else f"It is a git repository, {branch}."
    return "\n".join((f"Working directory: {directory}", git, *rules))


def command_rules(*, walled: bool, network: str, approval: str) -> tuple[str, ...]:
    """The rules for commands here, one sentence each."""
    if not walled:
        return ("There is no sandbox on this machine: a person approves every command before it runs.",)
    reach = {
        "none": "without network",
        "internet": "with the internet, but without this machine's own and private addresses",
        "host": "with all the network that this machine has",
    }[network]
    sentences = [
        (
            "Commands run in a sandbox: they change the working directory and their own temporary and home "
            f"directories alone, {reach}."
        )
    ]
    match approval:
        case "ask":
            sentences.append("A person approves each command before it runs.")
        case "deny":
            sentences.append("Commands are not allowed here.")
        case _:
            sentences.append(
                "Commands need no approval; a person is asked about anything that reaches outside the "
                "sandbox."
            )
    return tuple(sentences)


class InstructionFiles:
    """`config` is the directory with the server's own AGENTS.md."""

    place: PromptPlace = "instructions"

    def __init__(self, workspaces: Workspaces, config: Path) -> None:
        self._workspaces = workspaces
        self._config = config

    async def text(self, where: PromptChat) -> str:
        root = None if where.workspace_id is None else await self._workspaces.root_of(where)
        return instructions_text(await blocking(lambda: read_instructions(self._config, root)))


class SkillList:
    place: PromptPlace = "skills"

    def __init__(self, workspaces: Workspaces, own: tuple[Path, ...] = ()) -> None:
        """`own`: the directories of the person who runs the server."""
        self._workspaces = workspaces
        self._own = own

    async def text(self, where: PromptChat) -> str:
        root = None if where.workspace_id is None else await self._workspaces.root_of(where)
        return skills_text(await blocking(lambda: list_skills(root, self._own)))


def instructions_text(found: Iterable[Instructions]) -> str:
    """Each file with its source; empty if there are none."""
    return "\n\n".join(f"Instructions from {each.source}:\n\n{_with_cut(each)}" for each in found)


def skills_text(skills: Iterable[Skill]) -> str:
    """Names and descriptions; an agent reads the rest when it needs it."""
    names = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills)
    return f"Skills (read one with read_skill before such a task):\n{names}" if names else ""


def _with_cut(each: Instructions) -> str:
    if not each.truncated:
        return each.text
    return f"{each.text}\n[cut after {LIMIT_BYTES // 1024} KiB; read {each.source} for the rest]"
