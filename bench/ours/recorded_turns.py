"""Durable turns with the debug record on, as a contender: `python -m bench.ours.recorded_turns`."""

from functools import partial

from bench.ours.turns import run
from bench.serve import serve

if __name__ == "__main__":
    serve(partial(run, recorded=True))
