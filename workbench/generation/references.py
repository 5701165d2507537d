"""Reference answers, written from the documents that fit a question best."""

from collections.abc import Sequence
from dataclasses import replace

from workbench.generation.asking import Asker, NoReply
from workbench.generation.candidates import Candidate, WrittenReference
from workbench.generation.checking.agreement import answers_agree
from workbench.generation.passages import PassageIndex
from workbench.generation.prompts import REFERENCE, prompt_named
from workbench.generation.proposals import shown
from workbench.generation.replies import ReferenceAnswer
from workbench.generation.settings import GenerationSettings
from workbench.records import Chunk


def with_references(candidates: Sequence[Candidate], asker: Asker, index: PassageIndex, settings: GenerationSettings) -> list[Candidate]:
    """Return the candidates with their reference answers. An unanswerable question that has one is dropped."""
    found = [_best_documents(each.question, index, settings) for each in candidates]
    prompts = [
        prompt_named(REFERENCE).messages([shown(passage) for _, passages in best.values() for passage in passages], each.question)
        for each, best in zip(candidates, found, strict=True)
    ]
    replies = asker.ask(prompts, ReferenceAnswer, "write reference answers")
    written = []
    for candidate, best, reply in zip(candidates, found, replies, strict=True):
        if isinstance(reply, NoReply):
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
