"""MaxSim against a naive double loop over tokens, encoded pair by pair, and the choice of the model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.embedding.late_windows import frame_of
from workbench.components.embedding.remote import OpenAIEmbedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.embedding.torch_model import load
from workbench.components.reranking import late_interaction
from workbench.components.reranking.base import Candidates
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.core.errors import ModelError
from workbench.data.sources import GoldenSource
from workbench.llm.models.files import MINILM, locate, model_fingerprint
from workbench.llm.models.tokenizers import model_tokenizer

QUERY = "Who pays for the taxi?"
TEXTS = ["The company pays the taxi fare after ten.", "Cats purr when they are content.", "", "日本語のテキスト 😀", "word " * 60]


@pytest.fixture
def small(small_encoder: str) -> SentenceTransformerEmbedder:
    """A small model run by torch."""
    return SentenceTransformerEmbedder(model=small_encoder, backend="torch", max_tokens=32)


def candidates(query: str = QUERY, texts: Sequence[str] = TEXTS) -> Candidates:
    return Candidates(query, texts, np.zeros(len(texts)))


def scores(reranker: LateInteractionReranker, *pools: Candidates) -> list[list[float]]:
    return [found.tolist() for found in reranker.scores(pools, MemoryVectorCache())]


def naive(query: str, text: str, embedder: SentenceTransformerEmbedder) -> float:
    """The mean of the largest cosines, token by token, from the library's own encoding of each text alone."""

    def tokens(sentence: str, prompt: str) -> list[np.ndarray]:
        model = load(embedder.model, embedder.window())
        states = model.encode(prompt + sentence, prompt="", output_value="token_embeddings", convert_to_numpy=False).cpu().numpy()
        before = len(frame_of(embedder.model, embedder.window(), prompt).before)
        inner = states[before:-1]
        return list(inner if len(inner) else states[-1:])

    total, of_query = 0.0, tokens(query, embedder.prompt("query"))
    for token in of_query:
        best = -1.0
        for other in tokens(text, embedder.prompt("document")):
            best = max(best, float(token @ other / (np.linalg.norm(token) * np.linalg.norm(other))))
        total += best
    return total / len(of_query)


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [{}, {"query_prompt": "query: ", "document_prompt": "passage: "}])
def test_the_score_is_that_of_a_naive_double_loop_over_tokens(small: SentenceTransformerEmbedder, prompts: dict[str, str]) -> None:
    embedder = small.model_copy(update=prompts)
    (found,) = scores(LateInteractionReranker().beside(embedder), candidates())
    assert found == pytest.approx([naive(QUERY, text, embedder) for text in TEXTS], abs=1e-5)


def test_openvino_and_torch_give_nearly_the_same_scores() -> None:
    usual, torch = SentenceTransformerEmbedder(max_tokens=32), SentenceTransformerEmbedder(max_tokens=32, backend="torch")
    found, expected = (scores(LateInteractionReranker().beside(embedder), candidates())[0] for embedder in (usual, torch))
    assert found == pytest.approx(expected, abs=0.01)


def test_a_text_scores_1_for_itself_and_less_for_every_other() -> None:
    (found,) = scores(LateInteractionReranker(), candidates(TEXTS[0]))
    assert found[0] == pytest.approx(1, abs=1e-3)
    assert max(found[1:]) < found[0]


