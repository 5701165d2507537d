"""Ask for questions about passages and for reference answers, and find evidence in the documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.datasets.labels import TextSearch
from workbench.generation.candidates import Candidate, GenerationSettings, QuestionKind, WrittenReference
from workbench.generation.model import (
    FACTOID,
    MULTI_HOP,
    REFERENCE,
    UNANSWERABLE,
    CachedModel,
    FailedCall,
    ProposedFactoid,
    ProposedMultiHop,
    ProposedUnanswerable,
    ReferenceReply,
    StructuredReply,
    prompt_messages,
)
from workbench.generation.passages import PassageIndex, answers_agree, find_evidence, fits
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
