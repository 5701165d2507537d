"""Write reference answers from the documents that labels call most relevant, as a file for a person to review."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.core.files import parsed_json, write_text
from workbench.core.records import ACCEPTED_BY, PROVENANCE, SYNTHETIC, Dataset, Document, Query
from workbench.people.generation.model import REFERENCE, CachedModel, FailedCall, ReferenceReply, prompt_digest, prompt_messages

# The most tokens of a reference answer.
ANSWER_TOKENS = 500


def labelled_answers(
    dataset: Dataset, queries: Sequence[Query], model: CachedModel, documents: int = 5, grade: int = 1
) -> list[dict[str, Any]]:
    """Ask the model for an answer to each question, from the most relevant documents only.

    Parameters
    ----------
    documents
        How many documents are read, of the highest grades. Equal grades are in the order of the judgements.
    grade
        The lowest relevance of an expected document.

    Returns
    -------
    list of dict
        A row for each question, marked as synthetic until a person writes a name into `accepted_by`. Where the model gave no answer, `missing`
        has the reason.

    Raises
    ------
    InputError
        If a question has no document of that grade.
    """
    texts = {document.doc_id: document for document in dataset.documents}
    expected = [_expected(dataset, query, grade) for query in queries]
    prompts = [
        prompt_messages(REFERENCE, [_page(texts[doc_id]) for doc_id in doc_ids[:documents]], query.text)
        for query, doc_ids in zip(queries, expected, strict=True)
    ]
    replies = model.ask(prompts, ReferenceReply, "write reference answers")
    return [_row(*triple, documents, model) for triple in zip(queries, expected, replies, strict=True)]


def _expected(dataset: Dataset, query: Query, grade: int) -> list[str]:
    """Return the documents that a search should find, the most relevant first."""
    judged = [(qrel.relevance, qrel.doc_id) for qrel in dataset.qrels if qrel.query_id == query.query_id and qrel.relevance >= grade]
    if not judged:
        raise InputError(
            f"the question {query.query_id} has no document of grade {grade} or more", "lower --grade, or name others in --questions"
        )
    return [doc_id for _, doc_id in sorted(judged, key=lambda pair: -pair[0])]


def _page(document: Document) -> str:
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def _row(query: Query, expected: Sequence[str], reply: ReferenceReply | FailedCall, documents: int, model: CachedModel) -> dict[str, Any]:
    if isinstance(reply, FailedCall):
        answer, missing = "", reply.detail
    else:
        answer = reply.answer.strip() if reply.answerable else ""
        missing = "" if answer else "the model found no answer in these documents"
    provenance = {
        "part": "answer",
        "model": model.name,
        "provider": model.client.kind,
        "prompts": {REFERENCE: prompt_digest(REFERENCE)},
        "documents": list(expected[:documents]),
        "max_tokens": model.max_tokens,
    }
    row = {
        "query_id": query.query_id,
        "query_text": query.text,
        "ground_truth_answer": answer,
        "expected_document_ids": list(expected),
        "highly_relevant_count": len(expected),
        SYNTHETIC: True,
        ACCEPTED_BY: "",
        PROVENANCE: provenance,
    }
    return row | ({"missing": missing} if missing else {})


def write_labelled_answers(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write the rows as a JSON list. Raises InputError if the file has an answer that a person accepted, so that no review is overwritten."""
    if file.exists():
        try:
            names = sorted({str(row.get(ACCEPTED_BY) or "").strip() for row in parsed_json(file.read_bytes())} - {""})
        except (OSError, ValueError, TypeError, AttributeError):
            raise InputError(f"{file} exists and is no file of reference answers", "name another file with --output") from None
        if names:
            raise InputError(f"{file} has answers accepted by {', '.join(names)}", "name another file with --output")
    write_text(file, json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")
