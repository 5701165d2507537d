"""Ask for questions about passages, and find their evidence in the documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.datasets.labels import TextSearch
from workbench.generation.asking import Asker, NoReply
from workbench.generation.candidates import Candidate
from workbench.generation.checking.evidence import find_evidence, fits
from workbench.generation.prompts import FACTOID, MULTI_HOP, UNANSWERABLE, prompt_named
from workbench.generation.replies import ProposedFactoid, ProposedMultiHop, ProposedUnanswerable, StructuredReply
from workbench.generation.settings import QuestionKind
from workbench.records import Chunk

PROMPTS: Mapping[QuestionKind, tuple[str, type[StructuredReply]]] = {
    "factoid": (FACTOID, ProposedFactoid),
    "multi_hop": (MULTI_HOP, ProposedMultiHop),
    "unanswerable": (UNANSWERABLE, ProposedUnanswerable),
}
_REFERS = re.compile(
    r"\b(?:the|this|that|these|those|both|above|given|provided|following) (?:\w+ )?(?:passage|text|document|section|excerpt|paragraph|context|quote)s?\b",
    re.IGNORECASE,
)


def shown(passage: Chunk) -> str:
    """Return a passage as the model reads it, below its title and headings."""
    return f"Section: {passage.header}\n\n{passage.text}" if passage.header else passage.text


def propose(candidates: Sequence[Candidate], earlier: Mapping[str, Sequence[str]], asker: Asker) -> list[Candidate]:
    """Return the candidates with their questions. `earlier` has the questions that were asked about a passage before, by its id."""
    proposed: list[Candidate] = []
    for kind, (name, reply_kind) in PROMPTS.items():
        mine = [candidate for candidate in candidates if candidate.kind == kind]
        prompts = [
            prompt_named(name).messages([shown(source) for source in each.sources], earlier=earlier.get(each.sources[0].chunk_id, ()))
            for each in mine
        ]
        replies = asker.ask(prompts, reply_kind, f"ask for {kind.replace('_', '-')} questions")
        proposed += [_proposed(candidate, reply) for candidate, reply in zip(mine, replies, strict=True)]
    return proposed


def _proposed(candidate: Candidate, reply: StructuredReply | NoReply) -> Candidate:
    if isinstance(reply, NoReply):
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
