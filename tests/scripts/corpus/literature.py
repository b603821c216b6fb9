"""Collects papers, screens them by two readers, settles disagreements, and writes a synthesis with a table."""

meta = {
    "name": "literature",
    "description": "Search, screen twice, settle, extract, synthesize",
    "phases": [{"title": "Search"}, {"title": "Screen"}, {"title": "Extract"}, {"title": "Synthesize"}],
}

import csv
import io
from datetime import date, timedelta
from difflib import SequenceMatcher

PAPERS = {
    "type": "object",
    "required": ["papers"],
    "properties": {
        "papers": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["title", "published"],
                "properties": {
                    "title": {"type": "string"},
                    "published": {"enum": ["2025-06-01", "2019-01-01"]},
                },
            },
        }
    },
}
VOTE = {"type": "object", "required": ["include"], "properties": {"include": {"type": "boolean"}}}
today = date.fromisoformat((args or {}).get("today", "2026-01-01"))
since = today - timedelta(days=365 * 3)
queries = (args or {}).get("queries", ["durable execution", "agent evaluation"])


def alike(a, b):
    return SequenceMatcher(None, a.casefold(), b.casefold()).ratio() > 0.95


def distinct(papers):
    kept = []
    for paper in papers:
        if not any(alike(paper["title"], other["title"]) for other in kept):
            kept.append(paper)
    return kept


phase("Search")
lists = await parallel([lambda q=q: agent(f"Find papers on {q}.", label=q, schema=PAPERS) for q in queries])
papers = distinct(paper for found in lists if found for paper in found["papers"])
recent = [paper for paper in papers if date.fromisoformat(paper["published"]) >= since]
log(f"{len(papers)} papers, {len(recent)} since {since:%Y-%m-%d}")


async def screen(paper):
    ask = [
        agent(f"Reader {n}: include “{paper['title']}”?", label=f"reader {n}", schema=VOTE) for n in (1, 2)
    ]
    votes = [vote["include"] for vote in await asyncio.gather(*ask) if vote]
    if len(set(votes)) == 1:
        return votes[0]
    third = await agent(f"Settle: include “{paper['title']}”?", schema=VOTE, label="settle")
    return bool(third and third["include"])


phase("Screen")
chosen = [paper for paper, include in zip(recent, await asyncio.gather(*map(screen, recent))) if include]
phase("Extract")
facts = await parallel([lambda p=p: agent(f"Main result of {p['title']}?", label=p["title"]) for p in chosen])
table = io.StringIO()
writer = csv.writer(table)
writer.writerows(
    [("title", "year", "result"), *((p["title"], p["published"][:4], f) for p, f in zip(chosen, facts))]
)
phase("Synthesize")
synthesis = await agent(f"Synthesize:\n{table.getvalue()}") if chosen else None
return {
    "included": len(chosen),
    "excluded": len(papers) - len(chosen),
    "table": table.getvalue(),
    "synthesis": synthesis,
}
