"""search: names and lines in a tree of 100 000 files, compared with ripgrep alone."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender
from bench.task import Work
from bench.trees import QUESTIONS

RIPGREP = Contender("ripgrep", "bench.peers.ripgrep_search", "peers")
OURS = Contender("holdfast", "bench.ours.searching")
FILES = 100_000


def cases(scale: Scale) -> list[Case]:
    files = scale.some(FILES)
    peers = (_entry(RIPGREP, "ripgrep", files, "search"),) if scale.peers else ()
    against = (Against(entry="ripgrep", words="ripgrep"),) if scale.peers else ()
    goal = Goal(words="0.5 x ripgrep", entries=("ripgrep",), at_least=0.5)
    ours = _entry(OURS, "holdfast", files, "search", against, (goal,) if scale.peers else ())
    alone = _entry(OURS, "without it", files, "search_alone", against)
    return [Case(workload="search", engine="sqlite", entries=(*peers, ours, alone), rounds=3)]


def _entry(
    contender: Contender,
    name: str,
    files: int,
    work: Work,
    against: tuple[Against, ...] = (),
    goals: tuple[Goal, ...] = (),
) -> Entry:
    how = "without ripgrep" if work == "search_alone" else "with ripgrep" if contender is OURS else "itself"
    return Entry(
        name=name,
        what=f"{files} files, {how}",
        contender=contender,
        work=work,
        at_once=1,
        each=2 * len(QUESTIONS),
        files=files,
        against=against,
        goals=goals,
    )
