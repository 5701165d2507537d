from collections.abc import Callable

import pytest

from workbench.components.embedding.embed import embed
from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.embedding.remote import OpenAIEmbedder
from workbench.core.environment import advice
from workbench.core.errors import ModelError, RunError
from workbench.core.storage.vector_cache import VectorCache
from workbench.runner.experiment.components import component
from workbench.runner.experiment.read import experiment_of

from .conftest import Provider

TEXTS = ["the cat sat", "on the mat"]
SMALL = "text-embedding-3-small"


@pytest.fixture
def make(provider: Provider) -> Callable[..., OpenAIEmbedder]:
    return lambda **settings: OpenAIEmbedder(**({"model": SMALL, "base_url": f"{provider.host}/v1", "retries": 0} | settings))


def test_openais_models_have_their_window_and_count_in_cl100k(make):
    embedder = make()
    assert (embedder.window(), embedder.vocabulary) == (8191, "cl100k")
    assert embedder.lengths(["hello world", "naïve"], "query").tolist() == [2, 3]
    with pytest.raises(ModelError, match="max_tokens 9000 is beyond the window of text-embedding-3-small; choose at most 8191"):
        make(max_tokens=9000).window()


def test_tokens_and_their_cost_are_counted_for_what_was_asked(make, provider, tmp_path):
    cache = VectorCache(tmp_path / "vectors.sqlite")
    made = embed([*TEXTS, TEXTS[0]], make(price_per_million=0.02), "document", cache)
    assert (made.usage.tokens, made.usage.cost) == (6, pytest.approx(6 * 0.02 / 1e6))
    again = embed(TEXTS, make(price_per_million=0.02), "document", cache)
    assert (again.usage.tokens, again.usage.cost) == (0, None)
    assert embed(["unpriced"], make(), "document", cache).usage.cost is None
    provider.faults = [{"silent": True}]
    assert make().encode_metered(["hello world, naïve"], "query")[1].tokens == 5


def test_dimensions_are_asked_for_and_must_come(make, provider):
    assert make(dimensions=8).encode(TEXTS, "query").shape == (2, 8)
    assert provider.asked[0]["dimensions"] == 8
    assert make(dimensions=8).identity("query") != make().identity("query")
    provider.faults = [{"rows": lambda good: [[*row, 1.0] for row in good]}]
    with pytest.raises(RunError, match="returned vectors of 9 dimensions, not the requested 8"):
        make(dimensions=8).encode(TEXTS, "query")


def test_the_key_is_that_of_the_named_variable(make, provider, monkeypatch):
    monkeypatch.setenv("MY_KEY", " sk-mine\n")
    make(api_key_env="MY_KEY").encode(TEXTS, "query")
    assert provider.headers[0]["authorization"] == "Bearer sk-mine"
    assert "sk-mine" not in str(make(api_key_env="MY_KEY").identity("query"))


def test_a_key_that_the_server_repeats_is_not_shown(make, provider, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    provider.faults = [{"status": 401, "message": "Incorrect API key provided: sk-secret"}]
    with pytest.raises(ModelError, match=r"refused the key \(401: .*provided: …") as caught:
        make().encode(TEXTS, "query")
    assert "sk-secret" not in str(caught.value)


def test_only_a_server_on_this_machine_needs_no_key(make):
    assert len(make().encode(TEXTS, "query")) == 2
    with pytest.raises(ModelError, match=r"needs a key, and OPENAI_API_KEY is not set; set OPENAI_API_KEY"):
        make(base_url="http://192.0.2.1/v1").encode(TEXTS, "query")
    assert [make(base_url=f"http://{host}/v1").local for host in ("localhost:1", "[::1]:1", "127.9.9.9", "a.example", "10.0.0.1")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_key_in_the_place_of_its_name_is_refused_and_not_printed():
    faults: list[str] = []
    settings = {"kind": "openai", "model": SMALL, "api_key_env": "sk-very-secret"}
    assert component("embedding", settings, EMBEDDERS, faults) is None
    assert "never write a key here" in faults[0]
    assert "secret" not in str(faults)


def test_the_address_comes_from_the_environment_unless_given(make, monkeypatch):
    assert OpenAIEmbedder(model=SMALL).address == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1/")
    assert OpenAIEmbedder(model=SMALL).address == "http://localhost:8000/v1"
    assert make(base_url="http://box/v1").address == "http://box/v1"


def test_what_is_no_embeddings_is_one_line(make, provider, wording):
    def encode(rows):
        provider.faults = [{"data": rows}]
        make().encode(TEXTS[:1], "query")

    wording(encode, [5, None, [None], "text"], RunError)


def test_a_reply_of_more_than_128_mb_is_refused(make, provider):
    provider.faults = [{"raw": bytes(128 * 2**20 + 1)}]
    with pytest.raises(RunError, match="sent more than 128 MB in one reply"):
        make(retries=0).encode(TEXTS, "document")


def test_chunks_are_counted_in_the_vocabulary_of_the_embedder_and_names_stay_readable():
    dataset = {"kind": "golden", "path": "experiments/handbook", "split": "dev"}
    embeddings = [{"kind": "sentence-transformers"}, {"kind": "static"}, {"kind": "openai", "model": SMALL}]
    found = experiment_of({"name": "x", "dataset": dataset, "sweep": {"embedding": embeddings}}, "x.yaml").configurations
    assert [one.chunking.vocabulary for one in found] == ["all-MiniLM-L6-v2", "all-MiniLM-L6-v2", "cl100k"]
    names = [one.name for one in found]
    assert names[2].endswith("-openai-text_embedding_3_small")
    assert "static" in names[1]
    assert not any(field in name for name in names for field in ("key", "timeout", "retries", "batch", "prompt"))


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_client_that_is_not_installed_is_one_line_with_the_command(kind, fork):
    script = f"""
import sys
sys.modules["openai"] = None
from workbench.components.embedding.registry import EMBEDDERS
from workbench.core.errors import ModelError
settings = dict(model="m", max_tokens=8, tokenizer="cl100k", base_url="http://localhost:9")
try:
    EMBEDDERS[{kind!r}](**settings).encode(["a"], "query")
except ModelError as error:
    print(*error.lines)
"""
    assert fork(script).output().endswith(f"; {advice(kind)}")
