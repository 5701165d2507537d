"""Check that a question can be answered from its evidence, and from nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.datasets.labels import TextSearch
from workbench.generation.candidates import Candidate, GenerationSettings
from workbench.generation.evidence import answers_agree, find_evidence, fits, without_evidence
from workbench.generation.model import ANSWER, CachedModel, FailedCall, PassageReply, prompt_messages
from workbench.generation.passages import PassageIndex
from workbench.generation.proposals import shown
from workbench.records import Chunk, Span


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
        evidence = {place: [self._text(need[0]) for need in each.needs] for place, each in enumerate(checked) if each.needs}
        replies = self._ask([(checked[place].question, texts) for place, texts in evidence.items()], "check evidence")
        for place, reply in zip(evidence, replies, strict=True):
            checked[place] = self._from_evidence(checked[place], reply)
        pieces = [(place, text) for place, texts in evidence.items() if len(texts) > 1 and not checked[place].dropped for text in texts]
        alone = self._ask([(checked[place].question, [text]) for place, text in pieces], "check pieces of evidence")
        for (place, _), reply in zip(pieces, alone, strict=True):
            if not checked[place].dropped:
                checked[place] = self._not_alone(checked[place], reply)
        return checked

    def only_there(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Ask with the neighbours and with what a search finds, without the evidence. An equal answer found there becomes an alternative."""
        checked, open_places = list(candidates), list(range(len(candidates)))
        for turn in range(self.settings.alternatives + 1):
            around = [self._around(checked[place]) for place in open_places]
            asked = [(checked[place].question, [shown(part) for part in parts]) for place, parts in zip(open_places, around, strict=True)]
            replies = self._ask(asked, "check other passages")
            found: list[int] = []
            for place, parts, reply in zip(open_places, around, replies, strict=True):
                before = checked[place]
                checked[place] = self._elsewhere(before, reply, parts, turn < self.settings.alternatives)
                if checked[place].needs != before.needs:
                    found.append(place)
            self._confirm(checked, found)
            open_places = [place for place in found if not checked[place].dropped]
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
        asked = [(checked[place].question, [self._text(checked[place].needs[0][-1])]) for place in places]
        for place, reply in zip(places, self._ask(asked, "check alternatives"), strict=True):
            if isinstance(reply, FailedCall):
                checked[place] = checked[place].drop(reply.reason, reply.detail)
            elif not self._same(checked[place], reply):
                checked[place] = checked[place].drop("answered_elsewhere", self._text(checked[place].needs[0][-1]))

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
