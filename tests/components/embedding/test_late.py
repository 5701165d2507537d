"""Late pooling: vectors of chunks from their encoded documents, against torch and against plain references."""

import json
import shutil
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT
from workbench.components.embedding.embed import EncoderChunks, MemoryVectorCache, in_memory
from workbench.components.embedding.late_pooling import DocumentSlices, LateChunkEncoder, Slice, pool, reader_of
from workbench.components.embedding.late_windows import OVERLAP, Pool, frame_of, window_starts
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.torch_model import load
from workbench.core.errors import ModelError
from workbench.core.records import Document
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.data.sources import GoldenSource
from workbench.llm.models.files import MINILM, locate
from workbench.llm.models.tokenizers import model_tokenizer

from .conftest import copy_model

TORCH = SentenceTransformerEmbedder(pooling="late", backend="torch")
FAST = SentenceTransformerEmbedder(pooling="late", backend="openvino", max_tokens=48)

# Pools the slices of one document of a JSON file after the other into a cache.
POOL = """
import json, sys
from pathlib import Path
from workbench.core.storage.vector_cache import VectorCache
from workbench.components.embedding.late_pooling import DocumentSlices, Slice, pool, reader_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.records import Document
embedder = SentenceTransformerEmbedder(pooling="late", backend="openvino", max_tokens=48)
wanted = [DocumentSlices(Document(*document), [Slice(*each) for each in slices]) for document, slices in json.loads(Path(sys.argv[1]).read_text())]
pool(wanted, reader_of(embedder), VectorCache(Path(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def page() -> Document:
    """A real page, a few windows of 48 tokens long."""
    return GoldenSource(path=str(ROOT / "experiments" / "handbook")).load().documents[0]


@pytest.fixture
def vectors(tmp_path: Path) -> Callable[..., Vectors]:
    """The vectors of slices, each call into a cache of its own."""
    numbers = iter(range(100))

    def of(asked: DocumentSlices, embedder: SentenceTransformerEmbedder = FAST, beside: tuple[DocumentSlices, ...] = ()) -> Vectors:
        cache = VectorCache(tmp_path / f"{next(numbers)}.sqlite")
        pool([*beside, asked], reader_of(embedder), cache)
        keys = reader_of(embedder).keys(asked)
        found = cache.get(keys)
        return np.stack([found[key] for key in keys])

    return of


def slices_of(document: Document, count: int, longest: int = 600) -> list[Slice]:
    rng = np.random.default_rng(0)
    starts = rng.integers(1, len(document.text) - 10, count).tolist()
    return [Slice(start, min(len(document.text), start + int(rng.integers(1, longest))), False) for start in starts]


def states_by_torch(text: str) -> tuple[Vectors, list[tuple[int, int]]]:
    """The vectors of a short text's tokens and the characters of each, special tokens left out."""
    import torch

    encoding = model_tokenizer(MINILM).encode(text)
    ids = torch.tensor([encoding.ids])
    with torch.inference_mode():
        states = load(MINILM, 256)[0]({"input_ids": ids, "attention_mask": torch.ones_like(ids)})["token_embeddings"][0].numpy()
    return states[1:-1], encoding.offsets[1:-1]


def test_a_short_document_gives_the_means_of_its_tokens_by_the_model_itself(vectors: Callable[..., Vectors]) -> None:
    document = Document("a", "The harbour master keeps the log. Ships over ninety metres take a pilot, naïve or not.", "Berths and quays")
    slices = [Slice(0, 33, True), Slice(0, 33, False), Slice(34, 70, False), Slice(36, 41, False), Slice(0, len(document.text), True)]
    found = vectors(DocumentSlices(document, slices), TORCH)
    states, offsets = states_by_torch(f"{document.title} {document.text}")
    shift = len(document.title) + 1
    for (start, end, titled), vector in zip(slices, found, strict=True):
        inside = [first < end + shift and last > (0 if titled else start + shift) for first, last in offsets]
        mean = states[np.array(inside)].mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
    # A word cut by a slice is pooled by both sides; the title only by a chunk that is embedded with it.
    assert reader_of(TORCH).lengths(DocumentSlices(document, slices)).tolist() == [12, 7, 7, 2, len(states)]
    assert not np.array_equal(found[0], found[1])


