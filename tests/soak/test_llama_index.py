"""Real retrievers and query engines of LlamaIndex, whose packages are too large for every environment."""

import os
import site
import subprocess
from pathlib import Path

import pytest

from tests.environments import install

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[2]
# Runs in an environment with LlamaIndex, and with Workbench and its packages on the path.
SCRIPT = """
import asyncio

from llama_index.core.base.response.schema import Response
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from workbench.llm.session import CallResources
from workbench.core.records import Query
from workbench.systems.base import TargetResources
from workbench.systems.callable.target import PythonTarget, target_of

TEXTS = {"leave": "Employees get 25 days of paid leave.", "travel": "A taxi is paid after ten in the evening."}
NODES = [
    TextNode(
        id_=f"{doc_id}-1", text=text, metadata={"file_name": doc_id}, start_char_idx=4, end_char_idx=4 + len(text),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)},
    )
    for doc_id, text in TEXTS.items()
]


class WordsRetriever(BaseRetriever):
    def _retrieve(self, query_bundle):
        words = set(query_bundle.query_str.lower().split())
        scored = [NodeWithScore(node=node, score=float(len(words & set(node.text.lower().split())))) for node in NODES]
        return sorted(scored, key=lambda each: -each.score)


class FirstPassage(CustomQueryEngine):
    retriever: BaseRetriever

    def custom_query(self, query_str):
        nodes = self.retriever.retrieve(query_str)
        return Response(nodes[0].text, source_nodes=nodes)


def asked(target):
    async def ask():
        async with target.session(TargetResources(CallResources())) as session:
            query = Query("q", "days of leave")
            return await session.search(query, 2) if target.searches else await session.answer(query)

    return asyncio.run(ask())


retriever = WordsRetriever()
first, second = asked(target_of("mine", retriever))
assert (first.doc_id, first.text, first.score, first.start, first.end) == ("leave", TEXTS["leave"], 2.0, 4, 40), first
assert (second.doc_id, dict(second.metadata)) == ("travel", {"file_name": "travel"}), second

engine = FirstPassage(retriever=retriever)
target = target_of("mine", engine)
assert target.roles == ("answer",), target.roles
answer = asked(target)
assert (answer.text, [source.doc_id for source in answer.sources]) == (TEXTS["leave"], ["leave", "travel"]), answer
assert list(asked(PythonTarget(name="mine", search=engine))) == list(answer.sources)

synthesizer = get_response_synthesizer(llm=MockLLM(max_tokens=5))
engine = RetrieverQueryEngine(retriever=retriever, response_synthesizer=synthesizer)
answer = asked(target_of("mine", engine))
assert answer.text and [source.doc_id for source in answer.sources] == ["leave", "travel"], answer
print("done")
"""


@pytest.fixture(scope="module")
def llama_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with LlamaIndex."""
    return install(tmp_path_factory.mktemp("llama_index"), "llama-index-core>=0.14,<0.15") / "python"


def test_retrievers_and_query_engines_of_llama_index_work_as_they_are(llama_index: Path, tmp_path: Path) -> None:
    script = tmp_path / "system.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT), *site.getsitepackages()])
    done = subprocess.run([llama_index, script], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["done"]), done.stderr[-3000:]
