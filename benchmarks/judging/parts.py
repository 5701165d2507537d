"""Other measurements of the handbook's recorded answers: how they are split into claims, and what flags say about claims."""

import json
from typing import Any

from benchmarks.judging.labels import HANDBOOK, LabelledSet
from workbench.components.answering.base import AnswerResources
from workbench.components.judging.overlap import FLAGS, OverlapJudge
from workbench.components.judging.sentence_splitter import claims

Figures = dict[str, Any]
# The share of a labelled claim's words that must be in one claim.
_WORDS = 0.8


def splitter() -> Figures:
    """The share of labelled claims whose words are in one claim, and claims per answer, over the answers with labelled claims."""
    rows = [
        row for line in (HANDBOOK / "recorded" / "answers.jsonl").read_text("utf-8").splitlines() if (row := json.loads(line))["claims"]
    ]
    found = alone = made = 0
    for row in rows:
        places = [(claim.start, claim.end) for claim in claims(row["answer"])]
        made += len(places)
        owners = [owner for claim in row["claims"] if (owner := _owner(row["answer"], claim["said"], places)) is not None]
        found += len(owners)
        alone += sum(owners.count(owner) == 1 for owner in owners)
    labelled = sum(len(row["claims"]) for row in rows)
    return {"answers": len(rows), "labelled": labelled, "found": found, "alone": alone, "claims": made}


def _owner(answer: str, said: str, places: list[tuple[int, int]]) -> int | None:
    start = answer.index(said)
    end = start + len(said)
    shared = [min(end, high) - max(start, low) for low, high in places]
    best = max(range(len(places)), key=shared.__getitem__, default=None)
    return best if best is not None and shared[best] >= _WORDS * len(said) else None


def flagged(labelled: LabelledSet, resources: AnswerResources) -> list[Figures]:
    """By flag, and for claims without any: how many claims have it, and how many of these are not supported."""
    items = list(labelled.items())
    requests = [request for item in items for request in item.requests]
    judged = [judgement.flags for _, judgement in sorted(OverlapJudge().judge(requests, resources), key=lambda yielded: yielded[0])]
    rows = []
    for flag in (*FLAGS, ""):
        having = [item for item, flags in zip(items, judged, strict=True) if (flag in flags if flag else not flags)]
        rows.append({"flag": flag or "none", "claims": len(having), "not_supported": sum(not item.approve for item in having)})
    return rows
