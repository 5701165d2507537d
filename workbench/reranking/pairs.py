"""The base of rerankers that score each pair of a query and a text alone. A scored pair is cached and never scored again."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np

from workbench.core.display import excerpt
from workbench.core.fingerprint import fingerprint
from workbench.core.progress import ProgressBar
from workbench.errors import RunError
from workbench.reranking.base import Candidates, Floats, Reranker
from workbench.storage.vector_cache import VectorCache

Pair = tuple[str, str]
# Rankings are ordered by scores of six decimals that fit into 32 bits.
LARGEST = 1_000.0


class PairReranker(Reranker):
    """A reranker whose score of a text depends only on the query and the text."""

    @abstractmethod
    def batches(self, pairs: Sequence[Pair]) -> Iterable[Sequence[Pair]]:
        """Divide pairs into batches that are scored together and committed as one."""

    @abstractmethod
    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the scores of (query, text), float64 (n), higher is better."""

    def scores(self, pools: Sequence[Candidates], cache: VectorCache) -> list[Floats]:
        """Score the pairs that the cache lacks, in batches that are committed as they are finished."""
        pairs = list(dict.fromkeys((pool.query, text) for pool in pools for text in pool.texts))
        keys = dict(zip(pairs, self._keys(pairs), strict=True))
        present = cache.present(list(keys.values()))
        missing = [pair for pair in pairs if keys[pair] not in present]
        with ProgressBar(total=len(missing), unit="pair", desc=f"rerank {self.kind}", disable=not missing) as bar:
            for some in self.batches(missing):
                scores = self._checked(some)
                # A row of the cache needs a direction, and a score of 0 has none. So the score is the second of two values.
                cache.put([keys[pair] for pair in some], np.column_stack([np.ones(len(some)), scores]).astype(np.float32))
                bar.update(len(some))
        scored = cache.get(list(keys.values()), 2)
        return [np.array([scored[keys[pool.query, text]][1] for text in pool.texts], dtype=np.float64) for pool in pools]

    def _keys(self, pairs: Sequence[Pair]) -> list[bytes]:
        """Return the cache's key of each pair: 16 bytes of BLAKE2b keyed by the reranker's identity, without the size of the pool."""
        key = bytes.fromhex(fingerprint("pair", {name: value for name, value in self.identity().items() if name != "pool"}))
        return [hashlib.blake2b(fingerprint(pair).encode(), digest_size=16, key=key).digest() for pair in pairs]

    def _checked(self, pairs: Sequence[Pair]) -> Floats:
        scores = np.asarray(self.score_pairs(pairs), dtype=np.float64)
        if scores.shape != (len(pairs),):
            raise RunError(f"rerank {self.kind!r} gave scores of the shape {scores.shape} for {len(pairs)} pairs", "choose another model")
        # NaN is not below the largest either.
        if len(strange := np.flatnonzero(~(np.abs(scores) < LARGEST))):
            text = excerpt(pairs[int(strange[0])][1])
            raise RunError(f"rerank {self.kind!r} gave the score {scores[strange[0]]} for {text!r}", "choose another model")
        return scores
