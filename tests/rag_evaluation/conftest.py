"""NFCorpus in a server of notes, a client that writes texts for it, and a model that judges: session-scoped, since each takes a while."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gguf import NAME, gguf_file
from tests.rag_evaluation.evaluation_model import EvaluationModel, configured
from tests.rag_evaluation.ground_truth import GroundTruth, ground_truth
from tests.rag_evaluation.sessions import SECONDS, SharedSession, shared_session
from workbench.core.records import Document, Query
from workbench.data.sources import NfcorpusSource
from workbench.llm.session import CallResources
from workbench.systems.base import TargetResources
from workbench.systems.mcp.target import McpTarget

ROOT = Path(__file__).parents[2]
INGESTION = 300.0
NO_MODEL = (
    f"needs a chat model: set RAG_EVAL_PROVIDER, or RAG_EVAL_OLLAMA_MODEL with Ollama running, or run `make test`, which fetches {NAME}"
)
Model = tuple[dict[str, object], EvaluationModel] | None


@dataclass(frozen=True)
class NfcorpusTestData:
    """The five questions, and a session with the server that has every document."""

    cases: list[GroundTruth]
    documents: dict[str, Document]
    client: SharedSession


@pytest.fixture(scope="session")
def chat_model() -> Model:
    """The settings of the model for a server's texts, and the model that judges; None without any."""
    path = gguf_file()
    found = configured(path if path.is_file() else None)
    return (dict(found[0]), EvaluationModel(found[1])) if found else None


@pytest.fixture(scope="session")
def evaluation_llm(chat_model: Model) -> EvaluationModel:
    """A model with `async evaluate(prompt) -> str`."""
    assert chat_model, NO_MODEL
    return chat_model[1]


@pytest.fixture(scope="session")
def mcp_sampling_client(chat_model: Model) -> Iterator[SharedSession]:
    """A session with the notes server. The server's requests for texts go to the configured model, if there is one."""
    target = McpTarget(
        name="notes",
        command="python",
        args=[str(ROOT / "experiments" / "targets" / "notes_server.py")],
        search={
            "tool": "semantic_search",
            "arguments": {"query": "{query}", "limit": "{k}"},
            "reply": {"hits": "$.results", "id": "note_id", "text": "content", "score": "score"},
        },
        answer={
            "tool": "semantic_search_answer",
            "arguments": {"query": "{query}", "limit": 5},
            "reply": {
                "text": "$.generated_answer",
                "sources": {"hits": "$.sources", "id": "note_id"},
                "degraded": [{"path": "$.search_method", "in": ["semantic_sampling_unsupported"]}],
            },
        },
        ingest={"tool": "update_note", "arguments": {"note_id": "{doc_id}", "title": "{title}", "content": "{text}", "create": True}},
        timeout=SECONDS,
        sampling=chat_model[0] | {"max_tokens": 500} if chat_model else None,
    )
    with shared_session(target, TargetResources(CallResources())) as session:
        yield session


@pytest.fixture(scope="session")
def nfcorpus_test_data(mcp_sampling_client: SharedSession) -> NfcorpusTestData:
    """Every document of NFCorpus in the notes server, which can find the first and the last of them."""
    folder = (ROOT / os.environ.get("WORKBENCH_DATA", "../shared/data") / "nfcorpus").resolve()
    if not folder.is_dir():
        pytest.skip(f"the big set nfcorpus is not in {folder.parent}: set WORKBENCH_DATA")
    dataset = NfcorpusSource(path=str(folder), subset="five").load()
    documents = {document.doc_id: document for document in dataset.documents}
    cases = ground_truth()
    missing = {doc_id for case in cases for doc_id in case.expected} - documents.keys()
    assert not missing, f"expected documents that the corpus lacks: {sorted(missing)}"
    mcp_sampling_client.ingest(dataset.documents, INGESTION)
    for document in (dataset.documents[0], dataset.documents[-1]):
        found = mcp_sampling_client.search(Query("ready", document.title))
        assert document.doc_id in [hit.doc_id for hit in found], f"{document.doc_id} is not found after the ingestion"
    return NfcorpusTestData(cases, documents, mcp_sampling_client)
