"""A small real cross-encoder: the library's scores, and one line for every folder that is none."""

import json
import logging
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder

from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.reranking.base import Candidates
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.core.errors import ModelError
from workbench.llm.models.files import MINILM

from .conftest import save_model

QUERY = "Who pays for the taxi?"
TEXTS = ["The company pays the taxi fare after ten.", "Cats purr.", "日本語 😀", "", "harbour " * 300]


def scores(reranker: CrossEncoderReranker) -> np.ndarray:
    return reranker.scores([Candidates(QUERY, TEXTS, np.zeros(len(TEXTS)))], MemoryVectorCache())[0]


def changed(model: str, folder: Path, **settings: object) -> CrossEncoderReranker:
    """A reranker whose model is a copy with other settings in config.json."""
    for path in Path(model).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    if settings:
        config = json.loads((folder / "config.json").read_text()) | settings
        (folder / "config.json").write_text(json.dumps({name: value for name, value in config.items() if value is not None}))
    return CrossEncoderReranker(model=str(folder))


def test_scores_are_the_librarys_logits_in_batches_or_alone(cross_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = CrossEncoder(cross_encoder, device="cpu").predict([(QUERY, text) for text in TEXTS], activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(scores(CrossEncoderReranker(model=cross_encoder)), theirs, atol=1e-5)
    monkeypatch.setattr("workbench.components.reranking.cross_encoder._PAIRS", 1)
    np.testing.assert_allclose(scores(CrossEncoderReranker(model=cross_encoder)), theirs, atol=1e-5)


def test_batches_have_pairs_of_similar_length_within_a_number_of_tokens(cross_encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.components.reranking.cross_encoder._TOKENS", 130)
    pairs = [("one two", "word " * n) for n in (1, 500, 60, 2)]
    batches = [[len(text.split()) for _, text in batch] for batch in CrossEncoderReranker(model=cross_encoder).batches(pairs)]
    assert batches == [[500], [60, 2], [1]]


def test_a_folder_saved_by_the_library_is_the_same_model(cross_encoder: str, tmp_path: Path) -> None:
    CrossEncoder(cross_encoder, device="cpu").save_pretrained(str(tmp_path), create_model_card=False)
    saved = CrossEncoderReranker(model=str(tmp_path))
    saved.check()
    np.testing.assert_allclose(scores(saved), scores(CrossEncoderReranker(model=cross_encoder)), atol=1e-5)


def test_the_window_cuts_pairs_and_is_part_of_the_identity(cross_encoder: str) -> None:
    whole, short = CrossEncoderReranker(model=cross_encoder), CrossEncoderReranker(model=cross_encoder, max_tokens=12)
    assert (whole.window(), short.window()) == (128, 12)
    assert short.identity() != whole.identity()
    assert abs(scores(short)[0] - scores(whole)[0]) > 1e-4
    with pytest.raises(ModelError, match=r"max_tokens 129 is beyond the 128 positions of .*; choose at most 128"):
        CrossEncoderReranker(model=cross_encoder, max_tokens=129).check()


def test_other_weights_are_another_identity_and_another_folder_is_not(cross_encoder: str, tmp_path: Path) -> None:
    copy = changed(cross_encoder, tmp_path)
    assert copy.identity() == CrossEncoderReranker(model=cross_encoder).identity()
    (tmp_path / "other").mkdir()
    other = CrossEncoderReranker(model=save_model(tmp_path / "other", "BertForSequenceClassification", hidden_size=16))
    assert other.identity() != copy.identity()


def test_a_model_without_one_score_is_one_line(cross_encoder: str, tmp_path: Path, wording) -> None:
    wording(
        lambda settings: changed(cross_encoder, Path(mkdtemp(dir=tmp_path)), **settings).check(),
        [
            {"id2label": {"0": "no", "1": "yes"}},
            {"id2label": None, "label2id": None},
            {"architectures": ["BertModel"]},
            {"architectures": None},
        ],
        ModelError,
    )


def test_an_embedding_model_is_not_given_a_random_head() -> None:
    with pytest.raises(ModelError, match=r"all-MiniLM-L6-v2 is not a cross-encoder: config.json names BertModel"):
        CrossEncoderReranker(model=MINILM).score_pairs([(QUERY, TEXTS[0])])


def test_weights_in_a_pickle_need_permission(cross_encoder: str, tmp_path: Path) -> None:
    made = changed(cross_encoder, tmp_path)
    state = CrossEncoder(cross_encoder, device="cpu").model.state_dict()
    torch.save(state, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    for refused in (made.check, lambda: made.score_pairs([(QUERY, TEXTS[0])])):
        with pytest.raises(ModelError, match=r"has weights in a pickle, pytorch_model.bin, .*; set allow_pickle: true"):
            refused()
    allowed = CrossEncoderReranker(model=str(tmp_path), allow_pickle=True)
    np.testing.assert_allclose(scores(allowed), scores(CrossEncoderReranker(model=cross_encoder)), atol=1e-5)


def test_code_in_a_models_folder_is_not_run(cross_encoder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    made = changed(
        cross_encoder, tmp_path, model_type="odd", auto_map={"AutoConfig": "odd.Odd", "AutoModelForSequenceClassification": "odd.Odd"}
    )
    (tmp_path / "odd.py").write_text("open('ran', 'w')")
    with pytest.raises(ModelError, match=r"cannot be loaded \(ValueError") as caught:
        made.score_pairs([(QUERY, TEXTS[0])])
    assert len(caught.value.lines) == 1
    assert not Path("ran").exists()


def test_a_model_that_gives_no_number_is_one_line_and_nothing_is_kept(cross_encoder: str, tmp_path: Path) -> None:
    made = changed(cross_encoder, tmp_path)
    from safetensors.torch import load_file, save_file

    weights = load_file(tmp_path / "model.safetensors")
    weights["classifier.bias"] = torch.tensor([float("nan")])
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    cache = MemoryVectorCache()
    with pytest.raises(Exception, match="rerank 'cross-encoder' gave the score nan for") as caught:
        made.scores([Candidates(QUERY, TEXTS, np.zeros(len(TEXTS)))], cache)
    assert len(caught.value.lines) == 1
    assert not cache._held
