"""The OpenVINO backend: its vectors are those of torch, its conversion is kept once, and what it cannot run goes through torch."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from workbench.components.embedding import openvino
from workbench.components.embedding.embed import text_keys
from workbench.components.embedding.openvino import conversion_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder, encoder_of, sees_gpu
from workbench.core.environment import advice
from workbench.core.errors import ModelError, StoreError
from workbench.data.sources import GoldenSource
from workbench.llm.models.files import MINILM

ODD = ["", "word", "😀 naïve café", "日本語のテキスト", "Ada wrote it.\r\nBob read it.", "\x00\t \n", "word " * 600, "No. " * 255]
FAST, SAME = SentenceTransformerEmbedder(backend="openvino"), SentenceTransformerEmbedder(backend="torch")

# Prints what encodes a model here, and what was imported that reports home.
RESOLVE = """
import json, sys
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
embedder = SentenceTransformerEmbedder(model=sys.argv[1])
vectors = embedder.encode(["a text"], "document")
print(json.dumps([embedder.encoder(), vectors[0, :3].tolist(), sys.modules.get("openvino_telemetry") is None]))
"""
PRINT_VECTORS = """
import hashlib
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
print(hashlib.sha256(SentenceTransformerEmbedder(backend="openvino").encode(["a text", "word " * 300], "document").tobytes()).hexdigest())
"""

# What a backend asked for is where OpenVINO is not installed.
WITHOUT = """
import sys
sys.modules["openvino"] = None
from workbench.components.embedding.sentence_transformers import encoder_of
from workbench.core.errors import ModelError
print(*encoder_of("all-MiniLM-L6-v2", "auto"), sep=" | ")
try:
    encoder_of("all-MiniLM-L6-v2", "openvino")
except ModelError as error:
    print(*error.lines)
