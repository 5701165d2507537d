"""Write drafted questions behind those of an experiment, whose lines stay as they are."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.core.files import write_text
from workbench.core.formatting import share
from workbench.datasets.formats.golden import QUESTION_FILES, jsonl
from workbench.generation.drafting.drafts import DraftQuestion
from workbench.records import ACCEPTED_BY, PROVENANCE, SYNTHETIC

# Increased when the same documents begin to give other drafts.
_VERSION = 3
# Where a model would be named.
RULES = f"rules {_VERSION}, no model"


def existing_questions(folder: Path, about: Collection[str] = ()) -> list[str]:
    """Return the texts of an experiment's questions, without the drafts of rules `about` these documents, which an interrupted run has left.

    Lines that are not JSON have no text; the check of the dataset reports them.
    """
    return [text for row in _rows(folder) if isinstance(text := row.get("query"), str) and not _drafted_about(row, about)]


def _drafted_about(row: Mapping[str, Any], about: Collection[str]) -> bool:
    provenance, documents = row.get(PROVENANCE), row.get("relevant_doc_ids")
    drafted = isinstance(provenance, dict) and provenance.get("model") == RULES
    return drafted and isinstance(documents, list) and any(doc_id in about for doc_id in documents)


def append_questions(folder: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    """Append the questions whose ids do not exist yet. Returns how many were appended."""
    known: Collection[str] = {str(row.get("query_id")) for row in _rows(folder)}
    new = [row for row in rows if row["query_id"] not in known]
    if new:
        before = _text(folder)
        write_text(folder / QUESTION_FILES[0], before + ("\n" if before and not before.endswith("\n") else "") + jsonl(new))
    return len(new)


def question_row(draft: DraftQuestion, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a draft as a line of questions.jsonl, marked as synthetic."""
    spans = [
        {"doc_id": span.doc_id, "start": span.start, "end": span.end, "text": texts[span.doc_id][span.start : span.end]}
        for span in draft.spans
    ]
    provenance = {
        "part": "question",
        "model": RULES,
        "rule": draft.rule,
        "headings": list(draft.headings),
        "word_overlap": round(draft.overlap, 2),
    }
    return {
        "query_id": draft.query_id,
        "query": draft.question,
        "relevant_doc_ids": list(dict.fromkeys(span.doc_id for span in draft.spans)),
        "evidence": [spans],
        SYNTHETIC: True,
        ACCEPTED_BY: "",
        PROVENANCE: provenance,
    }


def overlap_sentence(drafts: Sequence[DraftQuestion]) -> str:
    """Say how many words of the drafts are words of their evidence, and what follows from that."""
    mean = sum(draft.overlap for draft in drafts) / max(1, len(drafts))
    return (
        f"{share(mean, 1)} of their words are words of their evidence, which favours lexical search such as BM25, and "
        "no decision should rest on them before a person has accepted or rewritten them"
    )


def _rows(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for line in _text(folder).split("\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _text(folder: Path) -> str:
    file = folder / QUESTION_FILES[0]
    return file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
