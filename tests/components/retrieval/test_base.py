from pathlib import Path

import numpy as np

from workbench.components.registry import RETRIEVERS
from workbench.components.retrieval.base import Corpus, SearchDepth, enough, long_table
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.rank import tie_breakers
from workbench.core.fingerprint import fingerprint


def searchable(group: list[int], tokens: list[int]) -> Corpus:
    n = len(group)
    ids = [str(place) for place in range(n)]
    zeros = np.zeros(n, dtype=np.int64)
    return Corpus(ids, zeros, np.array(group), np.array(tokens), tie_breakers(ids), zeros, np.zeros((n, 1), np.float32))


def test_it_takes_as_many_chunks_as_reach_the_slices_and_the_tokens() -> None:
    # By rank: parent 0 (10 tokens), parent 0 again, parent 1 (20), parent 2 (15), parent 1 again. Not reached: one more than there are.
    corpus, ranking = searchable([0, 0, 1, 2, 1], [10, 10, 20, 15, 20]), np.array([[0, 1, 2, 3, 4]])
    cases = [(1, 0, 1), (2, 0, 3), (3, 0, 4), (4, 0, 6), (1, 10, 1), (1, 11, 3), (1, 30, 3), (1, 31, 4), (3, 10, 4), (2, 45, 4), (1, 46, 6)]
    assert [(slices, tokens, *enough(ranking, corpus, SearchDepth(slices, tokens, 0))) for slices, tokens, _ in cases] == cases


def test_each_row_has_its_own_width() -> None:
    corpus = searchable([0, 0, 1], [1, 1, 1])
    assert enough(np.array([[0, 1, 2], [0, 2, 1]]), corpus, SearchDepth(2, 0, 0)).tolist() == [3, 2]


def test_rectangles_become_rows_cut_at_their_widths() -> None:
    table = long_table(
        np.array([5, 6]),
        {"chunk": np.array([[7, 8, 9], [4, 5, 6]]), "score": np.array([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]])},
        np.array([1, 3]),
    )
    assert table.to_dict("list") == {
        "query": [5, 6, 6, 6],
        "rank": [1, 1, 2, 3],
        "chunk": [7, 4, 5, 6],
        "score": [0.9, 0.6, 0.5, 0.4],
    }


def test_the_table_names_every_retriever_by_its_kind() -> None:
    assert {kind: retriever.model_fields["kind"].default for kind, retriever in RETRIEVERS.items()} == {kind: kind for kind in RETRIEVERS}


def test_a_retriever_refuses_what_it_does_not_have(wording) -> None:
    wording(lambda wrong: DenseRetriever(**wrong), [{"k": 0}, {"k": 1001}, {"search": "fast"}, {"top_k": 5}])


def test_a_model_that_a_retriever_loads_is_part_of_its_identity_by_its_files(tmp_path: Path) -> None:
    class WithModel(BM25Retriever):
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
