"""Fingerprints of the inputs of a run, and the differences between those of two runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.text.formatting import setting
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.passages import text_of
from workbench.report.results.run_tables import WHERE, RunTables

_DIGITS = 12


@dataclass(frozen=True)
class QuestionPrint:
    """The fingerprints of a question's text, of its labels (relevant documents, evidence, expected answer, filter on documents) and of its fields.

    Fields define slices. They are empty if an older version wrote the baseline.
    """

    text: str
    labels: str
    fields: str = ""


def question_prints(run: RunTables) -> dict[str, QuestionPrint]:
    """Return the fingerprints of each question, in the dataset's order."""
    judged = _grouped(run.table("judgements"), ["doc_id", "relevance"])
    needed = _grouped(_by_first_alternative(run), ["first", "doc_id", "words"])
    prints: dict[str, QuestionPrint] = {}
    for row in run.questions[["query_id", "text", "answerable", "answer", "metadata"]].itertuples(index=False):
        name, fields = str(row.query_id), json.loads(str(row.metadata))
        labels = [bool(row.answerable), str(row.answer), judged.get(name, []), needed.get(name, [])]
        labels += [fields[WHERE]] if WHERE in fields else []
        prints[name] = QuestionPrint(fingerprint(row.text)[:_DIGITS], fingerprint(*labels)[:_DIGITS], fingerprint(fields)[:_DIGITS])
    return prints


def _grouped(table: pd.DataFrame, columns: list[str]) -> dict[str, list[list[object]]]:
    groups: dict[str, list[list[object]]] = {}
    for query_id, *values in table[["query_id", *columns]].itertuples(index=False):
        groups.setdefault(str(query_id), []).append(list(values))
    return {name: sorted(rows, key=str) for name, rows in groups.items()}


def _by_first_alternative(run: RunTables) -> pd.DataFrame:
    """Name pieces of evidence by their words, and needs by their first alternative.

    Positions move when a document is edited, and numbers of needs when a question is added before them. Neither changes a label.
    """
    first: dict[int, str] = {}
    columns = run.evidence[["need", "doc_id", "start", "end"]]
    words = [_words(run, *span) for span in columns[["doc_id", "start", "end"]].itertuples(index=False)]
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


class SettingChange(NamedTuple):
    """A setting by its path, such as `retrieval.k`, with both values."""

    path: str
    before: object
    after: object

    @property
    def texts(self) -> tuple[str, str]:
        """Both values in a few words: a component by its kind, a list by the items that the other lacks."""
        if isinstance(self.before, list) and isinstance(self.after, list):
            sides = [[_shown(item) for item in side] for side in (self.before, self.after)]
            if set(sides[0]) != set(sides[1]):
                return ", ".join(item for item in sides[0] if item not in sides[1]), ", ".join(
                    item for item in sides[1] if item not in sides[0]
                )
        return _shown(self.before), _shown(self.after)

    def __str__(self) -> str:
        before, after = self.texts
        return f"{self.path} {before or 'without'} → {after or 'without'}"


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> tuple[SettingChange, ...]:
    """Return each setting that differs. A component of another kind is one change."""
    changes: list[SettingChange] = []
    for name in {**before, **after}:
        old, new, path = before.get(name), after.get(name), f"{prefix}{name}"
        if isinstance(old, Mapping) and isinstance(new, Mapping) and old.get("kind") == new.get("kind"):
            changes += setting_changes(old, new, f"{path}.")
        elif old != new:
            changes.append(SettingChange(path, old, new))
    return tuple(changes)


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return each setting that differs, as `retrieval.k 10 → 2`."""
    return tuple(map(str, setting_changes(before, after)))


def _shown(value: object) -> str:
    """Show a setting in a few words: a component by its kind."""
    if isinstance(value, Mapping):
        return str(value.get("kind", setting(value)))
    return "none" if value is None else str(value)


def measurement(run: RunTables) -> dict[str, Any]:
    """Return by what values of a run are measured: the weights of means, the definition of spans, expected answers with their variants, and judges."""
    return {
        "average": run.average,
        "spans": run.manifest["experiment"].get("spans", "exact"),
        "expected answers": str(run.manifest["fingerprints"].get("expected", ""))[:_DIGITS],
        "judging": run.judging,
    }


def measured_by(measure: Metric) -> set[str]:
    """Return the names in `measurement` that the values of a metric depend on."""
    names = {"spans": measure.of_text, "expected answers": measure.of_answers, "judging": measure.judged}
    return {"average", *(name for name, depends in names.items() if depends)}
