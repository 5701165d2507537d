"""Each law of embedders is broken by an embedder made for it."""

import hashlib
import re
from typing import ClassVar, Literal

import numpy as np
import pytest

from tests.testing.breaking import assert_all_are_broken, assert_broken
from workbench.components.embedding.base import Embedder
from workbench.core.errors import LawError
from workbench.testing import EMBEDDER_LAWS, check_embedder


class Hashing(Embedder):
    """A good embedder: a bag of words."""

    kind: Literal["hashing"] = "hashing"
    model: str = "all-MiniLM-L6-v2"
    dimensions: int = 64

    def identity(self, role):
        return {"kind": self.kind, "version": self.version, "dimensions": self.dimensions, "window": self.window()}

    def window(self):
        return self.max_tokens or 1_000

    def lengths(self, texts, role):
        return np.array([len(words(text)) for text in texts], dtype=np.int64)

    def encode(self, texts, role):
        vectors = np.full((len(texts), self.dimensions), 1e-6, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words(text)[: self.window()]:
                vectors[row, int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.dimensions] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def words(text):
    return re.findall(r"\w+", text.lower())


class Doubles(Hashing):
    def encode(self, texts, role):
        return super().encode(texts, role).astype(np.float64)


class NotNumbers(Hashing):
    def encode(self, texts, role):
        vectors = super().encode(texts, role)
        vectors[[len(words(text)) == 1 for text in texts]] = np.nan
        return vectors


class OtherDimension(Hashing):
    def encode(self, texts, role):
        return super().encode(texts, role)[:, : 32 if role == "query" else 64]


class Long(Hashing):
    def encode(self, texts, role):
        return 2 * super().encode(texts, role)


class Batched(Hashing):
    def encode(self, texts, role):
        vectors = super().encode(texts, role)
        vectors = vectors - vectors.mean(axis=0) + 1e-3
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Constant(Hashing):
    def encode(self, texts, role):
        return np.full((len(texts), 64), 1 / 8, dtype=np.float32)


class Letters(Hashing):
    def lengths(self, texts, role):
        return [len(text) for text in texts]


class Short(Hashing):
    def lengths(self, texts, role):
        return np.minimum(super().lengths(texts, role), 5)


class NoWindow(Hashing):
    def window(self):
        return self.max_tokens


class Unbounded(Hashing):
    def window(self):
        return 1_000


class Whole(Hashing):
    def encode(self, texts, role):
        return self.model_copy(update={"max_tokens": None}).encode(texts, role) if self.max_tokens else super().encode(texts, role)


class SameWindow(Hashing):
    def identity(self, role):
        return super().identity(role) | {"window": 1_000}


class Forgetful(Hashing):
    def identity(self, role):
        return super().identity(role) | {"dimensions": 64}


class Unversioned(Hashing):
    def identity(self, role):
        return super().identity(role) | {"version": 1}


class Changing(Hashing):
    calls: ClassVar[list] = []

    def identity(self, role):
        self.calls.append(1)
        return super().identity(role) | {"calls": len(self.calls)}


class WithTuple(Hashing):
    def identity(self, role):
        return super().identity(role) | {"buckets": (1, 2)}


class WithArray(Hashing):
    def identity(self, role):
        return super().identity(role) | {"buckets": np.zeros(2)}


class Unreadable(Hashing):
    def model_dump_json(self, **_):
        return '{"dimensions": 65}'


class Lenient(Hashing):
    model_config: ClassVar = {"extra": "ignore", "frozen": True}


BREAKERS = {
    "there_is_one_vector_for_each_text": (Doubles(), NotNumbers(), OtherDimension()),
    "vectors_have_unit_length": (Long(), NotNumbers()),
    "a_vector_depends_only_on_its_text": (Batched(),),
    "different_texts_have_different_vectors": (Constant(),),
    "lengths_count_tokens": (Letters(), Short()),
    "the_window_is_a_number_of_tokens": (NoWindow(), Unbounded()),
    "text_beyond_the_window_is_ignored": (Whole(), SameWindow()),
    "a_setting_that_changes_vectors_changes_the_identity": (Forgetful(),),
    "settings_survive_json": (Unreadable(),),
    "unknown_settings_are_refused": (Lenient(),),
    "equal_settings_have_equal_identities": (Changing(), WithTuple(), WithArray()),
    "the_version_is_part_of_the_identity": (Unversioned(),),
}


def test_every_law_has_an_embedder_that_breaks_it() -> None:
    assert_all_are_broken(EMBEDDER_LAWS, BREAKERS)


@pytest.mark.parametrize(("name", "embedder"), [(name, one) for name, every in BREAKERS.items() for one in every])
def test_a_broken_law_is_found_and_named(name: str, embedder: Embedder) -> None:
    assert_broken(EMBEDDER_LAWS, name, embedder, check_embedder)


def test_a_good_embedder_passes() -> None:
    assert check_embedder(Hashing()) is None
    assert check_embedder(Hashing(dimensions=16, max_tokens=20)) is None


def test_the_message_says_the_text_and_the_length() -> None:
    with pytest.raises(LawError, match=r"for the text 'Cats purr when they are content.' as query, the vector's length is 2"):
        check_embedder(Long())
