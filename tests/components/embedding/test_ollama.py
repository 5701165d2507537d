import pytest

from workbench.components.embedding.remote import OllamaEmbedder
from workbench.core.errors import ModelError, RunError

from .conftest import Provider


def make(provider: Provider, **settings: object) -> OllamaEmbedder:
    usual = {"model": "words", "base_url": provider.host, "max_tokens": 64, "tokenizer": "cl100k", "retries": 0}
    return OllamaEmbedder.model_validate(usual | settings)


def test_the_server_must_not_truncate_and_gets_the_configured_window(provider):
    make(provider).encode(["text"], "query")
    assert provider.asked == [{"model": "words", "input": ["text"], "truncate": False, "options": {"num_ctx": 64}}]
    assert make(provider).encode_metered(["two words"], "query")[1].tokens == 2


def test_a_model_is_its_digest_wherever_it_is_served(new_provider):
    first, elsewhere, again = new_provider(), new_provider(), new_provider()
    again.models = [{"name": "other:latest", "digest": "one"}, {"name": "words:latest", "digest": "two"}]
    identities = [make(server).identity("query") for server in (first, elsewhere, again)]
    assert identities[0] == identities[1] != identities[2]
    assert (identities[0]["model"], identities[2]["model"]) == ("one", "two")
    assert make(first, model="words:latest").identity("query") == identities[0]


def test_a_model_that_was_not_pulled_says_so(provider):
    with pytest.raises(ModelError, match=r"strange at http://127.0.0.1:\d+ was not found; ollama pull strange"):
        make(provider, model="strange").identity("query")


def test_a_server_that_is_no_ollama_is_one_line(provider):
    provider.faults = [{"rows": lambda _: None}]
    with pytest.raises(RunError, match="returned 0 instead of 1 vectors"):
        make(provider).encode(["text"], "query")
    with pytest.raises(RunError, match="did not answer as Ollama does"):
        make(provider, base_url=f"{provider.host}/list").identity("query")


def test_ollama_host_is_read_as_ollama_reads_it(monkeypatch):
    def address_of(host):
        monkeypatch.setenv("OLLAMA_HOST", host)
        return OllamaEmbedder(model="words").address

    addresses = {
        "": "http://localhost:11434",
        "0.0.0.0": "http://localhost:11434",
        "127.0.0.1:8080": "http://127.0.0.1:8080",
        ":8080": "http://localhost:8080",
        "[::1]:8080": "http://[::1]:8080",
        "box": "http://box:11434",
        "http://box/": "http://box:11434",
        "https://box": "https://box:443",
        "https://box/ollama": "https://box:443/ollama",
    }
    assert {host: address_of(host) for host in addresses} == addresses
