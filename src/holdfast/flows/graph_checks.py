"""The graph of a flow as a whole, checked: every name is known, there is no circle, batches and switches can
work. What is wrong is one sentence with line and column."""

from collections.abc import Iterable
from difflib import get_close_matches

from holdfast.flows.definition import Flow, SwitchStep
from holdfast.flows.placed_values import Placed

MAX_DEPS = 10_000


def check_graph(flow: Flow, listed: tuple[Placed, ...]) -> None:
    placed: dict[str, Placed] = {}
    for step, item in zip(flow.steps, listed, strict=True):
        if step.id in placed:
            raise item.members["id"].bad(
                f"there is a step {step.id!r} already, on line {placed[step.id].line}."
            )
        placed[step.id] = item
    _check_names(flow, placed)
    _check_circles(flow, placed)
    _check_switches(flow, placed)


def _check_names(flow: Flow, placed: dict[str, Placed]) -> None:
    many = 0
    for step in flow.steps:
        item = placed[step.id]
        for dep in item.members["deps"].one_or_more if "deps" in item.members else ():
            many += 1
            if dep.value == step.id:
                raise dep.bad(f"the step {step.id!r} depends on itself.")
            if dep.value not in placed:
                raise dep.bad(f"there is no step {dep.value!r}.{close_name(str(dep.value), placed)}")
        if len(set(step.deps)) != len(step.deps):
            raise item.members["deps"].bad("a step is named twice here.")
        if step.batch is not None and step.batch not in flow.batches:
            raise item.members["batch"].bad(
                f"there is no batch {step.batch!r}.{close_name(step.batch, flow.batches)}"
            )
    if many > MAX_DEPS:
        raise placed[flow.steps[-1].id].bad(f"the flow has more than {MAX_DEPS} dependencies.")


def _check_circles(flow: Flow, placed: dict[str, Placed]) -> None:
    """Removes steps in the order of their dependencies; those that remain are in a cycle or depend on one."""
    waits = {step.id: set(step.deps) for step in flow.steps}
    followers: dict[str, list[str]] = {}
    for step in flow.steps:
        for dep in step.deps:
            followers.setdefault(dep, []).append(step.id)
    free = [name for name, deps in waits.items() if not deps]
    while free:
        done = free.pop()
        for follower in followers.get(done, ()):
            waits[follower].discard(done)
            if not waits[follower]:
                free.append(follower)
    left = {name: deps for name, deps in waits.items() if deps}
    if left:
        circle = _circle(left)
        raise placed[circle[0]].members["deps"].bad(f"steps wait for each other: {' -> '.join(circle)}.")
    check_batches(flow, placed)


def _circle(left: dict[str, set[str]]) -> list[str]:
    at, way = min(left), list[str]()
    while at not in way:
        way.append(at)
        at = min(dep for dep in left[at] if dep in left)
    return [*way[way.index(at) :], at]


def check_batches(flow: Flow, placed: dict[str, Placed]) -> None:
    """A step outside that depends on a batch with a join waits for all of it, so no step of the batch may
    depend on that step."""
    followers: dict[str, list[str]] = {}
    for step in flow.steps:
        for dep in step.deps:
            followers.setdefault(dep, []).append(step.id)
    batch_of = {step.id: step.batch for step in flow.steps}
    for name, batch in flow.batches.items():
        if batch.join is None:
            continue
        members = {step.id for step in flow.steps if step.batch == name}
        reached: set[str] = set()
        waiting = [other for one in members for other in followers.get(one, ()) if batch_of[other] != name]
        while waiting:
            at = waiting.pop()
            if at not in reached:
                reached.add(at)
                waiting += followers.get(at, ())
        if back := sorted(reached & members):
            raise placed[back[0]].bad(
                f"the step {back[0]!r} waits for a step that waits for its batch {name!r}, which has a join."
            )


def _check_switches(flow: Flow, placed: dict[str, Placed]) -> None:
    deps = {step.id: step.deps for step in flow.steps}
    for step in flow.steps:
        if not isinstance(step, SwitchStep):
            continue
        for named in _targets(placed[step.id]):
            target = str(named.value)
            if target not in placed:
                raise named.bad(f"there is no step {target!r}.{close_name(target, placed)}")
            if step.id not in deps[target]:
                raise named.bad(
                    f"the step {target!r} must have {step.id!r} in its deps to follow this switch."
                )


def _targets(item: Placed) -> Iterable[Placed]:
    if "cases" in item.members:
        for case in item.members["cases"].items:
            yield from case.members["steps"].one_or_more
    if "default" in item.members:
        yield from item.members["default"].one_or_more


def close_name(name: str, names: Iterable[str]) -> str:
    found = get_close_matches(name[:100], list(names)[:2000], n=1)
    return f" Do you mean {found[0]!r}?" if found else ""
