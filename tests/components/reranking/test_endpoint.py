"""A rerank endpoint against a real server on the loopback: what is asked, what is believed, and one line for everything else."""

from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from workbench.components.registry import RERANKERS
from workbench.components.reranking.base import Candidates
from workbench.components.reranking.endpoint import EndpointReranker
from workbench.core.errors import ModelError, RunError, WorkbenchError
from workbench.core.storage.vector_cache import VectorCache
from workbench.runner.experiment.components import component

from .conftest import RerankServer, relevance

TEXTS = ["the cat sat", "on the mat", "a theory of everything", "short", "😀 naïve café"]
Make = Callable[..., EndpointReranker]


@pytest.fixture
def make(rerank_server: RerankServer) -> Make:
    return lambda **settings: EndpointReranker(**({"model": "small", "base_url": rerank_server.address, "retries": 1} | settings))


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.sqlite")


def candidates(query: str = "cats", texts: list[str] = TEXTS) -> Candidates:
    return Candidates(query, texts, np.zeros(len(texts)))


def kept(reranker: EndpointReranker, cache: VectorCache, *queries: str) -> int:
    return len(cache.present(reranker._keys([(query, text) for query in queries for text in TEXTS])))


def test_a_request_has_one_query_and_its_scores_are_matched_by_index(make, rerank_server, cache):
    pools = [candidates("cats"), candidates("mats", TEXTS[:2]), candidates("cats", TEXTS[::-1])]
    scores = make().scores(pools, cache)
    for pool, found in zip(pools, scores, strict=True):
        assert found == pytest.approx([relevance(pool.query, text) for text in pool.texts], abs=1e-6)
    assert [(body["query"], sorted(body["documents"])) for body in rerank_server.asked] == [
        ("cats", sorted(TEXTS)),
        ("mats", sorted(TEXTS[:2])),
    ]
    assert [(body["model"], body["top_n"]) for body in rerank_server.asked] == [("small", 5), ("small", 2)]


def test_a_request_has_at_most_batch_texts(make, rerank_server, cache):
    (scores,) = make(batch_texts=2).scores([candidates()], cache)
    assert scores == pytest.approx([relevance("cats", text) for text in TEXTS], abs=1e-6)
    assert [len(body["documents"]) for body in rerank_server.asked] == [2, 2, 1]


def test_scored_pairs_are_not_asked_for_again_by_a_larger_pool(make, rerank_server, cache):
    make(pool=3).scores([candidates("cats", TEXTS[:3])], cache)
    make(pool=5, timeout=9, retries=2).scores([candidates()], cache)
    assert [sorted(body["documents"]) for body in rerank_server.asked] == [sorted(TEXTS[:3]), sorted(TEXTS[3:])]
    make(model="other").scores([candidates()], cache)
    assert len(rerank_server.asked[2]["documents"]) == 5


def test_the_key_is_that_of_the_named_variable(make, rerank_server, cache, monkeypatch):
    monkeypatch.setenv("MY_KEY", " sk-mine\n")
    make(api_key_env="MY_KEY").scores([candidates()], cache)
    assert rerank_server.headers[0]["authorization"] == "Bearer sk-mine"
    assert "sk-mine" not in str(make(api_key_env="MY_KEY").identity())


