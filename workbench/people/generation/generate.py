"""Generate questions with evidence and reference answers from documents, in rounds: propose, find the evidence, check."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from workbench.core.records import Chunk, Document, Query, Span
from workbench.data.labels import TextSearch
from workbench.people.generation.candidates import Candidate, GenerationSettings, QuestionKind, WrittenReference
from workbench.people.generation.model import (
    ANSWER,
    FACTOID,
    MULTI_HOP,
    REFERENCE,
    UNANSWERABLE,
    CachedModel,
    FailedCall,
    PassageReply,
    ProposedFactoid,
    ProposedMultiHop,
    ProposedUnanswerable,
    ReferenceReply,
    StructuredReply,
    prompt_messages,
)
from workbench.people.generation.passages import PassageIndex, answers_agree, cosines, find_evidence, fits, without_evidence

PROMPTS: Mapping[QuestionKind, tuple[str, type[StructuredReply]]] = {
    "factoid": (FACTOID, ProposedFactoid),
    "multi_hop": (MULTI_HOP, ProposedMultiHop),
    "unanswerable": (UNANSWERABLE, ProposedUnanswerable),
}
_REFERS = re.compile(
    r"\b(?:the|this|that|these|those|both|above|given|provided|following) (?:\w+ )?(?:passage|text|document|section|excerpt|paragraph|context|quote)s?\b",
    re.IGNORECASE,
)


def with_references(
    candidates: Sequence[Candidate], model: CachedModel, index: PassageIndex, settings: GenerationSettings
) -> list[Candidate]:
    """Return the candidates with their reference answers. An unanswerable question that has one is dropped."""
    found = [_best_documents(candidate.question, index, settings) for candidate in candidates]
    prompts = [
        prompt_messages(REFERENCE, [shown(passage) for _, passages in best.values() for passage in passages], candidate.question)
        for candidate, best in zip(candidates, found, strict=True)
    ]
    replies = model.ask(prompts, ReferenceReply, "write reference answers")
    written = []
    for candidate, best, reply in zip(candidates, found, replies, strict=True):
        if isinstance(reply, FailedCall):
            written.append(candidate.drop(reply.reason, reply.detail))
        elif candidate.kind == "unanswerable" and reply.answerable:
            written.append(candidate.drop("answerable", reply.answer))
        else:
            text = reply.answer.strip() if reply.answerable else ""
            expected = candidate.kind != "unanswerable"
            agrees = answers_agree(text, candidate.answer, index.cache) if candidate.answer else bool(text) == expected
            read = {doc_id: (score, tuple((part.start, part.end) for part in parts)) for doc_id, (score, parts) in best.items()}
            written.append(replace(candidate, reference=WrittenReference(text, agrees, read)))
    return written


def _best_documents(question: str, index: PassageIndex, settings: GenerationSettings) -> dict[str, tuple[float, list[Chunk]]]:
    """Return the documents with the most similar passages, the best first, each with its cosine and its best passages in their order."""
    best: dict[str, tuple[float, list[Chunk]]] = {}
    for passage, score in index.search(question):
        if passage.doc_id in best:
            if len(best[passage.doc_id][1]) < settings.reference_passages:
                best[passage.doc_id][1].append(passage)
        elif len(best) < settings.reference_documents:
            best[passage.doc_id] = (score, [passage])
    return {doc_id: (score, sorted(passages, key=lambda passage: passage.start)) for doc_id, (score, passages) in best.items()}


def shown(passage: Chunk) -> str:
    """Return a passage as the model reads it, below its title and headings."""
    return f"Section: {passage.header}\n\n{passage.text}" if passage.header else passage.text


def propose(candidates: Sequence[Candidate], earlier: Mapping[str, Sequence[str]], model: CachedModel) -> list[Candidate]:
    """Return the candidates with their questions. `earlier` has the questions that were asked about a passage before, by its id."""
    proposed: list[Candidate] = []
    for kind, (name, reply_kind) in PROMPTS.items():
        mine = [candidate for candidate in candidates if candidate.kind == kind]
        prompts = [
            prompt_messages(name, [shown(source) for source in proposal.sources], earlier=earlier.get(proposal.sources[0].chunk_id, ()))
            for proposal in mine
        ]
        replies = model.ask(prompts, reply_kind, f"ask for {kind.replace('_', '-')} questions")
        proposed += [_proposed(candidate, reply) for candidate, reply in zip(mine, replies, strict=True)]
    return proposed


def _proposed(candidate: Candidate, reply: StructuredReply | FailedCall) -> Candidate:
    if isinstance(reply, FailedCall):
        return candidate.drop(reply.reason, reply.detail)
    answer, quotes = "", tuple[str, ...]()
    if isinstance(reply, ProposedFactoid):
        question, answer, quotes = reply.question, reply.answer, (reply.quote,)
    elif isinstance(reply, ProposedMultiHop):
        question, answer, quotes = reply.question, reply.answer, (reply.first_quote, reply.second_quote)
    else:
        assert isinstance(reply, ProposedUnanswerable)
        question = reply.question
    made = replace(candidate, question=" ".join(question.split()), answer=answer.strip(), quotes=quotes)
    if not made.question or (made.kind != "unanswerable" and not (made.answer and all(map(str.strip, quotes)))):
        return made.drop("no_question")
    return made.drop("refers_to_text") if _REFERS.search(made.question) else made


def locate(candidate: Candidate, search: TextSearch) -> Candidate:
    """Return a candidate with the places of its quotes, each with its recurrences as alternatives."""
    needs = []
    for quote, source in zip(candidate.quotes, candidate.sources, strict=False):
        spans = find_evidence(quote, source, search)
        if not spans:
            return candidate.drop("quote_not_found", quote)
        if not fits(spans):
            return candidate.drop("quote_length", quote)
        needs.append(spans)
    return replace(candidate, needs=tuple(needs))


Stage = Callable[[Sequence[Candidate]], Sequence[Candidate]]


@dataclass(frozen=True)
class CandidateChecks:
    """The checks of candidates with a model. Each method returns the candidates in order; those that fail are dropped."""

    model: CachedModel
    index: PassageIndex
    search: TextSearch
    settings: GenerationSettings

    def from_evidence(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Ask with the evidence only, which must give the same answer, and with each single piece of several, which must not."""
        checked = list(candidates)
        evidence = {index: [self._text(need[0]) for need in candidate.needs] for index, candidate in enumerate(checked) if candidate.needs}
        replies = self._ask([(checked[index].question, texts) for index, texts in evidence.items()], "check evidence")
        for index, reply in zip(evidence, replies, strict=True):
            checked[index] = self._from_evidence(checked[index], reply)
        pieces = [(index, text) for index, texts in evidence.items() if len(texts) > 1 and not checked[index].dropped for text in texts]
        alone = self._ask([(checked[index].question, [text]) for index, text in pieces], "check pieces of evidence")
        for (index, _), reply in zip(pieces, alone, strict=True):
            if not checked[index].dropped:
                checked[index] = self._not_alone(checked[index], reply)
        return checked

    def only_there(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Ask with the neighbours and with what a search finds, without the evidence. An equal answer found there becomes an alternative."""
        checked, open_places = list(candidates), list(range(len(candidates)))
        for turn in range(self.settings.alternatives + 1):
            around = [self._around(checked[index]) for index in open_places]
            asked = [(checked[index].question, [shown(part) for part in parts]) for index, parts in zip(open_places, around, strict=True)]
            replies = self._ask(asked, "check other passages")
            found: list[int] = []
            for index, parts, reply in zip(open_places, around, replies, strict=True):
                before = checked[index]
                checked[index] = self._elsewhere(before, reply, parts, turn < self.settings.alternatives)
                if checked[index].needs != before.needs:
                    found.append(index)
            self._confirm(checked, found)
            open_places = [index for index in found if not checked[index].dropped]
        return checked

    def _from_evidence(self, candidate: Candidate, reply: PassageReply | FailedCall) -> Candidate:
        if isinstance(reply, FailedCall):
            return candidate.drop(reply.reason, reply.detail)
        return candidate if self._same(candidate, reply) else candidate.drop("not_from_evidence", reply.answer)

    def _not_alone(self, candidate: Candidate, reply: PassageReply | FailedCall) -> Candidate:
        if isinstance(reply, FailedCall):
            return candidate.drop(reply.reason, reply.detail)
        return candidate.drop("one_hop", reply.quote) if self._same(candidate, reply) else candidate

    def _elsewhere(self, candidate: Candidate, reply: PassageReply | FailedCall, parts: Sequence[Chunk], more: bool) -> Candidate:
        if isinstance(reply, FailedCall):
            return candidate.drop(reply.reason, reply.detail)
        if not reply.answerable:
            return candidate
        if candidate.kind == "unanswerable":
            return candidate.drop("answerable", reply.answer)
        if not self._same(candidate, reply):
            return candidate.drop("ambiguous", reply.answer)
        spans = next((spans for part in parts if (spans := find_evidence(reply.quote, part, self.search))), ())
        if len(candidate.needs) > 1 or not more or not spans or not fits(spans):
            return candidate.drop("answered_elsewhere", reply.quote)
        return replace(candidate, needs=(tuple(dict.fromkeys((*candidate.needs[0], *spans))),))

    def _confirm(self, checked: list[Candidate], places: Sequence[int]) -> None:
        """Drop candidates whose last alternative does not give the answer by itself."""
        asked = [(checked[index].question, [self._text(checked[index].needs[0][-1])]) for index in places]
        for index, reply in zip(places, self._ask(asked, "check alternatives"), strict=True):
            if isinstance(reply, FailedCall):
                checked[index] = checked[index].drop(reply.reason, reply.detail)
            elif not self._same(checked[index], reply):
                checked[index] = checked[index].drop("answered_elsewhere", self._text(checked[index].needs[0][-1]))

    def _around(self, candidate: Candidate) -> list[Chunk]:
        """Return the passages that must not answer the question: its own, their neighbours and those that a search finds, without evidence."""
        near = [passage for source in candidate.sources for passage in (source, *self.index.beside(source))]
        known = {passage.chunk_id for passage in near}
        others = [passage for passage, _ in self.index.search(candidate.question)[: self.settings.retrieved + len(near)]]
        near += [passage for passage in others if passage.chunk_id not in known][: self.settings.retrieved]
        return without_evidence(near, [span for need in candidate.needs for span in need])

    def _same(self, candidate: Candidate, reply: PassageReply) -> bool:
        return reply.answerable and answers_agree(reply.answer, candidate.answer, self.index.cache)

    def _ask(self, asked: Sequence[tuple[str, Sequence[str]]], label: str) -> list[PassageReply | FailedCall]:
        return self.model.ask([prompt_messages(ANSWER, texts, question) for question, texts in asked], PassageReply, label)

    def _text(self, span: Span) -> str:
        return self.search.text(span)


@dataclass(frozen=True)
class Generated:
    """The accepted and the dropped candidates, and how many questions were `wanted`."""

    accepted: tuple[Candidate, ...]
    dropped: tuple[Candidate, ...]
    settings: GenerationSettings
    wanted: int

    @classmethod
    def of(cls, candidates: Sequence[Candidate], settings: GenerationSettings, wanted: int) -> Self:
        accepted = tuple(candidate for candidate in candidates if not candidate.dropped)
        return cls(accepted, tuple(candidate for candidate in candidates if candidate.dropped), settings, wanted)

    @property
    def reasons(self) -> Counter[str]:
        """Return how many candidates were dropped for each reason."""
        return Counter(candidate.dropped for candidate in self.dropped)

    @property
    def failed(self) -> int:
        """Return how many candidates were dropped because a call failed."""
        return self.reasons["failed"]


def generate(
    documents: Sequence[Document], settings: GenerationSettings, model: CachedModel, index: PassageIndex, known: Sequence[str] = ()
) -> Generated:
    """Generate questions until there are enough, or as many candidates as `settings.tries` allows. `known` questions are not repeated.

    With the same settings and replies, the questions are the same. A failed candidate is not replaced: the same generation again makes the
    failed calls only.
    """
    return _Rounds(settings, model, index, TextSearch(documents), list(known)).run()


def answer_questions(queries: Sequence[Query], settings: GenerationSettings, model: CachedModel, index: PassageIndex) -> Generated:
    """Write reference answers for the answerable questions that have no expected answer. A question without a reference is dropped."""
    candidates = [
        Candidate("factoid", (), query.text, query_id=query.query_id) for query in queries if query.answerable and not query.answer
    ]
    answered = [
        candidate if candidate.dropped or (candidate.reference and candidate.reference.text) else candidate.drop("no_reference")
        for candidate in with_references(candidates, model, index, settings)
    ]
    return Generated.of(answered, settings, len(candidates))


@dataclass
class _Rounds:
    settings: GenerationSettings
    model: CachedModel
    index: PassageIndex
    search: TextSearch
    known: list[str]
    done: list[Candidate] = field(default_factory=list)
    # Questions about each passage, by its id.
    asked: dict[str, list[str]] = field(default_factory=dict)
    queue: list[Chunk] = field(default_factory=list)

    def run(self) -> Generated:
        while batch := self._batch():
            finished = self._round(batch)
            self.done += finished
            for candidate in finished:
                if candidate.question:
                    self.asked.setdefault(candidate.sources[0].chunk_id, []).append(candidate.question)
            if self.model.spent or all(candidate.dropped == "failed" for candidate in finished):
                break
        return Generated.of(self.done, self.settings, self.settings.questions)

    def _batch(self) -> list[Candidate]:
        """Return a candidate for each question that is missing, on the next passages. No passage is in a batch twice."""
        wanted = [kind for kind, count in self._missing().items() for _ in range(count)]
        self.queue = self.queue or (list(self.index.spread(self.settings.seed)) if wanted else [])
        batch = []
        for kind, passage in zip(wanted, self.queue, strict=False):
            partner = self.index.partner(passage) if kind == "multi_hop" else None
            # A single document has no passages of two documents, so its questions are factoid.
            usual: QuestionKind = "factoid" if kind == "multi_hop" and partner is None else kind
            batch.append(Candidate(usual, (passage, partner) if partner else (passage,)))
        self.queue = self.queue[len(batch) :]
        return batch

    def _missing(self) -> dict[QuestionKind, int]:
        made = Counter(candidate.kind for candidate in self.done)
        settled = Counter(candidate.kind for candidate in self.done if candidate.dropped in ("", "failed"))
        targets = self.settings.targets
        if len({passage.doc_id for passage in self.index.passages}) == 1:
            targets = {**targets, "factoid": targets["factoid"] + targets["multi_hop"], "multi_hop": 0}
        return {kind: max(0, min(wanted - settled[kind], wanted * self.settings.tries - made[kind])) for kind, wanted in targets.items()}

    def _round(self, batch: Sequence[Candidate]) -> list[Candidate]:
        checks = CandidateChecks(self.model, self.index, self.search, self.settings)
        candidates = propose(batch, self.asked, self.model)
        # First what costs no call.
        candidates = _open(candidates, lambda rest: [locate(candidate, self.search) for candidate in rest])
        candidates = _open(candidates, self._without_duplicates)
        candidates = _open(candidates, checks.from_evidence)
        candidates = _open(candidates, checks.only_there)
        candidates = _open(candidates, lambda rest: with_references(rest, self.model, self.index, self.settings))
        candidates = _open(candidates, self._without_equals)
        self.known += [candidate.question for candidate in candidates if not candidate.dropped]
        return [replace(candidate, model=self.model.name) for candidate in candidates]

    def _without_duplicates(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Drop questions that are nearly the same as a known one."""
        found = cosines([candidate.question for candidate in candidates], self.known, self.index.cache)
        return [
            self._duplicate(candidate, self.known[int(np.argmax(row))])
            if len(row) and row.max() >= self.settings.duplicate_cosine
            else candidate
            for candidate, row in zip(candidates, found, strict=True)
        ]

    def _without_equals(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Drop questions that are nearly the same as one before them."""
        texts = [candidate.question for candidate in candidates]
        found = cosines(texts, texts, self.index.cache)
        kept: list[int] = []
        checked = list(candidates)
        for index in range(len(checked)):
            equal = next((other for other in kept if found[index, other] >= self.settings.duplicate_cosine), None)
            if equal is None:
                kept.append(index)
            else:
                checked[index] = self._duplicate(checked[index], texts[equal])
        return checked

    def _duplicate(self, candidate: Candidate, other: str) -> Candidate:
        return candidate.drop("duplicate", other)


def _open(candidates: Sequence[Candidate], stage: Stage) -> list[Candidate]:
    """Apply a stage to the candidates that are not dropped, and keep the others in their places."""
    indices = [index for index, candidate in enumerate(candidates) if not candidate.dropped]
    result = list(candidates)
    for index, candidate in zip(indices, stage([candidates[index] for index in indices]), strict=True):
        result[index] = candidate
    return result
