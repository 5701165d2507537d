"""Fingerprints of single questions, labels and documents of a run, and what differs between two sides."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workbench.analysis.passages import text_of
from workbench.core.fingerprint import fingerprint
from workbench.errors import InputError
from workbench.results.run_tables import WHERE, RunTables

_DIGITS = 12


@dataclass(frozen=True)
class QuestionPrint:
    """The fingerprints of a question's text, of its labels (relevant documents, evidence, expected answer, filter on documents) and of its fields.

    Fields define slices. They are empty if an older version wrote the baseline.
    """

    text: str
    labels: str
    fields: str = ""


@dataclass(frozen=True)
class Differences:
    """Differences between the inputs of a run and of a baseline: ids of questions and documents.

    `questions` are missing on either side or have another text, `labels` have other labels, `fields` other fields, such as the type by which slices are
    made. `corpus`: the documents differ; without their fingerprints nobody knows which. `settings` are the settings of the configuration that differ,
    with both values.
    """

    questions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    corpus: bool = False
    settings: tuple[str, ...] = ()


def question_prints(run: RunTables) -> dict[str, QuestionPrint]:
    """Return the fingerprints of each question, in the dataset's order."""
    judged = _grouped(run.judgements, ["doc_id", "relevance"])
    needed = _grouped(_by_first_alternative(run), ["first", "doc_id", "words"])
    prints: dict[str, QuestionPrint] = {}
    for row in run.questions[["query_id", "text", "answerable", "answer", "metadata"]].itertuples(index=False):
        name, fields = str(row.query_id), json.loads(str(row.metadata))
        labels = [bool(row.answerable), str(row.answer), judged.get(name, []), needed.get(name, [])]
        labels += [fields[WHERE]] if WHERE in fields else []
        prints[name] = QuestionPrint(fingerprint(row.text)[:_DIGITS], fingerprint(*labels)[:_DIGITS], fingerprint(fields)[:_DIGITS])
    return prints


def _by_first_alternative(run: RunTables) -> pd.DataFrame:
    """Name pieces of evidence by their words, and needs by their first alternative.

    Positions move when a document is edited, and numbers of needs when a question is added before them. Neither changes a label.
    """
    first: dict[int, str] = {}
    columns = run.evidence[["need", "doc_id", "start", "end"]]
    words = [_words(run, *place) for place in columns[["doc_id", "start", "end"]].itertuples(index=False)]
    for need, doc_id, text in zip(columns["need"], columns["doc_id"], words, strict=True):
        first.setdefault(need, f"{doc_id}: {text}")
    return run.evidence.assign(words=words, first=[first[need] for need in columns["need"]])


def _words(run: RunTables, doc_id: str, start: int, end: int) -> str:
    """Return the words of a piece of evidence, its place if the run does not have its text."""
    try:
        return " ".join(text_of(run, doc_id, start, end).split())
    except InputError:
        return f"{start}-{end}"


def document_prints(run: RunTables) -> dict[str, str]:
    """Return the fingerprint of each document. Empty for a run of an older version."""
    return {str(name): str(mark) for name, mark in zip(run.documents["doc_id"], run.documents["fingerprint"], strict=True)}


def changed_questions(
    before: Mapping[str, QuestionPrint], after: Mapping[str, QuestionPrint]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the ids with another text, or on one side only, those with other labels, and those with other fields alone."""
    texts = [name for name in {**before, **after} if name not in before or name not in after or before[name].text != after[name].text]
    labels = [name for name in before if name not in texts and before[name].labels != after[name].labels]
    others = [name for name in before if name not in (*texts, *labels) and before[name].fields not in ("", after[name].fields)]
    return tuple(texts), tuple(labels), tuple(others)


def changed_documents(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the ids of added, removed and changed documents."""
    changed = tuple(name for name in before if name in after and before[name] != after[name])
    return tuple(name for name in after if name not in before), tuple(name for name in before if name not in after), changed


def _grouped(table: pd.DataFrame, columns: list[str]) -> dict[str, list[list[object]]]:
    groups: dict[str, list[list[object]]] = {}
    for query_id, *values in table[["query_id", *columns]].itertuples(index=False):
        groups.setdefault(str(query_id), []).append(list(values))
    return {name: sorted(rows, key=str) for name, rows in groups.items()}
