"""What agents are told about their workspace: the instructions that people wrote, and the available skills.
A chat without a workspace has only the server's instructions."""

from collections.abc import Callable, Iterable
from pathlib import Path

from holdfast.prompt.sources import Passage, PromptChat, PromptPlace
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.git.branch import read_branch
from holdfast.workspaces.places.chat_directory import Workspaces
from holdfast.workspaces.places.instructions import LIMIT_BYTES, Instructions, read_instructions
from holdfast.workspaces.places.skills import BrokenSkill, Skill, find_skills

# Records that there are none, so that they are not searched for before every model call.
NO_INSTRUCTIONS = "This workspace has no instructions of its own."


class Workplace:
    """The workspace as it is when the chat first works there; it enters history once."""

    place: PromptPlace = "instructions"

    def __init__(self, workspaces: Workspaces, rules: Callable[[], tuple[str, ...]]) -> None:
        """`rules` are the sentences about commands and approvals."""
        self._workspaces = workspaces
        self._rules = rules

    async def passages(self, where: PromptChat) -> tuple[Passage, ...]:
        if where.workspace_id is None:
            return ()
        root = await self._workspaces.root_of(where)
        branch = await blocking(lambda: read_branch(root))
        text = workplace_text(str(root.path), branch, self._rules())
        # Another branch is no change of what people wrote.
        return (Passage(label="working directory", text=text, watched=False),)


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

    async def passages(self, where: PromptChat) -> tuple[Passage, ...]:
        root = None if where.workspace_id is None else await self._workspaces.root_of(where)
        return instruction_passages(await blocking(lambda: read_instructions(self._config, root)))


class SkillList:
    place: PromptPlace = "skills"

    def __init__(self, workspaces: Workspaces, own: tuple[Path, ...] = ()) -> None:
        """`own`: the directories of the person who runs the server."""
        self._workspaces = workspaces
        self._own = own

    async def passages(self, where: PromptChat) -> tuple[Passage, ...]:
        root = None if where.workspace_id is None else await self._workspaces.root_of(where)
        skills, broken = await blocking(lambda: find_skills(root, self._own))
        return skill_passages(skills, broken)


def instruction_passages(found: Iterable[Instructions]) -> tuple[Passage, ...]:
    """Each file with its source."""
    passages: list[Passage] = []
    for each in found:
        between = "\n\n" if each.text and any(passage.text for passage in passages) else ""
        passages.append(_file(each, between))
    return tuple(passages)


def _file(each: Instructions, between: str) -> Passage:
    if not each.text:
        return Passage(label=each.source, error=each.error)
    text, error = each.text, each.error
    if each.truncated:
        text = f"{text}\n[cut after {LIMIT_BYTES // 1024} KiB; read {each.source} for the rest]"
        error = f"Only its first {LIMIT_BYTES // 1024} KiB are used."
    return Passage(
        label=each.source, text=f"{between}Instructions from {each.source}:\n\n{text}", error=error
    )


def skill_passages(skills: Iterable[Skill], broken: Iterable[BrokenSkill] = ()) -> tuple[Passage, ...]:
    """Names and descriptions; an agent reads the rest when it needs it."""
    head = "Skills (read one with read_skill before such a task):"
    lines = [Passage(label=skill.name, text=f"\n- {skill.name}: {skill.description}") for skill in skills]
    wrong = (Passage(label=each.folder, error=each.error) for each in broken)
    return (*((Passage(label="list of skills", text=head, watched=False), *lines) if lines else ()), *wrong)
