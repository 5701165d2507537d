"""Fuse the rankings of several retrievers, or of several texts that are searched for one question, into one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field, PlainSerializer, SerializeAsAny

from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking, Retriever, SearchDepth, best_first, combined
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.core.component import Component
from workbench.core.text.formatting import plural
from workbench.llm.models.tokenizers import Ints

Fusion = Literal["rrf", "weighted"]
# For texts of one question: the number added to every rank, and the fewest best chunks of each text that are fused.
CONSTANT, POOL = 60, 100


def reciprocal_ranks(hits: Mapping[str, pd.DataFrame], weights: Mapping[str, float], constant: int) -> pd.DataFrame:
    """Return query, chunk and the sum of w (constant + 1) / (constant + rank) over the rankings that have the chunk.

    This is the sum of Cormack et al. (2009) in units of a first rank, so that six decimals distinguish low ranks.
    """
    return _summed({name: rows.assign(score=weights[name] * (constant + 1) / (constant + rows["rank"])) for name, rows in hits.items()})


def weighted_scores(hits: Mapping[str, pd.DataFrame], weights: Mapping[str, float]) -> pd.DataFrame:
    """Return query, chunk and the sum of w times the score, scaled to [0, 1] over each query's ranking; 0 for a ranking without the chunk."""
    return _summed({name: rows.assign(score=weights[name] * _scaled(rows)) for name, rows in hits.items()})


def _scaled(hits: pd.DataFrame) -> "pd.Series[float]":
    """Scale each query's scores to [0, 1] by their least and greatest. Equal scores are all 1."""
    by_query = hits.groupby("query")["score"]
    least, greatest = by_query.transform("min"), by_query.transform("max")
    width = greatest - least
    return ((hits["score"] - least) / width.where(width > 0, 1.0)).where(width > 0, 1.0)


def _summed(scored: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    rows = pd.concat([table[["query", "chunk", "score"]] for table in scored.values()])
    return rows.groupby(["query", "chunk"])["score"].sum().reset_index()


def pooled(depth: SearchDepth, k: int) -> SearchDepth:
    """Return the depth to which each text is searched. What is fused depends on k alone, and on no metric."""
    return replace(depth, slices=max(depth.slices, _pool(k)))


def fused_by_question(ranking: Ranking, question: Ints, corpus: Corpus, k: int) -> Ranking:
    """Fuse the rankings of texts by reciprocal ranks. `question` (int64, texts) is each text's question, in ascending order."""
    number = np.arange(len(question)) - np.searchsorted(question, question)
    hits = ranking.hits[ranking.hits["rank"] <= _pool(k)]
    texts = hits["query"].to_numpy(np.int64)
    by_number: dict[str, pd.DataFrame] = {
        str(text_number): rows for text_number, rows in hits.assign(query=question[texts]).groupby(number[texts], sort=True)
    }
    fused = reciprocal_ranks(by_number, dict.fromkeys(by_number, 1.0), CONSTANT) if by_number else hits[["query", "chunk", "score"]]
    single = combined([ranking.single], lambda texts, index: [texts[0](text) for text in np.flatnonzero(question == index).tolist()])
    fused_ranking = best_first(fused, corpus, int(question.max(initial=-1)) + 1, k, single)
    of = ranking.sources["query"].to_numpy(np.int64)
    names = [f"{name}, text {text_number}" for name, text_number in zip(ranking.sources["retriever"], number[of].tolist(), strict=True)]
    return replace(fused_ranking, sources=ranking.sources.assign(query=question[of], retriever=pd.array(names, dtype="str")))


def _pool(k: int) -> int:
    return max(POOL, k)


_HEAVIEST = 1_000
# Fields of a retriever that apply to the fused ranking.
_OF_WHOLE = ("k", "deliver", "neighbours")


def _pairs(value: Any, form: str) -> Any:
    """Return the pairs of a mapping. Raises ValueError for anything but a mapping or pairs."""
    pairs = tuple(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, tuple | list) or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"name each retriever with its {form}")
    return pairs


def _weights(value: Any) -> Any:
    pairs = _pairs(value, "weight, such as {dense: 0.7, bm25: 0.3}")
    if wrong := [
        (name, weight)
        for name, weight in pairs
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= _HEAVIEST
    ]:
        raise ValueError(f"the weight of {wrong[0][0]} is {wrong[0][1]!r}; write a number above 0 and up to {_HEAVIEST:,}")
    return pairs


def _made(value: Any) -> Any:
    """Return retrievers by name as pairs. A name is the kind of settings without a kind."""
    return tuple(
        (name, Retriever.of_kind({"kind": name} | dict(settings)) if isinstance(settings, Mapping) else settings)
        for name, settings in _pairs(value, "settings, such as {dense: {}, bm25: {}}")
    )


