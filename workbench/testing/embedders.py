"""The laws of embedders."""

from collections.abc import Iterator
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from workbench.components.embedding.base import Embedder, Role
from workbench.core.fingerprint import fingerprint
from workbench.core.storage.vector_cache import Vectors
from workbench.testing.law import SETTING_LAWS, Laws, changed_results, given, identity_of, shown

# The first and the last are equal, and the fifth is longer than most windows.
TEXTS = (
    "Cats purr when they are content.",
    "Dogs bark at strangers.",
    "a",
    "Größe, naïve, 😀, 日本語",
    "word " * 300,
    "Cats purr when they are content.",
)
_LONGEST_INPUT = TEXTS.index(max(TEXTS, key=len))
_WINDOW = 16
_TOLERANCE = 1e-5
_ROLES: tuple[Role, ...] = get_args(Role)


EMBEDDER_LAWS = Laws(Embedder)


@EMBEDDER_LAWS
def there_is_one_vector_for_each_text(embedder: Embedder) -> Iterator[str]:
    """`encode` returns a finite float32 array (texts, dimension), with one dimension for queries and documents."""
    dimensions = set()
    for role in _ROLES:
        vectors = _encode(embedder, TEXTS, role)
        if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != len(TEXTS):
            kind = f"{vectors.dtype} {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
            yield f"for {len(TEXTS)} texts as {role}, it returned {kind}"
            return
        if not (finite := np.isfinite(vectors.sum(axis=1))).all():
            yield f"for the text {_first(~finite)} as {role}, the vector is not finite"
        dimensions.add(vectors.shape[1])
    if len(dimensions) > 1:
        yield f"vectors of queries and documents have the dimensions {sorted(dimensions)}"


@EMBEDDER_LAWS
def vectors_have_unit_length(embedder: Embedder) -> Iterator[str]:
    """A vector has length 1, so that products are cosines."""
    for role in _ROLES:
        lengths = np.linalg.norm(_encode(embedder, TEXTS, role), axis=1)
        wrong = ~(np.abs(lengths - 1) <= _TOLERANCE)
        if wrong.any():
            yield f"for the text {_first(wrong)} as {role}, the vector's length is {lengths[wrong][0]:.6g}"


@EMBEDDER_LAWS
def a_vector_depends_only_on_its_text(embedder: Embedder) -> Iterator[str]:
    """A text has the same vector alone, beside other texts and in another order."""
    for role in _ROLES:
        together = _encode(embedder, TEXTS, role)
        alone = np.vstack([_encode(embedder, (text,), role) for text in TEXTS])
        for how, vectors in (("alone", alone), ("in the opposite order", _encode(embedder, TEXTS[::-1], role)[::-1])):
            wrong = _cosines(together, vectors) < 1 - _TOLERANCE
            if wrong.any():
                yield f"the text {_first(wrong)} as {role} has another vector {how}"


@EMBEDDER_LAWS
def different_texts_have_different_vectors(embedder: Embedder) -> Iterator[str]:
    """Sentences without a common word have different vectors."""
    for role in _ROLES:
        vectors = _encode(embedder, TEXTS[:2], role)
        cosine = float(vectors[0].astype(np.float64) @ vectors[1])
        if cosine > 0.999:
            yield f"the cosine of {TEXTS[0]!r} and {TEXTS[1]!r} as {role} is {cosine:.6f}"


@EMBEDDER_LAWS
def lengths_count_tokens(embedder: Embedder) -> Iterator[str]:
    """`lengths` returns int64 (texts): the tokens of each text before truncation."""
    with given(f"for the texts {shown(list(TEXTS))}"):
        lengths = embedder.lengths(list(TEXTS), "document")
    if not isinstance(lengths, np.ndarray) or lengths.dtype != np.int64 or lengths.shape != (len(TEXTS),):
        yield f"for {len(TEXTS)} texts, it returned {shown(lengths)}"
    elif not lengths[_LONGEST_INPUT] > lengths[0] > 0 or lengths[0] != lengths[-1]:
        yield f"the lengths are {lengths.tolist()}, although text {_LONGEST_INPUT + 1} is the longest and the first and last are equal"


@EMBEDDER_LAWS
def the_window_is_a_number_of_tokens(embedder: Embedder) -> Iterator[str]:
    """`window` is an int of at least 8 tokens, and `max_tokens` if that is set."""
    for variant, expected in ((embedder, None), (_smaller(embedder), _WINDOW)):
        window = variant.window()
        if not isinstance(window, int) or window < 8 or expected not in (None, window):
            yield f"with max_tokens={variant.max_tokens}, the window is {window!r}"


@EMBEDDER_LAWS
def text_beyond_the_window_is_ignored(embedder: Embedder) -> Iterator[str]:
    """Text beyond `max_tokens` does not change the vector, and another window has another identity."""
    smaller = _smaller(embedder)
    if smaller != embedder and fingerprint(identity_of(smaller)) == fingerprint(identity_of(embedder)):
        yield f'the identity stays {identity_of(embedder)} with max_tokens={_WINDOW}; add "window": self.window() to it'
    start = "harbour " * 100
    for role in _ROLES:
        cosine = _cosines(*(_encode(smaller, (start + tail,), role) for tail in ("", "Cats purr when they are content.")))[0]
        if cosine < 1 - _TOLERANCE:
            yield f"with max_tokens={_WINDOW}, a sentence after 100 words changes the vector of a {role}: the cosine is {cosine:.6f}"


@EMBEDDER_LAWS
def a_setting_that_changes_vectors_changes_the_identity(embedder: Embedder) -> Iterator[str]:
    """Embedders with equal identities give equal vectors, because vectors are stored under the identity."""
    own = {role: _encode(embedder, TEXTS[:4], role) for role in _ROLES}
    for how, variant, vectors in changed_results(embedder, lambda changed: {role: changed.encode(TEXTS[:4], role) for role in _ROLES}):
        for role in _ROLES:
            if vectors[role].shape != own[role].shape or (_cosines(vectors[role], own[role]) < 1 - _TOLERANCE).any():
                yield f"{how}, vectors of a {role} differ and the identity stays {identity_of(variant)}"


EMBEDDER_LAWS.extend(SETTING_LAWS)


def check_embedder(embedder: Embedder) -> None:
    """Check that an embedder keeps all of EMBEDDER_LAWS, by embedding short texts with it. Raises LawError for the first that it breaks."""
    EMBEDDER_LAWS.check(embedder)


def _encode(embedder: Embedder, texts: tuple[str, ...], role: Role) -> Vectors:
    with given(f"for the texts {shown(list(texts))} as {role}"):
        return embedder.encode(list(texts), role)


def _smaller(embedder: Embedder) -> Embedder:
    return embedder.model_copy(update={"max_tokens": _WINDOW})


def _cosines(vectors: Vectors, other: Vectors) -> Vectors:
    """Return the product of each pair of rows: float64 (rows)."""
    return np.asarray((vectors.astype(np.float64) * other).sum(axis=1))


def _first(wrong: NDArray[np.bool_]) -> str:
    """Show the first text that is marked."""
    return shown(TEXTS[int(np.flatnonzero(wrong)[0])])
