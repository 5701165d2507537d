"""The labels of one question: its evidence, its relevant documents and its hard negatives."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from workbench.core.records import Dataset, Document, Passage, Query


@dataclass(frozen=True)
class QuestionLabels:
    """A question with its expected `answers`, its `needs` (each a tuple of alternative passages), and ids of documents.

    `relevant` is sorted by relevance, highest first. `negatives` are the hard negatives.
    """

    query: Query
    answers: tuple[str, ...] = ()
    needs: tuple[tuple[Passage, ...], ...] = ()
    relevant: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()

    def within(self, doc_ids: Container[str]) -> "QuestionLabels":
        """Return the labels of these documents alone. A need that none of them meets keeps its place, without alternatives."""
        needs = tuple(tuple(span for span in need if span.doc_id in doc_ids) for need in self.needs)
        relevant, negatives = (tuple(doc_id for doc_id in ids if doc_id in doc_ids) for ids in (self.relevant, self.negatives))
        return replace(self, needs=needs, relevant=relevant, negatives=negatives)

    def is_evident(self, passage: Passage) -> bool:
        """Return True if a passage shares a character with any evidence or, in a question without evidence, is from a relevant document."""
        if not self.needs:
            return passage.doc_id in self.relevant
        spans = (span for need in self.needs for span in need)
        return any(span.doc_id == passage.doc_id and span.start < passage.end and passage.start < span.end for span in spans)

    def is_complete(self, passages: Sequence[Passage]) -> bool:
        """Return True if passages contain an alternative of each need or, without evidence, any from a relevant document."""
        if not self.needs:
            return any(map(self.is_evident, passages))
        return all(any(missing_characters(span, passages) == 0 for span in need) for need in self.needs)


def question_labels(dataset: Dataset, answers: Sequence[Sequence[str]]) -> list[QuestionLabels]:
    """Return the labels of every question of a dataset, with the expected answers of each."""
    documents = {document.doc_id: document for document in dataset.documents}
    needs: dict[str, list[tuple[Passage, ...]]] = {}
    for need in dataset.needs:
        needs.setdefault(need.query_id, []).append(
            tuple(passage_of(documents[span.doc_id], span.start, span.end) for span in need.alternatives)
        )
    relevant: dict[str, list[tuple[int, str]]] = {}
    negatives: dict[str, list[str]] = {}
    # Without negative grades, judged documents of relevance 0 are the hard negatives, as in `metrics.inputs.Labels`.
    highest = -1 if any(qrel.relevance < 0 for qrel in dataset.qrels) else 0
    for qrel in dataset.qrels:
        if qrel.relevance >= 1:
            relevant.setdefault(qrel.query_id, []).append((-qrel.relevance, qrel.doc_id))
        elif qrel.relevance <= highest:
            negatives.setdefault(qrel.query_id, []).append(qrel.doc_id)
    return [
        QuestionLabels(
            query,
            tuple(filter(str.strip, expected)),
            tuple(needs.get(query.query_id, ())),
            tuple(doc_id for _, doc_id in sorted(relevant.get(query.query_id, ()), key=lambda pair: pair[0])),
            tuple(negatives.get(query.query_id, ())),
        )
        for query, expected in zip(dataset.queries, answers, strict=True)
    ]


def missing_characters(span: Passage, passages: Sequence[Passage]) -> int:
    """Count the characters of a span that no passage contains, without blanks: chunks are stripped."""
    position, gaps = span.start, []
    for passage in sorted((found for found in passages if found.doc_id == span.doc_id), key=lambda found: found.start):
        gaps.append((position, min(passage.start, span.end)))
        position = max(position, min(passage.end, span.end))
    gaps.append((position, span.end))
    return sum(len("".join(span.text[max(low - span.start, 0) : max(high - span.start, 0)].split())) for low, high in gaps if low < high)


def passage_of(document: Document, start: int, end: int) -> Passage:
    """Return a slice of a document as a passage."""
    return Passage(document.doc_id, start, end, document.text[start:end], document.title)
