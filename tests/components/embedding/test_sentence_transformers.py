import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench.components.embedding.registry import EMBEDDERS
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.errors import InputError, ModelError
from workbench.llm.models.files import MINILM, locate

TEXTS = ["the cat sat on the mat", "", "😀 naïve café", "word " * 600, "日本語のテキスト", "Ada wrote it.\r\nBob read it."]


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., str]:
    """The default model in a folder of its own, with other settings."""

    def make(**settings: dict) -> str:
        for file in locate(MINILM).iterdir():
            if file.name not in settings:
                (tmp_path / file.name).symlink_to(file)
        for name, content in settings.items():
            (tmp_path / name).write_text(json.dumps(content))
        return str(tmp_path)

    return make


def test_vectors_are_those_of_the_library() -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(locate(MINILM)), device="cpu").encode(TEXTS, normalize_embeddings=True)
    ours = SentenceTransformerEmbedder(backend="torch").encode(TEXTS, "document")
    assert ours.dtype == np.float32
    assert (np.sum(ours * theirs, axis=1) >= 0.99999).all()
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-6)


def test_the_table_names_every_embedder_by_its_kind() -> None:
    assert {kind: embedder.model_fields["kind"].default for kind, embedder in EMBEDDERS.items()} == {kind: kind for kind in EMBEDDERS}


def test_an_embedder_refuses_what_it_does_not_have() -> None:
    with pytest.raises(InputError, match="has no parameter"):
        SentenceTransformerEmbedder(max_token=5)  # type: ignore[call-arg]  # wrong on purpose
    with pytest.raises(InputError, match="smaller than 8"):
        SentenceTransformerEmbedder(max_tokens=7)


def test_the_window_is_the_models_own_unless_another_is_chosen() -> None:
    assert SentenceTransformerEmbedder().window() == 256
    assert SentenceTransformerEmbedder(max_tokens=512).window() == 512
    with pytest.raises(ModelError, match="max_tokens 513 is beyond the 512 positions of all-MiniLM-L6-v2; choose at most 512"):
        SentenceTransformerEmbedder(max_tokens=513).window()


def test_an_identity_holds_all_that_decides_a_vector(variant: Callable[..., str]) -> None:
    plain = SentenceTransformerEmbedder()
    assert plain.identity("document") == SentenceTransformerEmbedder(max_tokens=256).identity("query")
    others = [
        SentenceTransformerEmbedder(max_tokens=128),
        SentenceTransformerEmbedder(document_prompt="passage: "),
        SentenceTransformerEmbedder(model=variant(**{"config_sentence_transformers.json": {}})),
    ]
    assert all(other.identity("document") != plain.identity("document") for other in others)


def test_prompts_are_the_models_own_unless_chosen_or_turned_off(variant: Callable[..., str]) -> None:
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "find: ", "document": "", "other": "strange: "}
    model = variant(**{"config_sentence_transformers.json": {"prompts": prompts, "default_prompt_name": "other"}})
    own = SentenceTransformerEmbedder(model=model, backend="torch")
    off = own.model_copy(update={"query_prompt": "", "document_prompt": ""})
    assert (own.prompt("query"), own.prompt("document")) == ("find: ", "")
    assert (off.prompt("query"), off.prompt("document")) == ("", "")
    library = SentenceTransformer(model, device="cpu")
    plain = SentenceTransformerEmbedder(backend="torch").encode(TEXTS[:1], "query")
    for embedder, role, expected in (
        (own, "query", library.encode_query(TEXTS[:1], normalize_embeddings=True)),
        (own, "document", library.encode_document(TEXTS[:1], normalize_embeddings=True)),
        (off, "query", plain),
        (off, "document", plain),
    ):
        assert float(np.sum(embedder.encode(TEXTS[:1], role) * expected)) > 0.99999
    assert float(np.sum(own.encode(TEXTS[:1], "query") * plain)) < 0.999


def test_lengths_are_counted_with_the_prompt_before_anything_is_cut() -> None:
    embedder = SentenceTransformerEmbedder(document_prompt="text: ")
    assert embedder.lengths(["one", "word " * 600], "document").tolist() == [5, 604]
    assert embedder.lengths(["one"], "query").tolist() == [3]


def test_a_folder_that_holds_no_usable_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError) as caught:
        SentenceTransformerEmbedder(model=str(tmp_path)).encode(["text"], "document")
    (line,) = caught.value.lines
    assert line.startswith(f"the model {tmp_path} cannot be loaded (")
    assert line.endswith("; name another model or folder")


@pytest.mark.parametrize(("name", "used"), [("config.json", "window"), ("tokenizer.json", "lengths")])
def test_a_damaged_model_folder_is_one_line_that_names_the_file(tmp_path: Path, name: str, used: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(locate(MINILM), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / name).write_text("{ not json")
    embedder = SentenceTransformerEmbedder(model=str(folder))
    use = {"window": embedder.window, "lengths": lambda: embedder.lengths(["text"], "document")}[used]
    with pytest.raises(ModelError, match=name):
        use()
