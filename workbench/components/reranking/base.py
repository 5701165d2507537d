"""The base of rerankers, which score the best chunks of a retriever again with a slower and better model, and of those that score each pair alone."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.components.embedding.base import Embedder
from workbench.core import batching
from workbench.core.errors import RunError, StoreError
from workbench.core.fingerprint import fingerprint
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.display import excerpt
from workbench.core.text.progress import ProgressBar
from workbench.llm.models.component import ModelComponent

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """The n candidates of one query, best first: their texts and the retriever's scores, float64 (n).

    A reranker with `uses_vectors` gets the vector of the query, float32 (dimension), and those of the chunks, float32 (n, dimension).
    """

    query: str
    texts: Sequence[str]
    scores: Floats
    query_vector: Vectors = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))


class Reranker(ModelComponent, ABC):
    """A way to order the `pool` best chunks of a retriever again. Chunks after the pool keep their order."""

    # Whether the reranker needs the vectors of queries and chunks.
    uses_vectors: ClassVar[bool] = False
    # The fewest and the most candidates scored per second on a small machine, assumed by plans. None: too fast to count.
    assumed_speed: ClassVar[tuple[float, float] | None] = None

    pool: int = Field(default=50, ge=1, le=1000, description="The number of the retriever's best chunks to order again.")

    def beside(self, embedder: Embedder) -> Self:
        """Return the reranker for a configuration with this embedder: itself, unless it uses the embedder's model."""
        return self

    @property
    def fault(self) -> str:
        """Return why the reranker does not fit its configuration, or an empty text."""
        return ""

    @abstractmethod
    def scores(self, pools: Sequence[Candidates], cache: VectorCache) -> list[Floats]:
        """Return the scores of each pool's candidates, float64 (n), higher is better."""


Pair = tuple[str, str]
Scorer = Callable[[Sequence[Pair]], Floats]
# Rankings are ordered by scores of six decimals that fit into 32 bits.
LARGEST = 1_000.0
_FIX = "correct its scores, or choose another model"
_BATCH = 128
# How often scores are computed that turn out to be damaged when they are read.
_ATTEMPTS = 3


class PairReranker(Reranker):
    """A reranker whose score of a text depends only on the query and the text."""

    @abstractmethod
    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the scores of (query, text), float64 (n), higher is better."""

    def batches(self, pairs: Sequence[Pair]) -> Iterable[Sequence[Pair]]:
        """Divide pairs into batches that are scored together and committed as one: by default 128 of similar length, longest first."""
        longest = sorted(pairs, key=lambda pair: -len(pair[0]) - len(pair[1]))
        return (longest[part] for part in batching.blocks(len(longest), _BATCH))

    def scorer(self) -> Scorer:
        """Return the function that scores each batch of one call of `scores`. Override it to keep values from batch to batch."""
        return self.score_pairs

    def scores(self, pools: Sequence[Candidates], cache: VectorCache) -> list[Floats]:
        """Score the pairs that the cache lacks, in batches that are committed as they are finished."""
        pairs = sorted({(pool.query, text) for pool in pools for text in pool.texts})
        keys = dict(zip(pairs, self._keys(pairs), strict=True))
        for _ in range(_ATTEMPTS):
            self._score_missing(keys, cache, quiet=len(pools) < 2)
            # Damaged rows are missing from the answer, and then computed again.
            scored = cache.get(list(keys.values()), 2)
            if len(scored) == len(pairs):
                return [np.array([scored[keys[pool.query, text]][1] for text in pool.texts], dtype=np.float64) for pool in pools]
        raise StoreError("scores are damaged soon after they were written to the vector cache", "check the disk, then run workbench doctor")

    def _score_missing(self, keys: Mapping[Pair, bytes], cache: VectorCache, quiet: bool) -> None:
        """Score the pairs that the cache lacks. `quiet` shows no progress, as for a single question."""
        present = cache.present(list(keys.values()))
        missing = {pair for pair, key in keys.items() if key not in present}
        if not missing:
            return
        score = self.scorer()
        with cache.open_connection(), ProgressBar(total=len(missing), unit="pair", desc=f"rerank {self.kind}", disable=quiet) as bar:
            # Batches are planned from all pairs, so that a resumed run scores the same batches as an uninterrupted one.
            for batch in self.batches(list(keys)):
                some = [pair for pair in batch if pair in missing]
                if some:
                    scores = self._checked(score(some), some)
                    # A row of the cache needs a direction, and a score of 0 has none. So the score is the second of two values.
                    cache.put([keys[pair] for pair in some], np.column_stack([np.ones(len(some)), scores]).astype(np.float32))
                    bar.update(len(some))

    def _keys(self, pairs: Sequence[Pair]) -> list[bytes]:
        """Return the cache's key of each pair: 16 bytes of BLAKE2b keyed by the reranker's identity, without the size of the pool."""
        key = bytes.fromhex(fingerprint("pair", {name: value for name, value in self.identity().items() if name != "pool"}))
        digests = {
            text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest() for text in {part for pair in pairs for part in pair}
        }
        return [hashlib.blake2b(digests[query] + digests[text], digest_size=16, key=key).digest() for query, text in pairs]

    def _checked(self, scores: Floats, pairs: Sequence[Pair]) -> Floats:
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != (len(pairs),):
            raise RunError(f"rerank {self.kind!r} gave scores of the shape {scores.shape} for {len(pairs)} pairs", _FIX)
        # NaN is not below the largest either.
        if len(strange := np.flatnonzero(~(np.abs(scores) < LARGEST))):
            text = excerpt(pairs[int(strange[0])][1])
            raise RunError(f"rerank {self.kind!r} gave the score {scores[strange[0]]} for {text!r}", _FIX)
        return scores