# A mapping as pairs, since a component can be the key of a cache.
Retrievers = Annotated[
    tuple[tuple[str, SerializeAsAny[Retriever]], ...],
    BeforeValidator(_made),
    PlainSerializer(lambda pairs: {name: retriever.model_dump(mode="json") for name, retriever in pairs}),
]
Weights = Annotated[tuple[tuple[str, float], ...], BeforeValidator(_weights), PlainSerializer(dict)]


class HybridRetriever(Retriever):
    """The `pool` best chunks of several retrievers, by default dense and BM25, fused into one ranking.

    `rrf` (reciprocal rank fusion, Cormack, Clarke and Büttcher 2009) adds weight × (constant + 1) / (constant + rank) over the retrievers:
    1 for a first rank. `weighted` adds weight × score, where each retriever's scores of a query are scaled to [0, 1] by the least and the
    greatest in its pool (min-max normalisation). A retriever adds nothing to a chunk outside its pool. Chunks in no pool are not ranked.
    """

    nested: ClassVar[Mapping[str, type[Component]]] = {"retrievers": Retriever}

    kind: Literal["hybrid"] = "hybrid"
    retrievers: Retrievers = Field(
        default=(("dense", DenseRetriever()), ("bm25", BM25Retriever())),
        description="The retrievers by name, such as `{dense: {}, bm25: {k1: 1.2}}`; a name is a kind unless the settings have another.",
    )
    fusion: Fusion = Field(default="rrf", description="How rankings are fused: by ranks or by scores.")
    weights: Weights = Field(
        default=(), description="The weight of each retriever by name, such as `{dense: 0.7, bm25: 0.3}`; by default 1."
    )
    constant: int = Field(default=60, ge=1, description="The number added to every rank by `rrf`.")
    pool: int = Field(default=100, ge=1, le=1000, description="The number of chunks that each retriever contributes.")

    @property
    def members(self) -> Mapping[str, Retriever]:
        return dict(self.retrievers)

    @property
    def needs_vectors(self) -> bool:
        return any(retriever.needs_vectors for _, retriever in self.retrievers)

    @property
    def fuses(self) -> bool:
        return True

    @property
    def evaluated(self) -> str:
        return "ann" if any(retriever.evaluated == "ann" for _, retriever in self.retrievers) else "exact"

    @property
    def fault(self) -> str:
        names = [name for name, _ in self.retrievers]
        if len(names) < 2:
            fix = f"use kind: {self.retrievers[0][1].kind}" if names else "leave it out for dense and bm25"
            return f"retrieval 'hybrid' fuses {plural(len(names), 'retriever')}; name two or more, or {fix}"
        if strange := [name for name, _ in self.weights if name not in names]:
            return f"retrieval 'hybrid' has a weight for {strange[0]!r}; its retrievers are {', '.join(names)}"
        if self.fusion == "weighted" and self.constant != type(self).model_fields["constant"].default:
            return "retrieval 'hybrid' has a constant, which only fusion: rrf uses; leave it out, or change fusion"
        if self.pool < self.k:
            return f"retrieval 'hybrid' has a pool of {self.pool}, and its k is {self.k}; raise pool or lower k"
        for name, retriever in self.retrievers:
            unused = [field for field in _OF_WHOLE if getattr(retriever, field) != type(retriever).model_fields[field].default]
            if unused:
                return f"retrieval 'hybrid' {name} has {unused[0]}, which only hybrid itself uses; move it there"
            if retriever.fault:
                return f"retrieval 'hybrid' {name}: {retriever.fault}"
        return ""

    def models(self) -> tuple[str, ...]:
        return tuple(model for _, retriever in self.retrievers for model in retriever.models())

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"retrievers": {name: retriever.identity() for name, retriever in self.retrievers}}

    def settings(self) -> dict[str, Any]:
        settings = super().settings()
        return settings | {name: {member: part.settings() for member, part in self.retrievers} for name in settings if name == "retrievers"}

    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        shallow = SearchDepth(self.pool, 0, 1, queries=depth.queries)
        rankings = {name: retriever.retrieve(queries.of(name), corpus, shallow) for name, retriever in self.retrievers}
        pools = {name: ranking.hits[ranking.hits["rank"] <= self.pool] for name, ranking in rankings.items()}
        weights = dict.fromkeys(rankings, 1.0) | dict(self.weights)
        fused = reciprocal_ranks(pools, weights, self.constant) if self.fusion == "rrf" else weighted_scores(pools, weights)
        # All retrievers search, one after the other. Their fusion takes no time beside that.
        single = combined([ranking.single for ranking in rankings.values()], lambda members, index: [search(index) for search in members])
        ranked = best_first(fused, corpus, len(queries.texts), self.k, single)
        return replace(ranked, sources=pd.concat([pool.assign(retriever=name) for name, pool in pools.items()], ignore_index=True))
