"""The laws of rerankers."""

import copy
import pickle
from collections.abc import Iterator, Sequence

import numpy as np

from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.reranking.base import LARGEST, Candidates, Floats, PairReranker, Reranker
from workbench.core.fingerprint import fingerprint
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.llm.models.tokenizers import Ints
from workbench.testing.law import SETTING_LAWS, Laws, changed_results, given, shown
from workbench.testing.small_corpus import QUERIES, TEXTS, vectors_of

_TEXTS = [text for texts in TEXTS for text in texts]
# The first three queries, one that matches nothing, and one without a word.
_QUERIES = (*QUERIES[:3], QUERIES[-2], "???")
# Five candidates for each query, some of them those of another query, a text twice, one without a word, and one longer than most windows.
_POOLS = [_TEXTS[3 * number : 3 * number + 5] for number in range(len(_QUERIES))]
_POOLS[0] = [*_POOLS[0], _POOLS[0][0], "- - -", "harbour " * 600]
_TOLERANCE = 1e-5


class _CountingCache(MemoryVectorCache):
    """A cache that counts the pairs added to it."""

    def __init__(self) -> None:
        super().__init__()
        self.added = 0

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        self.added += len(keys)
        super().put(keys, vectors)


RERANKER_LAWS = Laws(Reranker)


@RERANKER_LAWS
def there_is_one_finite_score_for_each_candidate(reranker: Reranker) -> Iterator[str]:
    """`scores` returns a float64 array for each pool, in order, with a finite score below 1,000 for each candidate; none for no pools."""
    pools = _pools(reranker)
    scores = _scores(reranker, pools)
    if len(scores) != len(pools):
        yield f"for {len(pools)} pools, it returned {len(scores)} arrays"
    for pool, returned in zip(pools, scores, strict=False):
        if not isinstance(returned, np.ndarray) or returned.dtype != np.float64 or returned.shape != (len(pool.texts),):
            kind = f"{returned.dtype} {returned.shape}" if isinstance(returned, np.ndarray) else type(returned).__name__
            yield f"for {len(pool.texts)} candidates of the query {pool.query!r}, it returned {kind}"
        elif not (np.abs(returned) < LARGEST).all():
            yield f"for the query {pool.query!r}, the scores are {shown(returned.tolist())}"
    if nothing := _scores(reranker, []):
        yield f"for no pools, it returned {shown(nothing)}"


@RERANKER_LAWS
def scores_tell_texts_apart(reranker: Reranker) -> Iterator[str]:
    """Different texts do not all have the same score for a query."""
    pools = _pools(reranker)
    if not any(np.ptp(scores) > 0 for scores in _scores(reranker, pools)):
        yield f"for {len(pools)} queries, all candidates of a query have the same score"


@RERANKER_LAWS
def a_pool_has_the_same_scores_among_others(reranker: Reranker) -> Iterator[str]:
    """A query's candidates have the same scores alone, beside other queries and in another order of the queries."""
    pools = _pools(reranker)
    together, backwards = _scores(reranker, pools), _scores(reranker, pools[::-1])[::-1]
    for pool, scores, reordered in zip(pools, together, backwards, strict=True):
        for how, again in (("alone", _scores(reranker, [pool])[0]), ("in another order of the queries", reordered)):
            yield from _differences(pool, scores, again, how)


@RERANKER_LAWS
def a_pairs_score_depends_only_on_the_pair(reranker: Reranker) -> Iterator[str]:
    """With a PairReranker, a text has the same score for a query beside other candidates, in another order and alone."""
    for pool in _pools(reranker)[:1] if isinstance(reranker, PairReranker) else ():
        scores = _scores(reranker, [pool])[0]
        places = np.arange(len(pool.texts))
        backwards = _scores(reranker, [_part(pool, places[::-1])])[0][::-1]
        alone = np.concatenate([_scores(reranker, [_part(pool, places[place : place + 1])])[0] for place in places])
        yield from _differences(pool, scores, backwards, "in the opposite order of the candidates")
        yield from _differences(pool, scores, alone, "when each text is scored alone")


