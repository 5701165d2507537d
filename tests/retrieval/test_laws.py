"""What holds for every retriever of the registry, those of other packages included."""

from collections.abc import Callable

import numpy as np
import pytest

from workbench.core.fingerprint import fingerprint
from workbench.retrieval.base import Corpus, QueryBatch, Retriever, SearchDepth
from workbench.retrieval.rank import tie_breakers
from workbench.retrieval.registry import RETRIEVERS
from workbench.storage.vector_cache import Vectors

WORDS = ("harbour", "berth", "pilot", "tide", "crane", "cargo", "customs", "ferry", "anchor", "buoy")
CHUNKS, DOCUMENTS, QUERIES = 60, 12, 7


@pytest.fixture(params=list(RETRIEVERS))
def retriever(request: pytest.FixtureRequest) -> Retriever:
    return RETRIEVERS[request.param](k=5)


@pytest.fixture(scope="module")
def corpus(like_embeddings: Callable[..., Vectors]) -> Corpus:
    random = np.random.default_rng(3)
    doc = np.sort(random.integers(0, DOCUMENTS, CHUNKS))
    ids = [f"d{document}:{place}-{place + 1}" for place, document in enumerate(doc)]
    texts = [" ".join(random.choice(WORDS, 8)) for _ in ids]
    breakers = tie_breakers(ids), tie_breakers([f"d{document}" for document in range(DOCUMENTS)])
    return Corpus(ids, doc, np.arange(CHUNKS), np.full(CHUNKS, 8), *breakers, vectors=like_embeddings(CHUNKS), texts=texts)


@pytest.fixture(scope="module")
def queries(like_embeddings: Callable[..., Vectors]) -> QueryBatch:
    random = np.random.default_rng(4)
    return QueryBatch([" ".join(random.choice(WORDS, 3)) for _ in range(QUERIES)], like_embeddings(QUERIES, seed=9))


def test_every_search_ranks_chunks_and_documents_strictly_by_query(retriever: Retriever, corpus: Corpus, queries: QueryBatch) -> None:
    found = retriever.searches(queries, corpus, SearchDepth(5, 100, 3, listed=10))
    assert retriever.evaluated in found
    for ranking in found.values():
        for table, item, most in ((ranking.hits, "chunk", CHUNKS), (ranking.ranking, "doc", DOCUMENTS)):
            assert list(table.columns) == ["query", "rank", item, "score"]
            assert table[item].between(0, most - 1).all()
            assert not table.duplicated(["query", item]).any()
            for _, rows in table.groupby("query"):
                assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
                assert (np.diff(rows["score"]) <= 0).all()
        assert list(ranking.queries["query"]) == list(range(QUERIES))


def test_a_document_is_ranked_by_its_best_chunk(retriever: Retriever, corpus: Corpus, queries: QueryBatch) -> None:
    ranking = retriever.searches(queries, corpus, SearchDepth(CHUNKS, 10_000, DOCUMENTS, listed=DOCUMENTS))[retriever.evaluated]
    best = ranking.hits.assign(doc=corpus.doc[ranking.hits["chunk"]]).groupby(["query", "doc"])["score"].max()
    found = ranking.ranking.set_index(["query", "doc"])["score"]
    assert found.to_dict() == pytest.approx(best.loc[found.index].to_dict(), abs=1e-9)


def test_the_same_question_gets_the_same_ranking(retriever: Retriever, corpus: Corpus, queries: QueryBatch) -> None:
    first, second = (retriever.searches(queries, corpus, SearchDepth(5, 100, 3))[retriever.evaluated] for _ in range(2))
    assert first.hits.equals(second.hits)


def test_its_identity_is_canonical_and_holds_every_setting(retriever: Retriever) -> None:
    assert fingerprint(retriever.identity()) != fingerprint(retriever.model_copy(update={"k": 6}).identity())
    assert retriever.identity()["version"] == retriever.version


def test_a_model_that_a_retriever_loads_is_part_of_its_identity_by_its_files(tmp_path) -> None:
    """Two folders with other weights under equal settings."""

    class WithModel(RETRIEVERS["bm25"]):
        def models(self) -> tuple[str, ...]:
            return (str(folder),)

    prints = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_text(name)
        prints.append(fingerprint(WithModel().identity()))
    assert prints[0] != prints[1]