"""


@pytest.fixture(scope="module")
def passages() -> list[str]:
    """Real texts: paragraphs of pages of the handbook, and what is odd."""
    documents = GoldenSource(path=str(ROOT / "experiments" / "handbook")).load().documents[:12]
    found = [part for document in documents for part in document.text.split("\n\n") if part.strip()][:150:3]
    return [*found, documents[0].text, *ODD]


@pytest.fixture
def changed(tmp_path: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The tiny model in a folder of its own with other settings, and a cache of its own."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))

    def make(**settings: object) -> str:
        folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
        for name, content in settings.items():
            (folder / name).write_text(json.dumps(content))
        return str(folder)

    return make


@pytest.fixture(scope="module")
def of_torch(passages: list[str]) -> np.ndarray:
    return SAME.encode(passages, "document")


@pytest.mark.slow
def test_vectors_are_those_of_torch(passages: list[str], of_torch: np.ndarray) -> None:
    ours, theirs = FAST.encode(passages, "document"), of_torch
    assert ours.dtype == np.float32
    assert ours.shape == theirs.shape == (len(passages), 384)
    assert (ours * theirs).sum(axis=1).min() >= 0.9999
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_in_float32_they_are_the_same_to_the_sixth_decimal(passages: list[str], of_torch: np.ndarray) -> None:
    model = openvino.compiled(conversion_of(MINILM).graph, "float32")
    np.testing.assert_allclose(openvino.run(model, passages, MINILM, 256), of_torch, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("window", [8, 64, 512])
def test_what_a_window_cuts_is_what_torch_cuts(passages: list[str], window: int) -> None:
    fast, same = FAST.model_copy(update={"max_tokens": window}), SAME.model_copy(update={"max_tokens": window})
    chosen = [*passages[-9:], *passages[:8]]
    assert (fast.encode(chosen, "document") * same.encode(chosen, "document")).sum(axis=1).min() >= 0.9999
    assert fast.lengths(chosen, "document").tolist() == same.lengths(chosen, "document").tolist()


@pytest.mark.slow
def test_a_vector_does_not_depend_on_its_batch(passages: list[str]) -> None:
    together = FAST.encode(passages, "document")
    alone = np.vstack([FAST.encode([text], "document") for text in passages])
    shuffled = np.random.default_rng(0).permutation(len(passages))
    others = FAST.encode([passages[place] for place in shuffled], "document")
    assert np.abs(together - alone).max() <= 1e-7
    assert np.abs(together[shuffled] - others).max() <= 1e-7


@pytest.mark.slow
def test_nor_on_how_many_threads_compute_it(passages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    graph, precision, _ = conversion_of(MINILM)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(openvino.run(openvino.compiled(graph, precision), passages, MINILM, 256))
    assert np.abs(found[0] - found[1]).max() <= 1e-7


def test_no_texts_have_no_vectors() -> None:
    assert FAST.encode([], "document").shape == (0, 384)


def test_prompts_are_before_the_texts(passages: list[str]) -> None:
    asking = FAST.model_copy(update={"query_prompt": "query: "})
    written = FAST.encode([f"query: {text}" for text in passages[:5]], "query")
    np.testing.assert_array_equal(asking.encode(passages[:5], "query"), written)


def test_auto_is_openvino_on_a_processor_and_definite() -> None:
    assert not sees_gpu()
    encoder = SentenceTransformerEmbedder().encoder()
    assert encoder == encoder_of(MINILM, "openvino")
    assert encoder.name == f"openvino {'bfloat16' if openvino.has_bfloat16() else 'float32'}"
    assert encoder_of(MINILM, "torch").name == "torch float32"


def test_without_the_package_auto_is_torch_and_asking_for_it_says_what_to_install(run_python: Callable) -> None:
    assert run_python(WITHOUT).splitlines() == [
        f"torch | float32 | openvino is not installed: {advice('fast')}",
        f"backend: openvino needs openvino; {advice('fast')}",
    ]


def test_auto_shares_its_vectors_with_what_it_resolves_to_and_torch_keeps_its_keys() -> None:
    assert text_keys(ODD, SentenceTransformerEmbedder(), "document") == text_keys(ODD, FAST, "document")
    assert SAME.identity("document")["precision"] == "float32"
    shared = FAST.encoder().precision == "float32"
    assert (text_keys(ODD, SAME, "document") == text_keys(ODD, FAST, "document")) is shared


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"modules.json": [{"idx": 0, "name": "0", "path": "", "type": "mine.Module"}]},
            "its module mine.Module is none of Transformer, Pooling",
        ),
        (
            {
                "modules.json": [
                    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                    {"idx": 1, "name": "1", "path": "", "type": "sentence_transformers.models.WeightedLayerPooling"},
                ]
            },
            "its module sentence_transformers.models.WeightedLayerPooling is none of",
        ),
    ],
)
def test_a_model_of_other_parts_falls_back_to_torch_and_says_why_once(
    changed: Callable[..., str], capsys: pytest.CaptureFixture[str], settings: dict[str, object], reason: str
) -> None:
    model = changed(**settings)
    encoder = SentenceTransformerEmbedder(model=model).encoder()
    assert encoder.name == "torch float32"
    assert reason in encoder.why
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"workbench: {model} is embedded with torch, not with openvino: its module")
    assert SentenceTransformerEmbedder(model=model).encoder() == encoder
    assert capsys.readouterr().err == ""
    with pytest.raises(ModelError, match=r"backend: openvino cannot run .*; choose backend: torch"):
        SentenceTransformerEmbedder(model=model, backend="openvino").encoder()


@pytest.mark.slow
def test_a_model_that_would_get_other_vectors_falls_back_to_torch(changed: Callable[..., str], tiny_model: str) -> None:
    # sentence-transformers lowers the case here, the vocabulary by itself does not.
    tokenizer = json.loads((Path(tiny_model) / "tokenizer.json").read_text("utf-8"))
    tokenizer["normalizer"] = {"type": "NFC"}
    model = changed(**{"tokenizer.json": tokenizer, "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": True}})
    embedder = SentenceTransformerEmbedder(model=model)
    assert embedder.encoder().backend == "torch"
    assert "its vectors would differ" in embedder.encoder().why
    assert embedder.encode(["A Text"], "document").shape == (1, 256)


def test_pooling_that_leaves_the_prompt_out_stays_with_torch(changed: Callable[..., str]) -> None:
    model = changed()
    path = Path(model) / "1_Pooling" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"include_prompt": False}))
    assert "excludes the prompt" in encoder_of(model, "auto").why


@pytest.mark.slow
def test_a_model_in_half_precision_is_converted_in_float32(changed: Callable[..., str]) -> None:
    from sentence_transformers import SentenceTransformer

    model = changed()
    half = Path(model).with_name("half")
    SentenceTransformer(model, device="cpu").half().save(str(half), create_model_card=False)
    embedder = SentenceTransformerEmbedder(model=str(half))
    assert embedder.encoder().backend == "openvino"
    assert (embedder.encode(ODD, "document") * SentenceTransformerEmbedder(model=model).encode(ODD, "document")).sum(axis=1).min() > 0.999


@pytest.mark.slow
def test_two_processes_convert_once_and_a_damaged_conversion_is_one_line(
    tmp_path: Path, fork: Callable, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"WORKBENCH_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    running = [fork(RESOLVE, tiny_model, env=place) for _ in range(2)]
    answers = [json.loads(process.communicate(timeout=200)[0]) for process in running]
    assert answers[0] == answers[1]
    assert answers[0][0][0] == "openvino"
    # Nothing reports home, nor writes there.
    assert answers[0][2]
    assert not (tmp_path / "intel").exists()
    (kept,) = [path for path in (tmp_path / "cache" / "openvino").iterdir() if path.is_dir()]
    assert {path.name for path in kept.iterdir()} == {"entry.json", "verdict.json", "model.xml", "model.bin"}
    weights = bytearray((kept / "model.bin").read_bytes())
    weights[1000] ^= 1
    (kept / "model.bin").write_bytes(weights)
    monkeypatch.setenv("WORKBENCH_CACHE", place["WORKBENCH_CACHE"])
    with pytest.raises(
        StoreError,
        match=r"is corrupt \(model.bin has changed since it was written\); run workbench doctor, or delete the folder, and run again",
    ):
        encoder_of(tiny_model, "auto")


def test_the_threads_that_are_asked_for_are_taken_and_change_nothing(run_python: Callable) -> None:
    here = FAST.encode(["a text", "word " * 300], "document")
    assert run_python(PRINT_VECTORS, env={"OMP_NUM_THREADS": "1"}) == hashlib.sha256(here.tobytes()).hexdigest()


@pytest.mark.slow
def test_no_thread_is_bound_to_a_core(passages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Two processes of one thread would otherwise both take the first core: half the speed of `--jobs 2`.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    graph, precision, _ = conversion_of(MINILM)
    model = openvino.compiled(graph, precision)
    assert not model.get_property("ENABLE_CPU_PINNING")
    free, bound = os.sched_getaffinity(0), set[int]()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(openvino.run, model, passages, MINILM, 256)
        while not running.done():
            for task in os.listdir("/proc/self/task"):
                with contextlib.suppress(ProcessLookupError):  # a thread that has ended since
                    bound |= free - os.sched_getaffinity(int(task))
    assert not bound


def test_a_cache_that_cannot_be_written_leaves_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "file"))
    assert "cannot be written" in encoder_of(MINILM, "auto").why
    with pytest.raises(StoreError, match="cannot be written"):
        encoder_of(MINILM, "openvino")
