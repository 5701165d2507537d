"""An index of Workbench's own as a target keeps to the filters of questions."""

import asyncio
from typing import Literal

import pytest

from workbench.llm.session import CallResources
from workbench.records import Document, Query
from workbench.targets.base import TargetResources
from workbench.targets.pipeline import PipelineTarget


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
