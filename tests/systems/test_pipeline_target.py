"""An index of Workbench's own as a target keeps to the filters of questions."""

import asyncio
from typing import Literal

import pytest

from workbench.core.imported_functions import source_identity
from workbench.core.records import Document, Query
from workbench.llm.models.files import MINILM, model_fingerprint
from workbench.llm.session import CallResources
from workbench.systems.base import TargetResources
from workbench.systems.pipeline import PipelineTarget


def document(group: str, text: str) -> Document:
    return Document(f"budget-{group}", text, "", {"groups": [group]})


@pytest.mark.parametrize("mode", ["replace", "upsert", "append"])
def test_hits_and_sources_are_of_documents_that_the_filter_allows_by_their_latest_metadata(
    mode: Literal["replace", "upsert", "append"],
) -> None:
    target = PipelineTarget(name="ours", answering={"kind": "extractive"}, mode=mode)
    asked = Query("q", "What is the budget?", where={"groups": "hr"})

    async def found() -> list[list[str | None]]:
        async with target.session(TargetResources(CallResources())) as session:
            await session.ingest(
                [document("hr", "The budget is nine million euros."), document("finance", "The budget is ten million euros.")]
            )
            hits, answer = await session.search(asked, 5), await session.answer(asked)
            await session.ingest([Document("budget-hr", "The budget is eleven.", "", {"groups": ["finance"]})])
            return [[hit.doc_id for hit in each] for each in (hits, answer.sources or (), await session.search(asked, 5))]

    assert asyncio.run(found()) == [["budget-hr"], ["budget-hr"], []]


def test_the_identity_has_the_contents_of_the_models_and_the_code_of_the_chunker() -> None:
    chunker = {"kind": "callable", "callable": "textwrap:wrap"}
    identity = PipelineTarget(name="ours", chunker=chunker, answering={"kind": "extractive"}).identity()
    assert source_identity("textwrap:wrap")[0] in str(identity["chunker"])
    assert all(model_fingerprint(MINILM) in str(identity[part]) for part in ("embedder", "answering"))