@RERANKER_LAWS
def a_scored_pair_is_not_scored_again(reranker: Reranker) -> Iterator[str]:
    """With a PairReranker, a cached score is used again, also by one with another `pool`."""
    if not isinstance(reranker, PairReranker):
        return
    cache, pools = _CountingCache(), _pools(reranker)
    first, scored = _scores(reranker, pools, cache), cache.added
    for pool in (reranker.pool, reranker.pool + 1):
        again = _scores(reranker.model_copy(update={"pool": pool}), pools, cache)
        if cache.added > scored:
            yield f"with pool={pool}, {cache.added - scored} of {scored} pairs were scored again"
        for own, before, after in zip(pools, first, again, strict=True):
            yield from _differences(own, before, after, "from the cache")


@RERANKER_LAWS
def copies_give_the_same_scores(reranker: Reranker) -> Iterator[str]:
    """A copy, also one through pickle as workers get it, equals the reranker and gives the same scores."""
    pools = _pools(reranker)[:2]
    scores = _scores(reranker, pools)
    for how, copied in (("a copy", copy.deepcopy(reranker)), ("a pickled copy", pickle.loads(pickle.dumps(reranker)))):
        if copied != reranker:
            yield f"{how} is {copied!r}"
        for pool, before, after in zip(pools, scores, _scores(copied, pools), strict=True):
            yield from _differences(pool, before, after, f"from {how}")


@RERANKER_LAWS
def the_size_of_the_pool_is_part_of_the_identity(reranker: Reranker) -> Iterator[str]:
    """Another `pool` gives another identity, so that no ranking is reused for it."""
    larger = reranker.model_copy(update={"pool": reranker.pool + 1})
    if fingerprint(larger.identity()) == fingerprint(reranker.identity()):
        yield f"the identity stays {reranker.identity()} when pool becomes {larger.pool}"


@RERANKER_LAWS
def a_setting_that_changes_scores_changes_the_identity(reranker: Reranker) -> Iterator[str]:
    """Rerankers with equal identities give equal scores, because scores are stored under the identity."""
    pools = _pools(reranker)
    own = _scores(reranker, pools)
    for how, variant, scores in changed_results(reranker, lambda changed: changed.scores(pools, MemoryVectorCache())):
        for pool, before, after in zip(pools, own, scores, strict=True):
            for fault in _differences(pool, before, after, how):
                yield f"{fault}, and the identity stays {variant.identity()}"


RERANKER_LAWS.extend(SETTING_LAWS)


def check_reranker(reranker: Reranker) -> None:
    """Check that a reranker keeps all of RERANKER_LAWS, on a few queries with vectors if it uses them.

    Raises LawError for the first law that it breaks.
    """
    RERANKER_LAWS.check(reranker)


def _pools(reranker: Reranker) -> list[Candidates]:
    pools = []
    for query, texts in zip(_QUERIES, _POOLS, strict=True):
        vectors = (vectors_of([query])[0], vectors_of(texts)) if reranker.uses_vectors else ()
        pools.append(Candidates(query, texts, np.linspace(1, 0.5, len(texts)), *vectors))
    return pools


def _part(pool: Candidates, places: Ints) -> Candidates:
    """Return some candidates of a pool, in this order."""
    vectors = pool.vectors[places] if len(pool.vectors) else pool.vectors
    return Candidates(pool.query, [pool.texts[place] for place in places.tolist()], pool.scores[places], pool.query_vector, vectors)


def _scores(reranker: Reranker, pools: Sequence[Candidates], cache: VectorCache | None = None) -> list[Floats]:
    with given(f"for the queries {shown([pool.query for pool in pools])}"):
        return reranker.scores(pools, cache or MemoryVectorCache())


def _differences(pool: Candidates, scores: Floats, other: Floats, how: str) -> Iterator[str]:
    """Yield the first text whose score differs by more than a hundred-thousandth, of the largest score if that exceeds 1."""
    wrong = np.flatnonzero(~(np.abs(scores - other) <= _TOLERANCE * max(1.0, np.abs(scores).max(initial=0))))
    if len(wrong):
        candidate = int(wrong[0])
        pair = f"for the query {pool.query!r}, the text {shown(pool.texts[candidate])}"
        yield f"{pair} has the score {scores[candidate]:.6g}, and {how} {other[candidate]:.6g}"
