"""What holds for every embedder on a server, whatever it speaks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from workbench.components.embedding.embed import MemoryVectorCache, embed, text_keys
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.embedding.remote import RemoteEmbedder
from workbench.core.errors import ModelError, RunError
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.models.files import MINILM
from workbench.runner.experiment.components import component

from .conftest import DIMENSION, Provider, vector

SERVED = sorted(kind for kind, embedder in EMBEDDERS.items() if issubclass(embedder, RemoteEmbedder))
TEXTS = ["the cat sat", "on the mat", "a theory of everything", "short", "😀 naïve café"]
Make = Callable[..., RemoteEmbedder]


@pytest.fixture(params=SERVED)
def make(request: pytest.FixtureRequest, provider: Provider) -> Make:
    provider.models.append({"name": "other:latest", "digest": "two"})

    def build(**settings: Any) -> RemoteEmbedder:
        usual = {"kind": request.param, "model": "words", "max_tokens": 64, "tokenizer": "cl100k", "retries": 1}
        base = provider.host + ("/v1" if request.param == "openai" else "")
        return EMBEDDERS[request.param].model_validate(usual | {"base_url": base} | settings)  # type: ignore[return-value]  # the table is of all embedders

    return build


def unit(texts: list[str]) -> np.ndarray:
    found = np.array([vector(text) for text in texts])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_vectors_are_unit_in_the_order_of_the_texts_and_asked_for_in_batches(make: Make, provider: Provider) -> None:
    made = make(batch_texts=2).encode(TEXTS, "document")
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, unit(TEXTS), atol=1e-6)
    assert [len(batch) for batch in provider.inputs()] == [2, 2, 1]


def test_prompts_go_before_the_texts_of_their_role_and_into_lengths_and_keys(make: Make) -> None:
    plain, asking = make(tokenizer=MINILM), make(query_prompt="query: ", tokenizer=MINILM)
    np.testing.assert_allclose(asking.encode(TEXTS, "query"), unit([f"query: {text}" for text in TEXTS]), atol=1e-6)
    assert (asking.lengths(TEXTS, "query") - asking.lengths(TEXTS, "document")).tolist() == [2] * len(TEXTS)
    assert text_keys(TEXTS, asking, "document") == text_keys(TEXTS, plain, "document")
    assert not set(text_keys(TEXTS, asking, "query")) & set(text_keys(TEXTS, plain, "query"))


@pytest.mark.parametrize(("vocabulary", "seen"), [("cl100k", 8), (MINILM, 6)])
def test_what_is_beyond_the_window_is_cut_here_and_counted(make: Make, provider: Provider, vocabulary: str, seen: int) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    embedder = make(max_tokens=8, tokenizer=vocabulary)
    embedder.encode([" ".join(words), "short"], "document")
    assert provider.inputs() == [[" ".join(words[:seen]), "short"]]
    assert embedder.lengths([" ".join(words)], "document").tolist() == [10 + 8 - seen]


def test_a_busy_server_is_asked_again(make: Make, provider: Provider) -> None:
    provider.faults = [{"status": 429, "message": "slow down", "headers": {"retry-after": "0.01"}}]
    np.testing.assert_allclose(make().encode(TEXTS, "document"), unit(TEXTS), atol=1e-6)
    assert provider.inputs() == [TEXTS, TEXTS]


def test_a_server_that_goes_on_failing_is_one_line_after_a_bounded_number_of_tries(make: Make, provider: Provider) -> None:
    for tries, status in enumerate((429, 500, 503), start=1):
        provider.faults, provider.lasting = [{"status": status, "message": "out of\nmemory"}], True
        line = rf"failed 2 times, the last time with {status}: .*out of memory.*; check that the server runs"
        with pytest.raises(RunError, match=line) as caught:
            make().encode(TEXTS, "document")
        assert len(provider.asked) == 2 * tries
        assert len(caught.value.lines) == 1
        assert provider.host in caught.value.lines[0]


def test_a_server_that_hangs_is_given_up_after_the_timeout(make: Make, provider: Provider) -> None:
    provider.faults, provider.lasting = [{"hang": True}], True
    with pytest.raises(RunError, match=r"failed 1 times, the last time with .*[tT]ime"):
        make(timeout=0.3, retries=0).encode(TEXTS, "document")


def test_a_server_that_is_not_there_is_one_line(make: Make, provider: Provider) -> None:
    embedder = make(retries=0)
    provider.shutdown()
    provider.server_close()
    with pytest.raises(RunError, match=r"failed 1 times, the last time with .*Connect"):
        embedder.encode(TEXTS, "document")


def test_vectors_that_are_none_are_refused_and_nothing_of_the_batch_is_kept(
    make: Make, provider: Provider, tmp_path: Path, wording
) -> None:
    cache, embedder = VectorCache(tmp_path / "vectors.sqlite"), make()

    def embed_with(rows: Callable) -> None:
        provider.faults = [{"rows": rows}]
        try:
            embed(TEXTS, embedder, "document", cache)
        finally:
            assert cache.present(text_keys(TEXTS, embedder, "document")) == set()

    wording(
        embed_with,
        {
            "one too few": lambda good: good[:-1],
            "one too many": lambda good: [*good, good[0]],
            "none": lambda _: [],
            "not a number": lambda good: [[*good[0][1:], float("nan")], *good[1:]],
            "null": lambda good: [[*good[0][1:], None], *good[1:]],
            "zeros": lambda good: [[0.0] * DIMENSION, *good[1:]],
            "another dimension": lambda good: [good[0][1:], *good[1:]],
            "texts": lambda good: [["a"] * DIMENSION, *good[1:]],
        },
        RunError,
    )


def test_a_run_that_failed_midway_asks_only_for_what_is_missing(make: Make, provider: Provider, tmp_path: Path) -> None:
    texts = [f"number {number} of many" for number in range(300)]
    cache, embedder = VectorCache(tmp_path / "vectors.sqlite"), make(retries=0)
    provider.faults = [{}, {"status": 500}]
    with pytest.raises(RunError):
        embed(texts, embedder, "document", cache)
    assert len(cache.present(text_keys(texts, embedder, "document"))) == 128
    made = embed(texts, embedder, "document", cache)
    assert [len(batch) for batch in provider.inputs()] == [128, 128, 128, 44]
    np.testing.assert_allclose(made.vectors, unit(texts), atol=1e-6)
    assert made.usage.tokens == 4 * 172
    assert embed(texts, embedder, "document", cache).usage.tokens == 0


def test_vectors_of_another_dimension_than_those_kept_are_another_model(make: Make, provider: Provider, tmp_path: Path) -> None:
    cache, embedder = VectorCache(tmp_path / "vectors.sqlite"), make()
    embed(TEXTS[:2], embedder, "document", cache)
    provider.faults = [{"rows": lambda good: [row[:8] for row in good]}]
    with pytest.raises(RunError, match="returned vectors of 16 dimensions before and 8 now"):
        embed(TEXTS, embedder, "document", cache)
    assert len(cache.present(text_keys(TEXTS, embedder, "document"))) == 2


def test_another_dimension_without_a_store_is_the_same_line(make: Make, provider: Provider) -> None:
    cache, embedder = MemoryVectorCache(), make()
    embed(TEXTS[:2], embedder, "document", cache)
    provider.faults = [{"rows": lambda good: [row[:8] for row in good]}]
    with pytest.raises(RunError, match=r"returned vectors of 16 dimensions before and 8 now.*or start Python anew and run again"):
        embed(TEXTS, embedder, "document", cache)


def test_an_input_that_the_server_finds_too_long_says_what_to_lower(make: Make, provider: Provider) -> None:
    provider.faults = [{"status": 400, "message": "the input length exceeds the context length"}]
    with pytest.raises(ModelError, match=r"too long \(400: .*context length.*\); lower embedding.max_tokens"):
        make().encode(TEXTS, "document")
    assert len(provider.asked) == 1


def test_an_error_without_a_key_is_shown_in_the_servers_own_words(make: Make, provider: Provider) -> None:
    provider.faults = [{"status": 400, "message": "none of the models is loaded"}]
    with pytest.raises(ModelError, match=r"refused the request \(400: .*none of the models is loaded\)"):
        make().encode(TEXTS, "document")


def test_what_no_repetition_can_change_is_not_repeated(make: Make, provider: Provider) -> None:
    for tries, (status, said) in enumerate([(401, "refused the key"), (404, "was not found"), (400, "refused the request")], start=1):
        provider.faults = [{"status": status}]
        with pytest.raises(ModelError, match=said):
            make().encode(TEXTS, "document")
        assert len(provider.asked) == tries


def test_an_unknown_window_or_vocabulary_is_an_error(make: Make) -> None:
    with pytest.raises(ModelError, match=r"the window of words is not known; give embedding.max_tokens"):
        make(max_tokens=None).window()
    with pytest.raises(ModelError, match=r"the vocabulary of words is not known; give embedding.tokenizer"):
        make(tokenizer=None).window()
    assert make().window() == 64


def test_an_address_is_one_without_a_password_or_a_query(make: Make, wording) -> None:
    def faults_of(address: str) -> str:
        with pytest.raises(ValidationError, match="base_url") as caught:
            make(base_url=address)
        assert all("secret" not in detail["msg"] and detail["loc"] == () for detail in caught.value.errors())
        return " | ".join(detail["msg"] for detail in caught.value.errors())

    wording(
        faults_of,
        [
            "ftp://localhost",
            "http://my box/v1",
            "http://me:secret@localhost:80/v1",
            "http://localhost/v1?token=secret",
            "http://localhost/v1#secret",
            "http://localhost:secret",
            "http://[secret",
        ],
        None,
    )


def test_an_identity_holds_what_decides_a_vector_and_nothing_else(make: Make) -> None:
    plain = make().identity("document")
    assert json.loads(json.dumps(plain)) == plain
    for same in ({"timeout": 5}, {"retries": 3}, {"batch_texts": 7}):
        assert make(**same).identity("document") == plain
    for other in ({"model": "other"}, {"max_tokens": 32}, {"tokenizer": MINILM}, {"document_prompt": "passage: "}):
        assert make(**other).identity("document") != plain


def test_no_texts_have_no_vectors(make: Make, provider: Provider) -> None:
    assert len(make().encode([], "document")) == 0
    assert provider.asked == []


def test_braces_in_a_wrong_address_are_no_fields_of_the_message() -> None:
    faults: list[str] = []
    settings = {"kind": "openai", "model": "words", "base_url": "{0.__class__}${"}
    assert component("embedding", settings, EMBEDDERS, faults) is None
    assert faults == ["embedding 'openai': base_url '{0.__class__}${' is not an address such as http://localhost:8000/v1"]
