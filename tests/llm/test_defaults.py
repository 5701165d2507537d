import pytest

from workbench.core.errors import InputError
from workbench.llm.providers.anthropic import AnthropicClient
from workbench.llm.providers.ollama import OllamaClient
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.registry import client_of, provider_of

from .conftest import KEY

# It deletes all variables of providers.
pytestmark = pytest.mark.usefixtures("new_provider")


def test_settings_precede_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "anthropic")
    monkeypatch.setenv("RAG_EVAL_OLLAMA_MODEL", "other")
    client = client_of({"provider": "ollama", "model": "words", "base_url": "box", "timeout": 9, "concurrency": None})
    assert client == OllamaClient(model="words", base_url="box", timeout=9)


def test_what_settings_leave_out_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "RAG_EVAL_PROVIDER": "ollama",
        "RAG_EVAL_OLLAMA_MODEL": "qwen3:4b",
        "RAG_EVAL_OLLAMA_BASE_URL": "http://box:1",
        "RAG_EVAL_OPENAI_MODEL": "words",
        "RAG_EVAL_OPENAI_BASE_URL": "http://box:2/v1",
        "RAG_EVAL_OPENAI_API_KEY": KEY,
        "RAG_EVAL_ANTHROPIC_MODEL": "claude",
        "RAG_EVAL_ANTHROPIC_API_KEY": KEY,
    }.items():
        monkeypatch.setenv(name, value)
    assert client_of({"provider": None, "model": None}) == OllamaClient(model="qwen3:4b", base_url="http://box:1")
    openai, anthropic = client_of({"provider": "openai"}), client_of({"provider": "anthropic"})
    assert openai == OpenAIClient(model="words", base_url="http://box:2/v1", api_key_env="RAG_EVAL_OPENAI_API_KEY")
    assert anthropic == AnthropicClient(model="claude", api_key_env="RAG_EVAL_ANTHROPIC_API_KEY")
    openai.check()
    assert KEY not in f"{openai!r} {anthropic!r} {openai.identity()} {openai.settings()}"


def test_without_variables_keys_have_their_usual_names() -> None:
    openai, anthropic = client_of({"provider": "openai", "model": "a"}), client_of({"provider": "anthropic", "model": "a"})
    assert isinstance(openai, OpenAIClient)
    assert isinstance(anthropic, AnthropicClient)
    assert (openai.api_key_env, anthropic.api_key_env) == ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def test_no_provider_and_an_unknown_one_are_errors_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    assert provider_of({}) is None
    with pytest.raises(InputError, match=r"no provider of chat models is set; set provider to one of anthropic, .*, or RAG_EVAL_PROVIDER"):
        client_of({"model": "words"})
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "olama")
    with pytest.raises(InputError, match=r"RAG_EVAL_PROVIDER is 'olama'.*ollama.*; choose one of"):
        client_of({"model": "words"})


def test_no_model_is_an_error_with_a_fix() -> None:
    with pytest.raises(InputError, match="no model of the provider 'anthropic' is set; set model, or RAG_EVAL_ANTHROPIC_MODEL"):
        client_of({"provider": "anthropic"})


def test_a_setting_that_the_provider_does_not_have_is_an_error() -> None:
    with pytest.raises(InputError, match="has no parameter 'api_key_env'"):
        client_of({"provider": "ollama", "model": "words", "api_key_env": "A"})
