"""Write reference answers from the documents that labels call most relevant, as a file for a person to review."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.files import parsed_json, write_text
from workbench.errors import InputError
from workbench.generation.model import REFERENCE, Asker, NoReply, ReferenceAnswer, prompt_named
from workbench.records import ACCEPTED_BY, PROVENANCE, SYNTHETIC, Dataset, Document, Query

# The most tokens of a reference answer.
ANSWER_TOKENS = 500


@dataclass(frozen=True)
class ReviewableAnswer:
    """A question with its reference answer, or the reason why it is `missing`.

    `expected` are the documents that a search should find, and `read` those that the model read, both the most relevant first.
    """

    query: Query
    expected: tuple[str, ...]
    read: tuple[str, ...]
    answer: str = ""
    missing: str = ""
    failed: bool = False


def labelled_answers(
    dataset: Dataset, queries: Sequence[Query], asker: Asker, documents: int = 5, grade: int = 1
) -> list[ReviewableAnswer]:
    """Ask the model for an answer to each question, from the most relevant documents only.

    Parameters
    ----------
    documents
        How many documents are read, of the highest grades. Equal grades are in the order of the judgements.
    grade
        The lowest relevance of an expected document.

    Raises
    ------
    InputError
        If a question has no document of that grade.
    """
    texts = {document.doc_id: document for document in dataset.documents}
    asked = [_open_answer(query, _expected(dataset, query, grade), documents) for query in queries]
    prompts = [prompt_named(REFERENCE).messages([_page(texts[doc_id]) for doc_id in each.read], each.query.text) for each in asked]
    replies = asker.ask(prompts, ReferenceAnswer, "write reference answers")
    return [_answered(each, reply) for each, reply in zip(asked, replies, strict=True)]


def _expected(dataset: Dataset, query: Query, grade: int) -> tuple[str, ...]:
    judged = [(qrel.relevance, qrel.doc_id) for qrel in dataset.qrels if qrel.query_id == query.query_id and qrel.relevance >= grade]
    if not judged:
        raise InputError(
            f"the question {query.query_id} has no document of grade {grade} or more", "lower --grade, or name others in --questions"
        )
    return tuple(doc_id for _, doc_id in sorted(judged, key=lambda each: -each[0]))


def _open_answer(query: Query, expected: tuple[str, ...], documents: int) -> ReviewableAnswer:
    return ReviewableAnswer(query, expected, expected[:documents])


def _page(document: Document) -> str:
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def _answered(asked: ReviewableAnswer, reply: ReferenceAnswer | NoReply) -> ReviewableAnswer:
    if isinstance(reply, NoReply):
        return ReviewableAnswer(asked.query, asked.expected, asked.read, missing=reply.detail, failed=reply.reason == "failed")
    text = reply.answer.strip()
    if not reply.answerable or not text:
        return ReviewableAnswer(asked.query, asked.expected, asked.read, missing="the model found no answer in these documents")
    return ReviewableAnswer(asked.query, asked.expected, asked.read, text)


def write_labelled_answers(answers: Sequence[ReviewableAnswer], asker: Asker, file: Path) -> None:
    """Write the answers as a JSON list, each marked as synthetic until a person writes a name into `accepted_by`.

    Raises InputError if the file has an answer that a person accepted, so that no review is overwritten.
    """
    if file.exists() and (names := sorted(set(_reviewers(file)))):
        raise InputError(f"{file} has answers accepted by {', '.join(names)}", "name another file with --output")
    write_text(file, json.dumps([_row(answer, asker) for answer in answers], indent=2, ensure_ascii=False) + "\n")


def _reviewers(file: Path) -> Iterator[str]:
    try:
        rows = parsed_json(file.read_bytes())
        for row in rows:
            if name := str(row.get(ACCEPTED_BY) or "").strip():
                yield name
    except (OSError, ValueError, TypeError, AttributeError):
        raise InputError(f"{file} exists and is no file of reference answers", "name another file with --output") from None


def _row(answer: ReviewableAnswer, asker: Asker) -> dict[str, Any]:
    provenance = {
        "part": "answer",
        "model": asker.model,
        "provider": asker.client.kind,
        "prompts": {REFERENCE: prompt_named(REFERENCE).digest},
        "documents": list(answer.read),
        "max_tokens": asker.max_tokens,
    }
    return {
        "query_id": answer.query.query_id,
        "query_text": answer.query.text,
        "ground_truth_answer": answer.answer,
        "expected_document_ids": list(answer.expected),
        "highly_relevant_count": len(answer.expected),
        SYNTHETIC: True,
        ACCEPTED_BY: "",
        PROVENANCE: provenance,
    } | ({"missing": answer.missing} if answer.missing else {})
