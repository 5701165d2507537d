"""A person labelling a dataset: the question in hand, what is labelled, and what each action writes. No screen is needed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real

from workbench.core.errors import InputError
from workbench.core.records import Dataset, Query, Span
from workbench.core.text.formatting import meant, plural
from workbench.core.text.words import whole_words
from workbench.people.labelling.adjudication import NO_EVIDENCE, span_of
from workbench.people.labelling.checking import LabelChecker, digest
from workbench.people.labelling.label_file import (
    AnnotatorLabels,
    DamagedLine,
    LabelAction,
    LabelFile,
    Value,
    added_id,
    labels_by_annotator,
    standing_actions,
)
from workbench.people.labelling.pooling import Answers, CandidateSearch, LabelPool, PooledDocument
from workbench.people.labelling.priority import QueuedQuestion

_ADDED = "it was added while labelling"
# The most documents that are listed without a question.
_MOST_LISTED = 100
_NO_QUERY = Query("", "")
_NO_QUESTION = QueuedQuestion("", "there is no question yet: select a passage of a document, and add the question that it answers", 0.0)


@dataclass(frozen=True)
class LabellingTask:
    """A dataset to label, the pool of each question, the order of the questions, and the documents to `search` for added ones.

    With `again`, a person judges the documents that the dataset judges once more, without seeing how.
    """

    dataset: Dataset
    pool: LabelPool
    queue: tuple[QueuedQuestion, ...]
    search: CandidateSearch
    again: bool = False


@dataclass(frozen=True, slots=True)
class LabelledEvidence:
    """A span that counts as evidence of the question, as the piece with this number. `own`: marked by this person, not by the dataset."""

    span: Span
    piece: int
    own: bool


@dataclass(frozen=True, slots=True)
class LabellingProgress:
    """Counts of reviewed drafts and finished other questions, each with their total."""

    reviewed: int
    drafts: int
    finished: int
    others: int

    def __str__(self) -> str:
        drafts = f"{self.reviewed:,} of {plural(self.drafts, 'draft')} reviewed"
        others = f"{self.finished:,} of {plural(self.others, 'other question' if self.drafts else 'question')} finished"
        return ", ".join([drafts] * bool(self.drafts) + [others] * bool(self.others))


class LabellingSession:
    """Label the questions of a task as one person, with every action on disk before the method returns.

    Raises InputError for a label that does not fit the dataset, and if the file cannot be written.
    """

    def __init__(self, task: LabellingTask, checker: LabelChecker, file: LabelFile, annotator: str) -> None:
        if not annotator.strip():
            raise InputError("the annotator has no name", 'write your name: annotator="ann"')
        if annotator != annotator.encode("utf-8", "replace").decode():
            raise InputError(f"the annotator {annotator!r} has half of a character, which no file can keep", "write your name again")
        self.task = task
        self.checker = checker
        self.file = file
        self.annotator = annotator.strip()
        self.queue: tuple[QueuedQuestion, ...] = task.queue
        self._pools = dict(task.pool.documents)
        # The number of the question in hand in the order of `queue`, from 0.
        self.place = 0
        self.refresh()
        self.place = self._next_open(-1) or 0

    @property
    def query(self) -> Query:
        """Return the question in hand. Without any question it has no id and no text."""
        return self.checker.queries.get(self.queued.query_id, _NO_QUERY)

    @property
    def text(self) -> str:
        """Return the text of the question in hand: this person's rewrite, or that of the dataset."""
        return self.labels.rewritten(self.query.query_id) or self.query.text

    @property
    def queued(self) -> QueuedQuestion:
        """Return the question in hand with the reason for its place."""
        return self.queue[self.place] if self.queue else _NO_QUESTION

    @property
    def reason(self) -> str:
        """Say why the question is in hand, as this person's labels leave it."""
        query_id, queued = self.query.query_id, self.queued
        if self.query.is_draft:
            return queued.reason if self.labels.decision(query_id) is None else "you have reviewed it; nothing has to be labelled"
        if not any(action.query_id == query_id for action in self.labels.actions.values()):
            return queued.reason
        done, of = self.judged(query_id)
        if done == of:
            return "you have labelled it, and all its documents are judged"
        before = f"; when the labeller was opened, {queued.reason}" if queued.width else ""
        return f"you have labelled it, and {of - done} of {plural(of, 'document')} {'is' if of - done == 1 else 'are'} not judged{before}"

    @property
    def labels(self) -> AnnotatorLabels:
        return self.everyone.get(self.annotator) or AnnotatorLabels(self.annotator, {})

    @property
    def undoable(self) -> bool:
        """True if this person has an action to take back."""
        return any(action.by == self.annotator for action in standing_actions(self.file.actions))

    def refresh(self) -> None:
        """Read what others have written to the file, and check it."""
        query_id = self.query.query_id
        self.file.refresh()
        self.checker.add_questions(self.file.actions)
        fitting, faults = self.checker.checked(self.file)
        self.everyone = labels_by_annotator(fitting)
        self.faults: tuple[DamagedLine, ...] = tuple(faults)
        known, queued = self.checker.queries, {question.query_id for question in self.task.queue}
        added = (QueuedQuestion(new_id, _ADDED, 0.0) for new_id in known if new_id not in queued)
        self.queue = (*(question for question in self.task.queue if question.query_id in known), *added)
        self._places = {question.query_id: place for place, question in enumerate(self.queue)}
        self.place = self._places.get(query_id, max(0, min(self.place, len(self.queue) - 1)))

    def judge(self, doc_id: str, grade: int | None) -> None:
        """Judge a document for the question, or remove its judgement."""
        # A grade of numpy or 1.0 is written as the whole number that it equals. True is a slip.
        known = next(
            (
                known_grade
                for known_grade in self.checker.scale.grades
                if isinstance(grade, Real) and not isinstance(grade, bool) and known_grade == grade
            ),
            None,
        )
        if grade is not None and known is None:
            raise InputError(f"there is no grade {grade}", f"choose one of {', '.join(map(str, self.checker.scale.grades))}")
        self._known(doc_id)
        self._write(
            LabelAction(kind="relevance", by=self.annotator, doc_id=doc_id, document=self.checker.document_digest(doc_id), value=known)
        )

    def mark(self, span: Span, piece: int | None = None) -> Span:
        """Mark a span as evidence: a new piece, or an alternative of the piece with this number.

        Blanks at its ends are left out, and words that they cut are whole.

        Returns the span that is marked.
        """
        whole = self._whole_words(span)
        last = max((mark.piece for mark in self.evidence()), default=0)
        if piece is not None and not 1 <= piece <= last:
            raise InputError(f"there is no piece of evidence {piece}", "mark a new piece")
        self._write_span(whole, last + 1 if piece is None else piece)
        return whole

    def unmark(self, span: Span) -> None:
        """Remove a mark of this person, or say that a span of the dataset is no evidence."""
        self._known(span.doc_id)
        theirs = any(mark.span == span and not mark.own for mark in self.evidence())
        self._write_span(span, NO_EVIDENCE if theirs else None)

    def answer(self, text: str | None, source: str = "") -> None:
        """Set the expected answer, written by the person or accepted from a configuration (`source`), or remove this label."""
        if text is not None and not isinstance(text, str):
            raise InputError(f"the answer is of type {type(text).__name__}", "give a text")
        self._write(LabelAction(kind="answer", by=self.annotator, value=text.strip() or None if text else None, source=source))

    def accept_answer(self, number: int) -> None:
        """Accept the answer of the pool with this number, from 0, as the expected answer."""
        answers = self.answers
        if not 0 <= number < len(answers):
            raise InputError(f"there is no answer {number}", "accept one of those that are shown")
        text, sources = answers[number]
        self.answer(text, ", ".join(sources))

    def set_answerable(self, value: bool | None) -> None:
        """Say whether the documents answer the question, or remove this label."""
        self._write(LabelAction(kind="answerable", by=self.annotator, value=value))

    def rewrite(self, text: str | None) -> None:
        """Put the question into other words, which accepts a draft, or remove the rewrite. Blanks at the ends are left out.

        The text of the dataset removes the rewrite, too. Raises InputError for an empty text and for the one that the question already has.
        """
        words = self.query.text if text is None else text.strip()
        if not words:
            raise InputError("the question is empty", "write it, or refuse it")
        if text is not None and words == self.text:
            raise InputError("the question already has this text", "change it, or accept it as it is")
        self._write(LabelAction(kind="rewrite", by=self.annotator, value=None if words == self.query.text else words))

    def accept(self, value: bool | None) -> None:
        """Accept or refuse a synthetic question, or remove this label. Raises InputError if a person wrote it."""
        if not self.query.synthetic:
            raise InputError(f"question {self.query.query_id!r} is not synthetic", "only synthetic questions are accepted or refused")
        self._write(LabelAction(kind="acceptance", by=self.annotator, value=value))

    def undo(self) -> LabelAction | None:
        """Take back this person's latest action, and go to its question. None without one."""
        undone = self.file.undo(self.annotator)
        self.refresh()
        if undone and undone.query_id in self._places:
            self.place = self._places[undone.query_id]
        return undone

    def add_question(self, text: str, evidence: Span | None = None) -> Query:
        """Add a question and go to it. With `evidence`, a span that answers it is marked as its first piece.

        The documents to judge are those that a search by words finds. Raises InputError for an empty text and for one that a question has.
        """
        words = text.strip()
        if not words:
            raise InputError("the question is empty", "write a question that the documents answer")
        self.refresh()
        if same := next((query.query_id for query in self.checker.queries.values() if query.text == words), ""):
            raise InputError(f"question {same} has this text", "label that one, or ask something else")
        span = evidence and self._whole_words(evidence)
        query_id = added_id(words, self.checker.queries)
        self.file.append(LabelAction(kind="question", by=self.annotator, query_id=query_id, question=digest(words), value=words))
        self.refresh()
        self.go_to(query_id)
        if span:
            self._write_span(span, 1)
        return self.query

    @property
    def removable(self) -> bool:
        """True if this person added the question in hand, and no dataset has it yet."""
        query_id = self.query.query_id
        return self.labels.value("question", query_id) is not None and all(
            query.query_id != query_id for query in self.task.dataset.queries
        )

    def remove_question(self) -> None:
        """Remove a question that this person added, and go to the next one. Its other labels stay in the file and do not count."""
        if not self.removable:
            raise InputError(
                f"question {self.query.query_id} is not one that {self.annotator} added", "undo your labels of it, or refuse a draft"
            )
        self._write(LabelAction(kind="question", by=self.annotator, value=None))

    def go(self, place: int) -> None:
        """Go to the question with this number, from 0, or to the first or last beyond them."""
        self.place = max(0, min(place, len(self.queue) - 1))

    def go_to(self, query_id: str) -> None:
        if query_id not in self._places:
            raise InputError(f"there is no question {query_id!r}{meant(query_id, self._places)}", "give a query_id of the dataset")
        self.place = self._places[query_id]

    def go_to_open(self) -> None:
        """Go to the next question with something left to label, after this one or else from the first. Stay without one."""
        self.place = next((place for place in (self._next_open(self.place), self._next_open(-1)) if place is not None), self.place)

    @property
    def documents(self) -> tuple[PooledDocument, ...]:
        """Return the documents to judge for the question, in their order: those of the evidence of a draft come first."""
        documents, query = self._pool(self.query.query_id), self.query
        if not query.is_draft or self.task.again:
            return documents
        evident = {span.doc_id for need in self._needs.get(query.query_id, ()) for span in need}
        # A review begins with what the draft was made of. Its order hides nothing, since these documents are shown as relevant.
        return tuple(
            sorted(documents, key=lambda document: (document.doc_id not in evident, (self.dataset_grade(document.doc_id) or 0) <= 0))
        )

    @property
    def answers(self) -> Answers:
        """Return the answers of the run to the question, each with the configurations that gave it."""
        return self.task.pool.answers.get(self.query.query_id, ())

    def grade(self, doc_id: str, query_id: str = "") -> Value:
        """Return this person's grade of a document, or None."""
        return self.labels.value("relevance", query_id or self.query.query_id, doc_id)

    def dataset_grade(self, doc_id: str, query_id: str = "") -> int | None:
        """Return the dataset's grade of a document on the scale, or None. With `again` the dataset's grades are not shown."""
        known = None if self.task.again else self._judged.get((query_id or self.query.query_id, doc_id))
        return None if known is None else self.checker.scale.shown(known)

    def evidence(self) -> list[LabelledEvidence]:
        """Return the spans that count as evidence of the question: those of the dataset, unless removed, and this person's."""
        marks = {span_of(action): action for action in self.labels.of("span", self.query.query_id)}
        own = [LabelledEvidence(span, int(action.value or 0), True) for span, action in marks.items() if action.value != NO_EVIDENCE]
        existing = [
            LabelledEvidence(span, number, False)
            for number, need in enumerate(self._needs.get(self.query.query_id, ()), 1)
            for span in need
            if span not in marks
        ]
        return existing + own

    def progress(self, query_id: str) -> tuple[int, int]:
        """Return how many things of a question are labelled, of how many: the decision on a draft, or the documents of another question.

        A draft is finished once it is accepted, rewritten or refused, a question that no document answers once it is marked so; judging its
        documents is optional.
        """
        if self.checker.queries[query_id].is_draft:
            return int(self.labels.decision(query_id) is not None), 1
        if self.labels.value("answerable", query_id) is False:
            return 1, 1
        # Without a document to judge, a question is open until the person finds one.
        return self.judged(query_id) if self._pool(query_id) else (int(bool(self.labels.of("relevance", query_id))), 1)

    def judged(self, query_id: str) -> tuple[int, int]:
        """Return how many documents of a question are judged, by this person or the dataset, of how many."""
        documents = self._pool(query_id)
        known = (
            self.grade(document.doc_id, query_id) is not None or self.dataset_grade(document.doc_id, query_id) is not None
            for document in documents
        )
        return sum(known), len(documents)

    def totals(self) -> LabellingProgress:
        """Count the questions with nothing left to label: drafts that are reviewed, and others whose documents are judged."""
        done = {question.query_id: len(set(self.progress(question.query_id))) == 1 for question in self.queue}
        drafts = [finished for query_id, finished in done.items() if self.checker.queries[query_id].is_draft]
        reviewed = sum(drafts)
        return LabellingProgress(reviewed, len(drafts), sum(done.values()) - reviewed, len(done) - len(drafts))

    @cached_property
    def _judged(self) -> Mapping[tuple[str, str], int]:
        return {(qrel.query_id, qrel.doc_id): qrel.relevance for qrel in self.task.dataset.qrels}

    @cached_property
    def _needs(self) -> Mapping[str, list[tuple[Span, ...]]]:
        needs: dict[str, list[tuple[Span, ...]]] = {}
        for need in self.task.dataset.needs:
            needs.setdefault(need.query_id, []).append(need.alternatives)
        return needs

    def _next_open(self, after: int) -> int | None:
        places = range(after + 1, len(self.queue))
        return next((place for place in places if len(set(self.progress(self.queue[place].query_id))) > 1), None)

    def _pool(self, query_id: str) -> tuple[PooledDocument, ...]:
        """Return the documents to judge for a question. For one that was added they are searched for once; without any, the first documents."""
        if not self.queue:
            return tuple(
                PooledDocument(document.doc_id, ((0, len(document.text)),)) for document in self.task.dataset.corpus[:_MOST_LISTED]
            )
        if query_id not in self._pools:
            query = self.checker.queries.get(query_id)
            asked = replace(self.task.dataset, queries=(query,) if query else (), qrels=(), needs=())
            self._pools |= self.task.search.pool(asked).documents if query else {query_id: ()}
        return self._pools[query_id]

    def _known(self, doc_id: str) -> str:
        if doc_id not in self.checker.documents:
            raise InputError(f"there is no document {doc_id!r}{meant(doc_id, self.checker.documents)}", "give a doc_id of the dataset")
        return self.checker.documents[doc_id].text

    def _whole_words(self, span: Span) -> Span:
        """Return a span without blanks at its ends, extended to the words that they cut."""
        text = self._known(span.doc_id)
        if not 0 <= span.start < span.end <= len(text):
            raise InputError(
                f"[{span.start}, {span.end}) is not in document {span.doc_id!r} of {len(text):,} characters", "select text in it"
            )
        words = text[span.start : span.end]
        if not words.strip():
            raise InputError("the selected text is blank", "select some words")
        start = span.start + len(words) - len(words.lstrip())
        return Span(span.doc_id, *whole_words(text, start, start + len(words.strip())))

    def _write_span(self, span: Span, value: int | None) -> None:
        text = self.checker.documents[span.doc_id].text[span.start : span.end]
        self._write(LabelAction(kind="span", by=self.annotator, doc_id=span.doc_id, start=span.start, end=span.end, text=text, value=value))

    def _write(self, action: LabelAction) -> None:
        if not self.queue:
            raise InputError("there is no question yet", "add one")
        self.file.append(replace(action, query_id=self.query.query_id, question=digest(self.query.text)))
        self.refresh()
