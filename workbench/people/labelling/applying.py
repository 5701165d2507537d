"""Make a dataset of labels: resolve what several people say, and put the result into a copy of the dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.core.records import Dataset, Need, Qrel, Query
from workbench.core.text.display import excerpt, table_html
from workbench.core.text.formatting import plural
from workbench.data.checks import checked
from workbench.people.labelling.adjudication import Adjudicator, LabelConflict, joined_needs, reviewed
from workbench.people.labelling.checking import GradeScale
from workbench.people.labelling.label_file import AnnotatorLabels


@dataclass(frozen=True, repr=False)
class AppliedLabels:
    """A dataset with labels of people, and what they leave open.

    `conflicts` are what people disagree about without a majority or an adjudicator; nothing of it is applied. `left_out` are the
    questions that the dataset lacks, with the reason. `notes` are lines that were skipped, and changes to existing judgements. `questions` has
    the text of each question in the source by its id.
    """

    dataset: Dataset
    conflicts: tuple[LabelConflict, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    questions: Mapping[str, str]

    def __repr__(self) -> str:
        return f"AppliedLabels({self._summary})"

    def _repr_html_(self) -> str:
        said = [(conflict.query_id, conflict.about, conflict.labels) for conflict in self.conflicts]
        said += [(query_id, "left out", why) for query_id, why in self.left_out.items()]
        rows = [
            {"question": excerpt(self.questions.get(query_id, "")), "id": query_id, "about": about, "labels": labels}
            for query_id, about, labels in said
        ]
        return table_html(self._summary, rows, " ".join(f"{note}." for note in self.notes))

    @property
    def _summary(self) -> str:
        return f"{self.dataset!r}, {plural(len(self.conflicts), 'conflict')}, {plural(len(self.left_out), 'question')} left out"


def apply_to(dataset: Dataset, labels: Mapping[str, AnnotatorLabels], adjudicator: str = "", notes: Sequence[str] = ()) -> AppliedLabels:
    """Return a copy of the dataset with the labels. The documents stay as they are.

    Questions that are refused, or that have no relevant document and are not marked unanswerable, are left out.
    """
    judge, remarks = Adjudicator(labels, adjudicator), list(notes)
    grades = _Grades(dataset, judge, remarks)
    queries, needs, qrels, left_out = list[Query](), list[Need](), list[Qrel](), dict[str, str]()
    for query in dataset.queries:
        existing = [need for need in dataset.needs if need.query_id == query.query_id]
        evidence = [need for joined in joined_needs(query.query_id, existing, judge) if (need := grades.without_refused(joined))]
        given = grades.of(query.query_id, evidence)
        labelled, refusal = reviewed(_question(query, judge), judge)
        why = refusal or _fault(labelled, any(grade > 0 for grade in given.values()))
        if why:
            left_out[query.query_id] = why
            continue
        queries.append(labelled)
        needs += evidence
        qrels += [Qrel(query.query_id, doc_id, grade) for doc_id, grade in given.items()]
    made = checked(replace(dataset, queries=tuple(queries), qrels=tuple(qrels), needs=tuple(needs), source=None))
    texts = {query.query_id: query.text for query in dataset.queries}
    return AppliedLabels(made, tuple(judge.conflicts), left_out, tuple(remarks), texts)


def judged_dataset(dataset: Dataset, labels: Mapping[str, AnnotatorLabels]) -> Dataset:
    """Return the dataset with the judgements so far and all its questions, which may lack a relevant document."""
    grades = _Grades(dataset, Adjudicator(labels), [])
    qrels = (Qrel(query.query_id, doc_id, grade) for query in dataset.queries for doc_id, grade in grades.of(query.query_id, ()).items())
    return replace(dataset, qrels=tuple(qrels), source=None)


class _Grades:
    """The grades of the dataset with those that people give, on one scale.

    A dataset whose judgements are only relevant or not stays so, unless somebody calls a document partly relevant: then its relevant documents
    get the best grade.
    """

    def __init__(self, dataset: Dataset, judge: Adjudicator, notes: list[str]) -> None:
        scale = GradeScale.of(dataset)
        labelled = dict.fromkeys((action.query_id, action.doc_id) for own in judge.labels.values() for action in own.actions.values())
        known, names = {query.query_id for query in dataset.queries}, lambda value: scale.name(int(value or 0))
        resolved = {key: judge.resolve("relevance", *key, names) for key in labelled if key[1] and key[0] in known}
        given = {key: int(grade) for key, grade in resolved.items() if grade is not None}
        graded = scale.binary and any(0 < grade < scale.best for grade in given.values())
        self._top = scale.best if graded or not scale.binary else 1
        before = {(qrel.query_id, qrel.doc_id): qrel.relevance for qrel in dataset.qrels}
        if graded and any(grade == 1 for grade in before.values()):
            notes.append(f"a label says partly relevant, so relevant documents of {dataset.name} have grade {scale.best} in place of 1")
        self._given = {key: self._top if grade == scale.best else grade for key, grade in given.items()}
        self._all: dict[str, dict[str, int]] = {query_id: {} for query_id in known}
        for (query_id, doc_id), grade in [*before.items(), *self._given.items()]:
            self._all[query_id][doc_id] = self._top if graded and grade == 1 and (query_id, doc_id) not in self._given else grade
        changed = sum(before[key] > 0 and self._given[key] <= 0 for key in self._given.keys() & before.keys())
        notes += (
            [f"{plural(changed, 'relevant document')} of {dataset.name} {'is' if changed == 1 else 'are'} labelled not relevant"]
            if changed
            else []
        )
        self._notes = notes

    def without_refused(self, need: Need) -> Need | None:
        """Return evidence without the spans in documents that are labelled not relevant, or None if nothing is left."""
        refused = [span for span in need.alternatives if self._given.get((need.query_id, span.doc_id), 1) <= 0]
        self._notes += [
            f"evidence {span.doc_id}:{span.start}-{span.end} of question {need.query_id} is in a document labelled not relevant, and left out"
            for span in refused
        ]
        kept = tuple(span for span in need.alternatives if span not in refused)
        return replace(need, alternatives=kept) if kept else None

    def of(self, query_id: str, evidence: Sequence[Need]) -> dict[str, int]:
        """Return the grades of a question. A document with evidence and without a judgement is relevant."""
        evident = (span.doc_id for need in evidence for span in need.alternatives)
        return dict.fromkeys(evident, self._top) | self._all[query_id]


def _question(query: Query, judge: Adjudicator) -> Query:
    """Return a question with its expected answer, and whether it has one."""
    answer = judge.resolve("answer", query.query_id, show=lambda text: repr(excerpt(str(text))))
    answerable = judge.resolve("answerable", query.query_id, show=lambda value: "answerable" if value else "unanswerable")
    return replace(
        query,
        answer=answer if isinstance(answer, str) else query.answer,
        answerable=answerable if isinstance(answerable, bool) else query.answerable,
    )


def _fault(query: Query, has_relevant: bool) -> str:
    """Return why a question cannot be in the dataset, or an empty text."""
    if query.is_placeholder:
        return "a placeholder: nobody has written the question"
    if query.answerable and not has_relevant:
        return "no document is labelled relevant; label one, or mark it as unanswerable"
    if not query.answerable and has_relevant:
        return "marked as unanswerable, but a document is labelled relevant"
    return ""
