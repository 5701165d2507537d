"""Rerank with a provider's endpoint `/rerank`: Cohere, Jina, vLLM, llama.cpp and others."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from workbench.components.reranking.base import Floats, Pair, PairReranker
from workbench.core import batching
from workbench.core.errors import RunError
from workbench.core.text.display import excerpt
from workbench.core.text.printable import printable
from workbench.llm.models.server import KeyedModel

if TYPE_CHECKING:
    from openai import OpenAI


class EndpointReranker(PairReranker, KeyedModel):
    """A model behind `POST {base_url}/rerank`, which takes model, query, documents and top_n and returns `results` with index and relevance_score.

    A request has texts of one query. The server truncates texts that are too long for its model. A server's change to another model under
    the same name goes unnoticed.
    """

    stage: ClassVar[str] = "rerank"
    returns: ClassVar[str] = "scores"
    shorten: ClassVar[str] = "choose smaller chunks, or a model with a larger window"

    kind: Literal["endpoint"] = "endpoint"
    base_url: str = Field(description="The server's address before `/rerank`, such as `https://api.jina.ai/v1`.")
    api_key_env: str = Field(
        default="RERANK_API_KEY", description="The environment variable with the key; a server on this machine needs no key."
    )
    batch_texts: int = Field(default=100, ge=1, le=1000, description="The largest number of texts in a request.")

    @property
    def address(self) -> str:
        return self.base_url.rstrip("/")

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "version": self.version, "pool": self.pool, "model": self.model, "address": self.address}

    def batches(self, pairs: Sequence[Pair]) -> Iterable[Sequence[Pair]]:
        """Divide pairs by their queries, since a request has one."""
        for _, of_query in groupby(sorted(pairs), key=lambda pair: pair[0]):
            texts = list(of_query)
            yield from (texts[part] for part in batching.blocks(len(texts), self.batch_texts))

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        scores = np.empty(len(pairs))
        for query in dict.fromkeys(query for query, _ in pairs):
            indices = [index for index, pair in enumerate(pairs) if pair[0] == query]
            scores[indices] = self._requested(query, [pairs[index][1] for index in indices])
        return scores

    def _requested(self, query: str, texts: list[str]) -> list[float]:
        body = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}

        def ask(client: "OpenAI") -> Any:
            return client.post("/rerank", cast_to=object, body=body)

        answer = self._call(ask)
        results = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
            raise self._strange("no list `results` of mappings", query)
        if sorted(map(str, (result.get("index") for result in results))) != sorted(map(str, range(len(texts)))):
            raise self._strange(f"{len(results)} results for {len(texts)} texts, or not one for each index", query)
        scores = {int(result["index"]): result.get("relevance_score") for result in results}
        for score in scores.values():
            if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                raise self._strange(f"the relevance_score {score!r}", query)
        return [float(scores[index]) for index in range(len(texts))]

    def _strange(self, what: str, query: str) -> RunError:
        # A score can be any text, also the key.
        what = printable(what, [self._key()])
        return RunError(f"{self.label} returned {what} for the query {excerpt(query)!r}", "check rerank.base_url and the server's model")