def test_windows_give_what_a_plain_weighted_mean_gives() -> None:
    rng = np.random.default_rng(1)
    for tokens, room in ((5, 8), (8, 8), (9, 8), (61, 8), (200, 37), (3, 1)):
        starts = window_starts(tokens, room).tolist()
        windows = [rng.normal(size=(min(tokens, room), 4)).astype(np.float32) for _ in starts]
        first = rng.integers(0, tokens, 50)
        last = np.array([rng.integers(one + 1, tokens + 1) for one in first])
        sums, shares = np.zeros((tokens, 4)), np.zeros(tokens)
        for start, window in zip(starts, windows, strict=True):
            for place, vector in enumerate(window):
                weight = min(place, len(window) - 1 - place) + 0.5
                sums[start + place] += weight * vector
                shares[start + place] += weight
        means = np.stack([(sums / shares[:, None])[one:other].mean(axis=0) for one, other in zip(first, last, strict=True)])
        pooled = Pool(tokens, room, first, last)
        found = dict(pair for window in windows for pair in pooled.add(window))
        expected = means / np.linalg.norm(means, axis=1, keepdims=True)
        np.testing.assert_allclose(np.stack([found[place] for place in range(50)]), expected, atol=1e-6)


def test_windows_cover_a_document_and_share_what_they_promise() -> None:
    for tokens in (1, 46, 47, 80, 81, 82, 1000, 99_991):
        starts = window_starts(tokens, 46)
        assert starts[0] == 0
        assert starts[-1] == max(0, tokens - 46)
        assert (np.diff(starts) <= 46 - int(46 * OVERLAP)).all()
        assert (np.diff(starts) > 0).all()


def test_a_long_document_is_seen_to_its_end_and_counted_once(page: Document, vectors: Callable[..., Vectors], tmp_path: Path) -> None:
    slices = [Slice(0, len(page.text), True), Slice(len(page.text) - 60, len(page.text), False)]
    whole, end = vectors(DocumentSlices(page, slices))
    changed = Document(page.doc_id, page.text[:-60] + "zebra " * 10, page.title)
    assert whole @ end > 0.3
    assert whole @ vectors(DocumentSlices(changed, slices))[0] < 0.9999
    frame, tokens = frame_of(MINILM, 48, ""), len(model_tokenizer(MINILM).encode(f"{page.title} {page.text}", add_special_tokens=False).ids)
    assert reader_of(FAST).tokens(page) == 48 * len(window_starts(tokens, frame.room)) == sum(len(row) for row in frame.rows(range(tokens)))
    cache = VectorCache(tmp_path / "counted.sqlite")
    assert pool([DocumentSlices(page, slices[:1]), DocumentSlices(page, slices)], reader_of(FAST), cache) == 2 * reader_of(FAST).tokens(
        page
    )
    assert pool([DocumentSlices(page, slices)], reader_of(FAST), cache) == 0


def test_a_vector_is_the_same_whatever_else_is_asked(page: Document, vectors: Callable[..., Vectors]) -> None:
    slices = slices_of(page, 60)
    found = vectors(DocumentSlices(page, slices))
    np.testing.assert_array_equal(vectors(DocumentSlices(page, slices[::-1][:20])), found[::-1][:20])
    others = tuple(DocumentSlices(Document(str(number), "Some words. " * number), [Slice(0, 5, False)]) for number in range(1, 40, 3))
    np.testing.assert_array_equal(vectors(DocumentSlices(page, slices[:9]), beside=others), found[:9])
    alone = np.concatenate([vectors(other) for other in others[:3]])
    together = np.concatenate([vectors(other, beside=(DocumentSlices(page, slices[:1]), *others)) for other in others[:3]])
    np.testing.assert_array_equal(alone, together)


def test_both_backends_agree(page: Document, vectors: Callable[..., Vectors]) -> None:
    asked = DocumentSlices(page, slices_of(page, 40))
    ours, theirs = vectors(asked), vectors(asked, FAST.model_copy(update={"backend": "torch"}))
    assert (ours * theirs).sum(axis=1).min() >= 0.9998
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-6)