def test_a_key_in_the_place_of_a_score_is_not_repeated(make, rerank_server, cache, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-aB3xY9zQ7LmN")
    rerank_server.faults = [{"raw": b'{"results": [{"index": 0, "relevance_score": "sk-aB3xY9zQ7LmN"}]}'}]
    with pytest.raises(RunError, match="returned the relevance_score '…' for the query"):
        make(api_key_env="MY_KEY").scores([candidates(texts=TEXTS[:1])], cache)


def test_only_a_server_on_this_machine_needs_no_key(make, cache):
    with pytest.raises(
        ModelError, match=r"rerank 'endpoint': small at http://192.0.2.1/v1 needs a key, and RERANK_API_KEY is not set; set"
    ):
        make(base_url="http://192.0.2.1/v1").scores([candidates()], cache)


def test_a_key_in_the_place_of_its_name_is_refused_and_not_printed():
    faults: list[str] = []
    settings = {"kind": "endpoint", "model": "m", "base_url": "http://localhost:1", "api_key_env": "sk-very-secret"}
    assert component("rerank", settings, RERANKERS, faults) is None
    assert "never write a key here" in faults[0]
    assert "secret" not in str(faults)


def test_a_busy_server_is_asked_again(make, rerank_server, cache):
    rerank_server.faults = [{"status": 429, "message": "slow down", "headers": {"retry-after": "0.01"}}]
    (scores,) = make().scores([candidates()], cache)
    assert scores == pytest.approx([relevance("cats", text) for text in TEXTS], abs=1e-6)
    assert len(rerank_server.asked) == 2


def test_a_server_that_hangs_is_given_up_after_the_timeout(make, rerank_server, cache):
    rerank_server.faults, rerank_server.lasting = [{"hang": True}], True
    with pytest.raises(RunError, match=r"failed 1 times, the last time with .*[tT]ime"):
        make(timeout=0.3, retries=0).scores([candidates()], cache)


def test_a_server_that_refuses_is_one_line(make, rerank_server, cache):
    for status, said in {
        401: r"refused the key \(401",
        404: r"was not found \(404.*; check rerank.model and rerank.base_url",
        422: r"refused the request \(422.*; check the settings of rerank",
        503: r"failed 2 times, the last time with 503.*; check that the server runs",
    }.items():
        rerank_server.faults, rerank_server.lasting = [{"status": status, "message": "out of\nluck"}], True
        with pytest.raises(WorkbenchError, match=said) as caught:
            make().scores([candidates()], cache)
        assert len(caught.value.lines) == 1


def scored(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[list[dict[str, Any]]], object]:
    return lambda results: {"results": change(results)}


def test_a_reply_without_a_number_for_each_text_is_one_line_and_nothing_of_the_batch_is_kept(make, rerank_server, tmp_path, wording):
    reranker = make(retries=0)

    def scores(answer):
        rerank_server.faults = [{}, {"answer": answer}]
        cache = VectorCache(Path(mkdtemp(dir=tmp_path)) / "vectors.sqlite")
        try:
            reranker.scores([candidates("a"), candidates("b"), candidates("c")], cache)
        finally:
            assert (kept(reranker, cache, "a"), kept(reranker, cache, "b", "c")) == (5, 0)

    answers = {
        "one too few": scored(lambda good: good[1:]),
        "one too many": scored(lambda good: [*good, good[0]]),
        "one index twice": scored(lambda good: [*good[1:], good[1]]),
        "an index beyond the texts": scored(lambda good: [good[0] | {"index": 7}, *good[1:]]),
        "no index": scored(lambda good: [{"relevance_score": 0.5}, *good[1:]]),
        "no score": scored(lambda good: [{"index": good[0]["index"]}, *good[1:]]),
        "not a number": scored(lambda good: [good[0] | {"relevance_score": float("nan")}, *good[1:]]),
        "a score as text": scored(lambda good: [good[0] | {"relevance_score": "0.5"}, *good[1:]]),
        "true": scored(lambda good: [good[0] | {"relevance_score": True}, *good[1:]]),
        "a number": scored(lambda _: [5]),
        "no list": scored(lambda _: None),
        "a list alone": lambda good: good,
        "a text": lambda _: "no",
    }
    wording(scores, answers, RunError)


def test_a_score_too_large_to_rank_by_is_one_line(make, rerank_server, cache):
    rerank_server.faults = [{"answer": scored(lambda good: [good[0] | {"relevance_score": 1e6}, *good[1:]])}]
    with pytest.raises(RunError, match=r"rerank 'endpoint' gave the score 1000000.0 for"):
        make().scores([candidates()], cache)
    assert kept(make(), cache, "cats") == 0


def test_an_address_is_one_without_a_password_or_a_query(wording):
    def fault_of(address):
        faults: list[str] = []
        assert component("rerank", {"kind": "endpoint", "model": "m", "base_url": address}, RERANKERS, faults) is None
        assert "secret" not in faults[0]
        return " | ".join(faults)

    wording(fault_of, ["ftp://localhost", "http://me:secret@localhost/v1", "http://localhost/v1?token=secret", ""], None)


def test_a_reply_that_could_harm_is_one_line(make, rerank_server, cache, monkeypatch, wording):
    def scores(fault):
        rerank_server.faults = [fault]
        make(retries=0).scores([candidates()], cache)

    monkeypatch.setattr("workbench.llm.models.http.LARGEST_REPLY", 2**20)
    faults = {
        "too long": {"raw": b" " * (2**20 + 1)},
        "nested too deeply": {"raw": b"[" * 4_000},
        "no UTF-8": {"raw": b"\xff\xfe{"},
        "a redirect": {"status": 307, "headers": {"location": "http://127.0.0.1:1/"}},
    }
    wording(scores, faults, WorkbenchError)
    assert len(rerank_server.asked) == len(faults)
