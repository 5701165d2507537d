"""Damage in the vector cache: no altered vector is believed, each is named, and the next run has the undisturbed vectors."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from workbench.components.embedding.embed import embed, text_keys
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.errors import RunError, StoreError
from workbench.core.storage.sqlite_cache import digest_of
from workbench.core.storage.vector_cache import VECTORS, VectorCache

TEXTS = [f"number {number} of many" for number in range(60)]


@pytest.fixture(scope="module")
def whole(minilm: SentenceTransformerEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the vectors of all texts."""
    path = tmp_path_factory.mktemp("whole") / "vectors.sqlite"
    embed(TEXTS, minilm, "document", VectorCache(path))
    return path


@pytest.fixture
def cache(whole: Path, tmp_path: Path) -> VectorCache:
    (tmp_path / "vectors.sqlite").write_bytes(whole.read_bytes())
    return VectorCache(tmp_path / "vectors.sqlite")


def execute(cache: VectorCache, *statement: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.create_function("negated", 1, lambda value: (-np.frombuffer(value, "<f4")).tobytes())
        connection.create_function("flipped", 1, lambda value: bytes([value[0] ^ 16]) + value[1:])
        return connection.execute(*statement).fetchall()


DAMAGES = {
    "negated": ("vector = negated(vector)", "its digest does not match"),
    "one bit": ("vector = flipped(vector)", "its digest does not match"),
    "NaN": (f"vector = x'{np.full(384, np.nan, '<f4').tobytes().hex()}'", "its digest does not match"),
    "short": ("vector = substr(vector, 1, 768)", "its digest does not match"),
    "odd": ("vector = substr(vector, 1, 767)", "its digest does not match"),
    "empty": ("vector = x''", "its digest does not match"),
    "text": ("vector = 'a vector'", "its vector is str, not bytes"),
    "a text that is not UTF-8": ("vector = CAST(x'ff00fe' AS TEXT)", "its vector is str, not bytes"),
    "a number": ("vector = 1.5", "its vector is float, not bytes"),
    "no digest": ("digest = x''", "its digest does not match"),
    "the row of another key": (
        "(vector, digest) = (SELECT vector, digest FROM checked_vectors WHERE rowid = 60)",
        "its digest does not match",
    ),
}


@pytest.mark.parametrize(("change", "fault"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_rows_are_named_and_computed_again(
    minilm: SentenceTransformerEmbedder, whole: Path, cache: VectorCache, capsys: pytest.CaptureFixture[str], change: str, fault: str
) -> None:
    execute(cache, f"UPDATE checked_vectors SET {change} WHERE rowid % 3 = 1")
    keys = text_keys(TEXTS, minilm, "document")
    made = embed(TEXTS, minilm, "document", cache)
    said = capsys.readouterr().err
    assert f"workbench: the vector cache {cache.path} has 20 damaged rows, computed again: " in said
    assert said.count(f"({fault})") == 3
    assert f"({fault}) and 17 more\n" in said
    (first,) = execute(cache, "SELECT hex(key) FROM checked_vectors WHERE rowid = 2")[0]
    assert str(first).lower() not in said
    np.testing.assert_allclose(made.vectors, np.stack([VectorCache(whole).get(keys)[key] for key in keys]), atol=1e-6)
    again = embed(TEXTS, minilm, "document", cache)
    assert again.tokens_encoded == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("vector", "fault"),
    [
        (np.full(384, np.nan, "<f4"), "its vector is not finite"),
        (np.full(384, np.inf, "<f4"), "its vector is not finite"),
        (np.full(384, 3e38, "<f4"), "its vector is too long"),
        (np.zeros(384, "<f4"), "its vector is zero"),
        (np.zeros(0, "<f4"), "its vector has 0 bytes"),
        (np.ones(7, "<f4"), "its vector has 7 of 384 dimensions"),
    ],
)
def test_a_row_with_a_valid_digest_that_is_no_vector_is_computed_again(
    minilm: SentenceTransformerEmbedder, cache: VectorCache, capsys: pytest.CaptureFixture[str], vector: np.ndarray, fault: str
) -> None:
    undisturbed = embed(TEXTS, minilm, "document", cache).vectors
    key, value = text_keys(TEXTS, minilm, "document")[0], vector.tobytes()
    execute(cache, "UPDATE checked_vectors SET vector = ?, digest = ? WHERE key = ?", (value, digest_of(key, value), key))
    np.testing.assert_allclose(embed(TEXTS, minilm, "document", cache).vectors, undisturbed, atol=1e-6)
    assert f"{key.hex()} ({fault})" in capsys.readouterr().err


def test_random_bits_that_flip_never_change_a_vector(
    minilm: SentenceTransformerEmbedder, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random, raw = np.random.default_rng(1), whole.read_bytes()
    undisturbed = embed(TEXTS, minilm, "document", VectorCache(whole)).vectors
    named, refused = 0, []
    for attempt in range(20):
        flipped = bytearray(raw)
        for place in random.integers(100, len(raw), 20).tolist():
            flipped[place] ^= 1 << int(random.integers(8))
        path = tmp_path / f"{attempt}.sqlite"
        path.write_bytes(flipped)
        try:
            made = embed(TEXTS, minilm, "document", VectorCache(path)).vectors
        except StoreError as error:
            refused.append(error.fix)
            continue
        np.testing.assert_allclose(made, undisturbed, atol=1e-6)
        named += "damaged row" in capsys.readouterr().err
    assert named > 5
    assert all("workbench doctor" in fix for fix in refused)


def test_vectors_that_stay_damaged_are_one_line(minilm: SentenceTransformerEmbedder, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    execute(
        cache,
        "CREATE TRIGGER broken AFTER INSERT ON checked_vectors BEGIN UPDATE checked_vectors SET digest = x'00' WHERE key = new.key; END",
    )
    with pytest.raises(StoreError, match=r"damaged soon after they were written .*; check the disk, then run workbench doctor"):
        embed(TEXTS, minilm, "document", cache)


def test_vectors_of_an_earlier_version_are_not_believed(
    minilm: SentenceTransformerEmbedder, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed, keys = embed(TEXTS, minilm, "document", VectorCache(whole)).vectors, text_keys(TEXTS, minilm, "document")
    path = tmp_path / "vectors.sqlite"
    with closing(sqlite3.connect(path)) as earlier, earlier:
        earlier.execute("PRAGMA journal_mode=WAL")
        earlier.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        earlier.executemany(
            "INSERT INTO vectors VALUES (?, ?)", [(key, (-vector).tobytes()) for key, vector in zip(keys, undisturbed, strict=True)]
        )
        earlier.commit()
        cache = VectorCache(path)
        said = capsys.readouterr().err
        assert f"the vector cache {path} has 60 vectors of an earlier Workbench, which wrote no digests: they are computed again" in said
        np.testing.assert_allclose(embed(TEXTS, minilm, "document", cache).vectors, undisturbed, atol=1e-6)
        # The other process goes on with its own table.
        earlier.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?)", (b"new", b"vector"))
        assert earlier.execute("SELECT count(*) FROM vectors").fetchone() == (61,)
    capsys.readouterr()
    assert VectorCache(path).present(keys) == set(keys)
    assert not capsys.readouterr().err


def test_a_cache_of_a_later_version_is_refused_by_name(cache: VectorCache) -> None:
    execute(cache, "PRAGMA user_version = 7")
    with pytest.raises(StoreError, match=rf"has version 7, and this Workbench uses version {VECTORS.version}; update Workbench"):
        VectorCache(cache.path)
    assert execute(cache, "SELECT count(*) FROM checked_vectors") == [(60,)]


def test_an_embedder_that_returns_no_unit_vectors_is_one_line_with_the_text(tmp_path: Path) -> None:
    faults: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        r"a vector that is not finite for the text 'number \d+ of many' \(2 of a batch of 60\)": lambda vectors: (
            vectors * np.array([[1], [np.nan]] + [[1]] * 58)
        ),
        r"a vector of length 0 for the text 'number \d+ of many' \(1 of a batch of 60\)": lambda vectors: vectors * 0,
        r"a vector of length 30 for the text": lambda vectors: vectors * 30,
        r"an array of shape \(59, 384\) for 60 texts": lambda vectors: vectors[1:],
    }
    for number, (said, spoil) in enumerate(faults.items()):

        class Spoilt(SentenceTransformerEmbedder):
            def encode(self, texts, role):
                return spoil(super().encode(texts, role)).astype(np.float32)  # noqa: B023  # used in this round only

        cache, embedder = VectorCache(tmp_path / f"{number}.sqlite"), Spoilt()
        with pytest.raises(RunError, match=f"all-MiniLM-L6-v2 returned {said}") as caught:
            embed(TEXTS, embedder, "document", cache)
        assert len(caught.value.lines) == 1
        assert not cache.present(text_keys(TEXTS, embedder, "document"))