def test_every_text_and_every_query_is_encoded_once(small: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encode = late_interaction.token_vectors

    def counting(texts, embedder, role):
        encoded.extend(texts)
        return encode(texts, embedder, role)

    monkeypatch.setattr(late_interaction, "token_vectors", counting)
    # Each batch has a text.
    monkeypatch.setattr(late_interaction, "_TEXTS", 1)
    queries = ["who pays", "what purrs", "who pays"]
    scores(LateInteractionReranker().beside(small), *(candidates(query, [*TEXTS, TEXTS[0]]) for query in queries))
    assert sorted(encoded) == sorted([*set(queries), *TEXTS])


def test_it_loads_no_second_copy_of_the_embedders_model(small: SentenceTransformerEmbedder) -> None:
    small.encode(["warm"], "document")
    before = load.cache_info()
    scores(LateInteractionReranker().beside(small), candidates())
    after = load.cache_info()
    assert (after.misses, after.hits > before.hits) == (before.misses, True)


def test_the_identity_is_that_of_the_embedder_or_of_the_named_model(small: SentenceTransformerEmbedder) -> None:
    own, named = LateInteractionReranker().beside(small), LateInteractionReranker(model=MINILM).beside(small)
    assert own.identity()["model"] == model_fingerprint(small.model)
    assert named.identity() == LateInteractionReranker().identity()
    assert (own.identity()["window"], named.identity()["window"]) == (32, 256)
    for update in ({"max_tokens": 64}, {"query_prompt": "query: "}, {"document_prompt": "passage: "}):
        assert LateInteractionReranker().beside(small.model_copy(update=update)).identity() != own.identity()
    assert own.settings() == {"kind": "late-interaction"}


def test_the_pooling_of_the_embedder_does_not_matter(small: SentenceTransformerEmbedder) -> None:
    late = LateInteractionReranker().beside(small.model_copy(update={"pooling": "late"}))
    assert late.identity() == LateInteractionReranker().beside(small).identity()
    assert scores(late, candidates()) == scores(LateInteractionReranker().beside(small), candidates())


@pytest.mark.parametrize("embedder", [StaticEmbedder(), OpenAIEmbedder(model="text-embedding-3-small")])
def test_an_embedder_without_token_vectors_is_one_line(embedder) -> None:
    reranker = LateInteractionReranker().beside(embedder)
    assert reranker.fault == (
        f"rerank 'late-interaction' needs token vectors, and embedding '{embedder.kind}' has none; "
        "name another model, such as rerank.model: all-MiniLM-L6-v2"
    )
    with pytest.raises(ModelError, match="needs token vectors"):
        reranker.identity()
    assert LateInteractionReranker(model=MINILM).beside(embedder).fault == ""


def test_a_model_of_static_token_vectors_is_one_line(tmp_path: Path) -> None:
    for path in locate(MINILM).iterdir():
        if path.name != "modules.json":
            (tmp_path / path.name).symlink_to(path)
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (tmp_path / "modules.json").write_text(f"[{module}]".replace("'", '"'))
    with pytest.raises(
        ModelError, match=r"late interaction is not possible with .*: it is StaticEmbedding, not a transformer; choose"
    ) as caught:
        LateInteractionReranker(model=str(tmp_path)).check()
    assert len(caught.value.lines) == 1
    fault = LateInteractionReranker().beside(SentenceTransformerEmbedder(model=str(tmp_path))).fault
    assert fault.endswith("it is StaticEmbedding, not a transformer; name another model, such as rerank.model: all-MiniLM-L6-v2")


def test_a_prompt_without_room_for_a_token_is_one_line(small: SentenceTransformerEmbedder) -> None:
    prompt = "a very long instruction to the model " * 4
    embedder = small.model_copy(update={"query_prompt": prompt, "max_tokens": 16})
    assert "the prompt leaves no room in its 16 tokens" in LateInteractionReranker().beside(embedder).fault


def test_it_ranks_the_handbooks_evidence_higher_than_chance(handbook_few: Path) -> None:
    dataset = GoldenSource(path=str(handbook_few)).load()
    (query, span) = next(
        (query, need.alternatives[0]) for query in dataset.queries for need in dataset.needs if need.query_id == query.query_id
    )
    (text,) = (document.text for document in dataset.documents if document.doc_id == span.doc_id)
    evidence = text[span.start : span.end]
    others = [document.text[:200] for document in dataset.documents if document.doc_id != span.doc_id]
    (found,) = scores(LateInteractionReranker(), candidates(query.text, [*others, evidence]))
    assert np.argmax(found) == len(others)
    assert len(model_tokenizer(MINILM).encode(evidence).ids) > 2
