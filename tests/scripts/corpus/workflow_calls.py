"""Uses other workflows as steps: their results are gathered, and what fails is told apart from what is empty."""

meta = {
    "name": "workflow-calls",
    "description": "Run other workflows per package, collect results and failures, and sum up",
    "phases": [{"title": "Run"}, {"title": "Sum up"}],
}

from collections import UserDict
from dataclasses import dataclass, replace
from functools import singledispatch


@dataclass(frozen=True)
class Done:
    package: str
    value: object


@dataclass(frozen=True)
class Failed:
    package: str
    reason: str
    tries: int = 1


class Results(UserDict):
    def __setitem__(self, key, value):
        if key in self.data:
            raise KeyError(f"{key} was run twice")
        super().__setitem__(key, value)


@singledispatch
def line(result):
    raise TypeError(f"{type(result).__name__} is no result")


@line.register
def _(result: Done):
    return f"{result.package}: {json.dumps(result.value, sort_keys=True)}"


@line.register
def _(result: Failed):
    return f"{result.package}: failed after {result.tries} tries: {result.reason}"


async def run(package):
    failure = Failed(package, "never tried", 0)
    for number in (1, 2):
        try:
            value = await workflow(
                (args or {}).get("workflow", "review-code"), {"path": package, "try": number}
            )
        except RuntimeError as error:
            failure = replace(failure, reason=str(error), tries=number)
        else:
            return Done(package, value)
    return failure


phase("Run")
packages = (args or {}).get("packages", ["core", "store", "worker"])
results = Results()
for done in asyncio.as_completed([run(package) for package in packages]):
    result = await done
    results[result.package] = result
lines = [line(results[package]) for package in packages]
print(*lines, sep="\n")

phase("Sum up")
good = [result for result in results.values() if isinstance(result, Done)]
said = await agent("Sum up:\n" + "\n".join(lines), label="sum up")
return {"done": sorted(one.package for one in good), "failed": len(results) - len(good), "said": said}
