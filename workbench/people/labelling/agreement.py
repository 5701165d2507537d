"""Measure how far two people agree: kappa of their judgements, their marks of evidence, and every disagreement."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.records import Span, same_evidence
from workbench.core.text.display import table_html
from workbench.core.text.formatting import interval, number, plural
from workbench.measures.statistics.judge_calibration import CalibrationValue, agreement
from workbench.people.labelling.adjudication import NO_EVIDENCE, span_of
from workbench.people.labelling.checking import GradeScale
from workbench.people.labelling.label_file import AnnotatorLabels

_COLUMNS = ("query_id", "about", "first", "second")
_ABOUT = {
    "document": "documents",
    "answer": "expected answers",
    "answerable": "whether a question has an answer",
    "acceptance": "accepting a draft",
    "rewrite": "the words of a question",
}


@dataclass(frozen=True, eq=False, repr=False)
class LabelAgreement:
    """The agreement of two people on what both labelled.

    `same` is the share of documents that both judged with the same grade, `kappa` Cohen's kappa with squared differences of grades as weights
    (1968), each with a 95 % interval over questions. `spans_both`, `spans_first` and `spans_second` count the passages that both, only the
    first and only the second marked as evidence, in questions in which both marked some. `disagreements` has a row for everything that both
    labelled differently: `query_id`, `about`, and what the `first` and the `second` said.
    """

    first: str
    second: str
    same: CalibrationValue
    kappa: CalibrationValue
    spans_both: int
    spans_first: int
    spans_second: int
    disagreements: pd.DataFrame

    def __repr__(self) -> str:
        both = f"{self.first} and {self.second} both judged"
        values = f"kappa {number(self.kappa.value, 2)} {interval(self.kappa.low, self.kappa.high, 2)}, the same grade for {number(100 * self.same.value, 0)} %"
        spans = f"evidence: {self.spans_both} marked by both, {self.spans_first} only by {self.first}, {self.spans_second} only by {self.second}"
        judged = f"{both} {plural(self.kappa.n, 'document')}; {values}" if self.kappa.n else f"{both} no document"
        return f"{judged}; {spans}; {self._disagreed}"

    @property
    def _disagreed(self) -> str:
        """Say how many disagreements there are about what: documents, evidence, or a kind of label of the question."""
        counts = Counter(str(about).split(" ", 1)[0] for about in self.disagreements["about"])
        kinds = f" ({', '.join(f'{count} about {_ABOUT.get(kind, kind)}' for kind, count in counts.most_common())})" if counts else ""
        return f"{plural(len(self.disagreements), 'disagreement')}{kinds}"

    def _repr_html_(self) -> str:
        shown = self.disagreements.rename(columns={"first": self.first, "second": self.second})
        return table_html(repr(self), [{str(name): value for name, value in row.items()} for row in shown.to_dict("records")])


def agreement_of(first: AnnotatorLabels, second: AnnotatorLabels, scale: GradeScale) -> LabelAgreement:
    """Compare the labels of two people. Raises InputError if they labelled nothing in common."""
    shared = sorted(first.actions.keys() & second.actions.keys())
    judged = [key for key in shared if key[0] == "relevance"]
    rows: list[tuple[str, str, str, str]] = []
    for key in shared:
        kind, query_id, doc_id = key[:3]
        one, other = first.actions[key].value, second.actions[key].value
        if kind != "span" and one != other:
            said = [scale.name(int(value)) if kind == "relevance" and value is not None else str(value) for value in (one, other)]
            rows.append((query_id, f"document {doc_id}" if doc_id else kind, said[0], said[1]))
    both = _with_spans(first) & _with_spans(second)
    if not shared and not both:
        raise InputError(f"{first.annotator} and {second.annotator} have labelled nothing in common", "let both label the same questions")
    counts = np.zeros(3, dtype=np.int64)
    for query_id in sorted(both):
        one_only, other_only, agreed = compared_spans(_spans(first, query_id), _spans(second, query_id))
        counts += (agreed, len(one_only), len(other_only))
        rows += [(query_id, _place(span), "evidence", "not marked") for span in one_only]
        rows += [(query_id, _place(span), "not marked", "evidence") for span in other_only]
    grades = [np.array([float(own.actions[key].value or 0) for key in judged]) for own in (first, second)]
    codes = np.unique([key[1] for key in judged], return_inverse=True)[1].astype(np.int64)
    same, kappa = agreement(grades[0], grades[1], codes)
    table = pd.DataFrame(rows, columns=list(_COLUMNS)).sort_values(["query_id", "about"], ignore_index=True)
    agreed, only_one, only_other = counts.tolist()
    return LabelAgreement(first.annotator, second.annotator, same, kappa, agreed, only_one, only_other, table)


def compared_spans(first: Sequence[Span], second: Sequence[Span]) -> tuple[list[Span], list[Span], int]:
    """Return the spans that only the first marked, those that only the second marked, and how many of the first are like one of the second."""
    only_first = [span for span in first if not any(same_evidence(span, other) for other in second)]
    only_second = [span for span in second if not any(same_evidence(span, other) for other in first)]
    return only_first, only_second, len(first) - len(only_first)


def _with_spans(labels: AnnotatorLabels) -> set[str]:
    return {action.query_id for action in labels.actions.values() if action.kind == "span" and action.value != NO_EVIDENCE}


def _spans(labels: AnnotatorLabels, query_id: str) -> list[Span]:
    return [span_of(action) for action in labels.of("span", query_id) if action.value != NO_EVIDENCE]


def _place(span: Span) -> str:
    return f"evidence {span.doc_id}:{span.start}-{span.end}"
