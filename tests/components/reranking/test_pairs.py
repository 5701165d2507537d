"""The cache of scored pairs: what is scored, what is kept, and what happens to damage."""

import sqlite3
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest

from workbench.components.reranking.base import Candidates, PairReranker
from workbench.core.errors import RunError
from workbench.core.storage.vector_cache import VectorCache


class Length(PairReranker):
    """The length of the text, noting the batches that were scored."""

    kind: Literal["length"] = "length"
    batches_scored: ClassVar[list[list[tuple[str, str]]]] = []

    def score_pairs(self, pairs):
        self.batches_scored.append(list(pairs))
        return np.array([len(text) - 1.0 for _, text in pairs])


@pytest.fixture(autouse=True)
def _nothing_scored() -> None:
    Length.batches_scored.clear()


def pool(*texts: str) -> Candidates:
    return Candidates("?", texts, np.zeros(len(texts)))


def test_a_score_of_0_and_a_negative_one_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        (scores,) = Length().scores([pool("a", "", "abc")], VectorCache(tmp_path / "vectors.sqlite"))
        assert scores.tolist() == [0, -1, 2]
    assert len(Length.batches_scored) == 1


def test_a_damaged_score_is_scored_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    Length().scores([pool("a", "ab", "abc")], cache)
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE checked_vectors SET vector = zeroblob(8) WHERE rowid = 2")
    Length.batches_scored.clear()
    (scores,) = Length().scores([pool("a", "ab", "abc")], cache)
    assert scores.tolist() == [0, 1, 2]
    assert [len(batch) for batch in Length.batches_scored] == [1]
    assert "1 damaged row, computed again" in capsys.readouterr().err


def test_a_batch_that_fails_keeps_those_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Length):
        def score_pairs(self, pairs):
            if any(text == "b" for _, text in pairs):
                raise RunError("no more", "wait")
            return super().score_pairs(pairs)

    monkeypatch.setattr("workbench.components.reranking.base._BATCH", 2)
    cache, texts = VectorCache(tmp_path / "vectors.sqlite"), ["aaaaa", "aaaa", "aaa", "aa", "b"]
    with pytest.raises(RunError, match="no more"):
        Failing().scores([pool(*texts)], cache)
    assert len(cache.present(Length()._keys([("?", text) for text in texts]))) == 4


def test_query_and_text_are_not_interchangeable() -> None:
    first, second, third = Length()._keys([("a", "bc"), ("bc", "a"), ("ab", "c")])
    assert len({first, second, third}) == 3


def test_a_wrong_number_of_scores_is_one_line(tmp_path: Path) -> None:
    class Short(Length):
        def score_pairs(self, pairs):
            return super().score_pairs(pairs)[1:]

    with pytest.raises(RunError, match=r"rerank 'length' gave scores of the shape \(1,\) for 2 pairs") as caught:
        Short().scores([pool("a", "b")], VectorCache(tmp_path / "vectors.sqlite"))
    assert len(caught.value.lines) == 1
