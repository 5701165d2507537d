"""Datasets as hypothesis draws them: documents, questions with grades, evidence and metadata."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from workbench.core.records import Dataset, Document, Qrel, Query, Span
from workbench.data.checks import dataset_of
from workbench.data.draft import DatasetDraft, EvidenceRow

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.just(""),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
)
METADATA = st.dictionaries(st.sampled_from(["type", "domain", "year", "Name, with a comma"]), JSON, max_size=3)


@st.composite
def drawn(draw: st.DrawFn, metadata: st.SearchStrategy[dict[str, Any]]) -> Dataset:
    """A dataset that passes the checks, named `golden`; recurrences are not yet in it."""
    draft = DatasetDraft("golden")
    for doc_id in draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True)):
        draft.documents.append((Document(doc_id, draw(TEXTS), draw(st.just("") | TEXTS)), doc_id))
    for query_id in draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True)):
        judged = {document.doc_id: draw(st.sampled_from((None, -1, 0, 1, 2))) for document, _ in draft.documents}
        answerable = any(grade is not None and grade > 0 for grade in judged.values())
        more = draw(metadata)
        more.pop("type", None) if more.get("type") == "unanswerable" else None
        answers = draw(st.just([""]) | st.lists(TEXTS, min_size=1, max_size=3, unique=True))
        query = Query(query_id, draw(TEXTS), answerable, answers[0], more, answer_variants=tuple(answers[1:]))
        draft.queries.append((query, query_id))
        draft.qrels += [(Qrel(query_id, doc_id, grade), query_id) for doc_id, grade in judged.items() if grade is not None]
        for need in range(draw(st.integers(0, 2))):
            document = draw(st.sampled_from(draft.documents))[0]
            start, end = sorted((draw(st.integers(0, len(document.text))), draw(st.integers(0, len(document.text)))))
            if document.text[start:end].strip():
                draft.evidence.append(EvidenceRow(query_id, str(need), Span(document.doc_id, start, end), None, query_id))
    return dataset_of(draft)


@pytest.fixture(scope="session")
def datasets() -> Callable[..., st.SearchStrategy[Dataset]]:
    """Datasets with this metadata, by default any JSON."""

    def of(metadata: st.SearchStrategy[dict[str, Any]] = METADATA) -> st.SearchStrategy[Dataset]:
        return drawn(metadata)

    return of
