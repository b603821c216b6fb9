"""code: a map of 10 000 source files in ten languages, the first one and the next, beside what ripgrep needs
to read them."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender

RIPGREP = Contender("ripgrep", "bench.peers.ripgrep_search", "peers")
OURS = Contender("holdfast", "bench.ours.mapping")
FILES = 10_000
EACH = 5


def cases(scale: Scale) -> list[Case]:
    files = scale.some(FILES)
    against = (Against(entry="ripgrep", words="ripgrep's time, the first", figure="first s"),)
    ours = Entry(
        name="holdfast",
        what=f"{files} files",
        contender=OURS,
        work="code",
        at_once=1,
        each=EACH,
        files=files,
        against=against if scale.peers else (),
        goals=(Goal(words="again within 1 s", figure="again s", at_most=1),),
    )
    peer = Entry(
        name="ripgrep",
        what=f"{files} files",
        contender=RIPGREP,
        work="code",
        at_once=1,
        each=EACH,
        files=files,
    )
    return [
        Case(workload="code", engine="sqlite", entries=(peer, ours) if scale.peers else (ours,), rounds=3)
    ]