def test_what_decides_a_vector_is_in_its_key(page: Document) -> None:
    asked = DocumentSlices(page, [Slice(0, 50, True), Slice(0, 50, False), Slice(0, 51, False)])
    names = [
        *reader_of(FAST).keys(asked),
        *reader_of(FAST.model_copy(update={"max_tokens": 64})).keys(asked),
        *reader_of(FAST.model_copy(update={"document_prompt": "passage: "})).keys(asked),
        *reader_of(FAST).keys(DocumentSlices(Document("x", page.text + " ", page.title), asked.slices)),
        *reader_of(FAST).keys(DocumentSlices(Document("x", page.text, page.title + "!"), asked.slices)),
    ]
    assert len(set(names)) == 15
    # An id decides nothing, and questions are shared with standard pooling.
    assert reader_of(FAST).keys(DocumentSlices(Document("x", page.text, page.title), asked.slices)) == reader_of(FAST).keys(asked)
    standard = FAST.model_copy(update={"pooling": "standard"})
    assert standard.identity("query") == FAST.identity("query")
    assert standard.identity("document") != FAST.identity("document")
    assert "pooling" not in standard.identity("document")


def test_a_prompt_stands_in_every_window_and_is_not_pooled(vectors: Callable[..., Vectors]) -> None:
    document = Document("a", "one two three four five six seven eight nine ten " * 8)
    prompted = FAST.model_copy(update={"document_prompt": "passage: "})
    frame = frame_of(MINILM, 48, "passage: ")
    passage = model_tokenizer(MINILM).encode("passage: ", add_special_tokens=False).ids
    ids = list(range(2000, 2080))
    assert all(row[1 : 1 + len(passage)] == passage and len(row) == 48 for row in frame.rows(ids))
    asked = DocumentSlices(document, [Slice(0, 30, False), Slice(200, 240, False)])
    assert reader_of(prompted).lengths(asked).tolist() == reader_of(FAST).lengths(asked).tolist()
    cosines = (vectors(asked) * vectors(asked, prompted)).sum(axis=1)
    assert (cosines < 0.9999).all()


def test_a_slice_without_a_token_gets_its_neighbours_and_a_document_without_any_a_special_one(vectors: Callable[..., Vectors]) -> None:
    document = Document("a", "before \x00\x01 after")
    found = vectors(DocumentSlices(document, [Slice(7, 9, False), Slice(10, 15, False)]))
    np.testing.assert_array_equal(found[0], found[1])
    (empty,) = vectors(DocumentSlices(Document("b", "\x00\x01"), [Slice(0, 2, False)]))
    assert np.linalg.norm(empty) == pytest.approx(1, abs=1e-6)
    # The last slice has nothing after it.
    assert np.isfinite(vectors(DocumentSlices(Document("c", "word \x00"), [Slice(5, 6, False)]))).all()


def test_a_document_of_very_many_tokens_is_pooled_in_little_memory() -> None:
    tokens, room, width = 300_000, 254, 64
    first = np.arange(0, tokens - 100, 50)
    pooled = Pool(tokens, room, first, first + 100)
    starts = window_starts(tokens, room)
    rng = np.random.default_rng(0)
    block = rng.normal(size=(room, width)).astype(np.float32)
    tracemalloc.start()
    held = tracemalloc.get_traced_memory()[0]
    ended = sum(1 for _ in starts for _ in pooled.add(block))
    peak = tracemalloc.get_traced_memory()[1] - held
    tracemalloc.stop()
    assert ended == len(first)
    # The vectors of all its tokens would be 77 MB in float32.
    assert peak < 3_000_000


