"""Builds a small graph of what a code base knows: entities, relations, and paths between two of them."""

meta = {
    "name": "knowledge-graph",
    "description": "Extract entities and relations from files, merge them, answer how two things are connected",
    "phases": [{"title": "Extract"}, {"title": "Merge"}, {"title": "Explain"}],
}

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from itertools import pairwise

RELATIONS = {
    "type": "object",
    "required": ["relations"],
    "properties": {
        "relations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["from", "to"],
                "properties": {
                    "from": {"enum": ["worker"]},
                    "to": {"enum": ["store"]},
                    "kind": {"type": "string"},
                },
            },
        }
    },
}


class Graph(ABC):
    @abstractmethod
    def neighbours(self, node): ...

    def path(self, start, goal):
        came, queue = {start: None}, deque([start])
        while queue:
            node = queue.popleft()
            if node == goal:
                return list(self._back(came, goal))[::-1]
            for other in sorted(self.neighbours(node)):
                if other not in came:
                    came[other] = node
                    queue.append(other)
        return None

    @staticmethod
    def _back(came, node):
        while node is not None:
            yield node
            node = came[node]


class Relations(Graph):
    def __init__(self):
        self._edges = defaultdict(dict)

    def add(self, start, end, kind):
        self._edges[start].setdefault(end, set()).add(kind)
        self._edges[end].setdefault(start, set()).add(f"~{kind}")

    def neighbours(self, node):
        yield from self._edges[node]

    def __len__(self):
        return len(self._edges)


files = (args or {}).get("files", ["worker.py", "store.py", "bus.py"])
phase("Extract")
found = await parallel(
    [lambda f=f: agent(f"Which parts does {f} connect?", label=f, schema=RELATIONS) for f in files]
)

phase("Merge")
graph = Relations()
for file, answer in zip(files, found):
    for relation in (answer or {}).get("relations", []):
        graph.add(relation["from"], relation["to"], file)
graph.add("store", "bus", "hints")
path = graph.path("worker", "bus")

phase("Explain")
hops = [f"{a} -> {b}" for a, b in pairwise(path or [])]
explained = await agent("Explain: " + ", ".join(hops)) if hops else None
return {"nodes": len(graph), "path": path, "explained": explained}
