"""How often refusals are missed, and other answers taken for refusals: on sentences of this project, answers of people and sentences of collections."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.components.answering.refusals import is_refusal
from workbench.components.chunking.sentences import sentences
from workbench.core.environment import data_folder
from workbench.measures.statistics.intervals import wilson

Figures = dict[str, Any]
SENTENCES = Path("benchmarks/judging/refusals.jsonl")
_COLLECTIONS = ("clapnq", "covid-qa", "nfcorpus", "mtrag-un", "chroma-chunking")
_NEGATIVE = re.compile(
    r"\b(?:no|not|none|never|nothing|neither|nor|nobody|without|unknown|unclear|insufficient|cannot|lacks?|unable)\b|n't\b", re.IGNORECASE
)
_LENGTHS, _MOST, _CHARACTERS = range(10, 400), 2000, 20_000


def sentences_of(part: str) -> list[Figures]:
    """The sentences of this project: `tuning`, by which the patterns were written, or `held-out`, which were written after them."""
    return [row for row in map(json.loads, SENTENCES.read_text("utf-8").splitlines()) if row["set"] == part]


def measured(answers: Path | None) -> list[Figures]:
    """The errors on each set whose data are there. `answers` is the file generation_tasks/reference.jsonl of MTRAG-UN."""
    rows = []
    for part in ("held-out", "tuning"):
        for english in (True, False):
            chosen = [row for row in sentences_of(part) if (row["language"] == "en") is english]
            name = f"{part} sentences, {'English' if english else 'six other languages'}"
            rows.append(_errors(name, ((row["text"], row.get("question", ""), row["refusal"]) for row in chosen)))
    if answers:
        rows.append(_errors("answers of people (MTRAG-UN), English", _of_people(answers)))
    if all((data_folder() / name / "corpus.jsonl").is_file() for name in _COLLECTIONS):
        texts = (text for name in _COLLECTIONS for text in _negative_sentences(data_folder() / name / "corpus.jsonl"))
        rows.append(_errors("negative sentences of five collections, English", ((text, "", False) for text in texts)))
    return rows


def _errors(name: str, cases: Iterable[tuple[str, str, bool]]) -> Figures:
    wrong: dict[bool, list[bool]] = {True: [], False: []}
    for text, question, refusal in cases:
        wrong[refusal].append(is_refusal(text, question=question) is not refusal)
    return {"set": name, "missed": _share(wrong[True]), "taken": _share(wrong[False])}


def _share(wrong: list[bool]) -> list[float] | None:
    """The number of errors, of cases, and the limits of the share; None without cases."""
    if not wrong:
        return None
    low, high = wilson(np.mean(wrong), len(wrong))
    return [sum(wrong), len(wrong), round(float(low), 4), round(float(high), 4)]


def _of_people(path: Path) -> Iterator[tuple[str, str, bool]]:
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        kind = row["answerability"][0]
        if kind in ("ANSWERABLE", "UNANSWERABLE"):
            yield row["targets"][0]["text"], row["input"][-1]["text"], kind == "UNANSWERABLE"


def _negative_sentences(path: Path) -> list[str]:
    found = []
    for text in (json.loads(line)["text"][:_CHARACTERS] for line in path.read_text("utf-8").splitlines()):
        cut = (text[start:end].strip() for start, end in sentences(text))
        found += [sentence for sentence in cut if len(sentence) in _LENGTHS and _NEGATIVE.search(sentence)]
        if len(found) >= _MOST:
            break
    return found[:_MOST]