@pytest.mark.slow
def test_a_killed_pass_goes_on_with_the_next_document(tmp_path: Path, fork: Callable) -> None:
    texts = [f"Number {number} of many. " * (60 + number) for number in range(24)]
    wanted = [DocumentSlices(Document(str(number), text), [Slice(0, 9, False), Slice(9, 40, False)]) for number, text in enumerate(texts)]
    (tmp_path / "wanted.json").write_text(json.dumps([[[one.document.doc_id, one.document.text], one.slices] for one in wanted]))
    path = tmp_path / "vectors.sqlite"
    keys = [reader_of(FAST).keys(one) for one in wanted]
    every = [key for pair in keys for key in pair]
    child = fork(POOL, tmp_path / "wanted.json", path)
    while not path.exists() or not VectorCache(path).present(every):
        assert child.poll() is None, child.communicate()
        time.sleep(0.002)
    child.kill()
    child.wait()
    cache = VectorCache(path)
    done = [len(cache.present(pair)) for pair in keys]
    assert set(done) == {0, 2}, "documents are committed whole, and it was killed midway"
    left = [one for one, count in zip(wanted, done, strict=True) if not count]
    assert pool(wanted, reader_of(FAST), cache) == sum(reader_of(FAST).tokens(one.document) for one in left)
    undisturbed = VectorCache(tmp_path / "other.sqlite")
    pool(wanted[::-1], reader_of(FAST), undisturbed)
    resumed, other = cache.get(every), undisturbed.get(every)
    assert resumed.keys() == other.keys()
    for key, vector in resumed.items():
        np.testing.assert_array_equal(vector, other[key])


def test_a_model_whose_tokens_are_not_its_vector_is_refused_in_one_line(tmp_path: Path) -> None:
    def model(name: str, modules: list[str], pooling: dict[str, object]) -> str:
        folder = tmp_path / name
        folder.mkdir()
        # What a test writes must be no link to the installed model.
        copy_model(folder, "modules.json", "1_Pooling", "config_sentence_transformers.json")
        shutil.copytree(locate(MINILM) / "1_Pooling", folder / "1_Pooling")
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 384} | pooling))
        listed = [
            {"idx": place, "type": f"sentence_transformers.models.{kind}", "path": f"{place}_{kind}" if place else ""}
            for place, kind in enumerate(modules)
        ]
        (folder / "modules.json").write_text(json.dumps(listed))
        return str(folder)

    usual = ["Transformer", "Pooling", "Normalize"]
    first = SentenceTransformerEmbedder(model=model("cls", usual, {"pooling_mode_cls_token": True}), pooling="late")
    with pytest.raises(
        ModelError, match=r"pooling: late is not possible with .*: it pools by cls_token, not by the mean; choose pooling: standard"
    ):
        first.encoder()
    dense = model("dense", ["Transformer", "Pooling", "Dense"], {"pooling_mode": "mean"})
    with pytest.raises(ModelError, match="it is Transformer, Pooling, Dense, not a transformer with mean pooling"):
        SentenceTransformerEmbedder(model=dense, pooling="late").encoder()
    with pytest.raises(ModelError, match="it pools by lasttoken"):
        SentenceTransformerEmbedder(model=model("last", usual, {"pooling_mode": "lasttoken"}), pooling="late").encoder()
    short = model("short", usual, {"pooling_mode": "mean"})
    (Path(short) / "config_sentence_transformers.json").write_text(json.dumps({"truncate_dim": 64}))
    with pytest.raises(ModelError, match="it keeps only the first of its dimensions"):
        SentenceTransformerEmbedder(model=short, pooling="late").encoder()
    with pytest.raises(ModelError, match="the prompt leaves no room in its 8 tokens"):
        SentenceTransformerEmbedder(document_prompt="word " * 9, max_tokens=8, pooling="late").encoder()
    assert SentenceTransformerEmbedder(model=model("mean", usual[:2], {"pooling_mode": "mean"}), pooling="late", backend="torch").encoder()


def test_a_cache_in_memory_gives_the_vectors_of_one_on_disk(page: Document, tmp_path: Path) -> None:
    table = pd.DataFrame([(0, start, end, "") for start, end, _ in slices_of(page, 4)], columns=["doc", "start", "end", "header"])
    chunks = EncoderChunks([page], table, [])
    held, stored = (
        LateChunkEncoder(FAST).embed(chunks, cache, "", in_memory, list).vectors
        for cache in (MemoryVectorCache(), VectorCache(tmp_path / "vectors.sqlite"))
    )
    np.testing.assert_array_equal(held, stored)
