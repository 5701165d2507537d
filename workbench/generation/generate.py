"""Generate questions with evidence and reference answers from documents, in rounds."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from workbench.datasets.labels import TextSearch
from workbench.generation.candidates import Candidate, GenerationSettings, QuestionKind
from workbench.generation.model import CachedModel
from workbench.generation.passages import PassageIndex, cosines
from workbench.generation.proposals import locate, propose, with_references
from workbench.generation.verification import CandidateChecks
from workbench.records import Chunk, Document, Query

Stage = Callable[[Sequence[Candidate]], Sequence[Candidate]]


@dataclass(frozen=True)
class Generated:
    """The accepted and the dropped candidates, and how many questions were `wanted`."""

    accepted: tuple[Candidate, ...]
    dropped: tuple[Candidate, ...]
    settings: GenerationSettings
    wanted: int

    @classmethod
    def of(cls, candidates: Sequence[Candidate], settings: GenerationSettings, wanted: int) -> Self:
        """Separate accepted from dropped candidates."""
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
        for place in range(len(checked)):
            equal = next((other for other in kept if found[place, other] >= self.settings.duplicate_cosine), None)
            if equal is None:
                kept.append(place)
            else:
                checked[place] = self._duplicate(checked[place], texts[equal])
        return checked

    def _duplicate(self, candidate: Candidate, other: str) -> Candidate:
        return candidate.drop("duplicate", other)


def _open(candidates: Sequence[Candidate], stage: Stage) -> list[Candidate]:
    """Apply a stage to the candidates that are not dropped, and keep the others in their places."""
    places = [place for place, each in enumerate(candidates) if not each.dropped]
    result = list(candidates)
    for place, candidate in zip(places, stage([candidates[place] for place in places]), strict=True):
        result[place] = candidate
    return result
