"""Late interaction (Khattab and Zaharia 2020): compare every token of a query with every token of a text."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from workbench.components.embedding.base import AllowPickle, Embedder, Role
from workbench.components.embedding.late_windows import frame_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.torch_model import model_modules
from workbench.components.reranking.base import Floats, Pair, PairReranker, Scorer
from workbench.core import batching
from workbench.core.errors import ModelError
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.files import MINILM, model_fingerprint
from workbench.llm.models.tokenizers import model_tokenizer

# The padded tokens and the texts of a batch.
_TOKENS, _TEXTS = 8_192, 128
# Queries to compare with a text at once, and to keep encoded.
_AT_ONCE, _KEPT = 256, 10_000


class LateInteractionReranker(PairReranker):
    """MaxSim over the token vectors of an embedding model, by default that of the configuration's embedder, which is not loaded twice.

    The score is the mean, over the query's tokens, of the largest cosine to a token of the text (ColBERT's sum, divided by the number of
    the query's tokens). Special tokens and prompts are read but not compared. Text beyond the model's window is left out.
    """

    assumed_speed: ClassVar[tuple[float, float]] = (100, 600)

    kind: Literal["late-interaction"] = "late-interaction"
    model: str | None = Field(default=None, description="The model: a folder or a name on the hub; by default that of `embedding`.")
    allow_pickle: AllowPickle = False
    # A configuration sets it, so it is not among the settings.
    embedder: Embedder | None = Field(default=None, exclude=True, repr=False, description="The embedder of the configuration.")

    def beside(self, embedder: Embedder) -> Self:
        return self if self.model else self.model_copy(update={"embedder": embedder})

    @property
    def fault(self) -> str:
        named = f"name another model, such as rerank.model: {MINILM}"
        if not isinstance(self.embedder, SentenceTransformerEmbedder | None):
            return f"rerank {self.kind!r} needs token vectors, and embedding {self.embedder.kind!r} has none; {named}"
        reason = _without_tokens(self.token_embedder)
        return f"rerank {self.kind!r} is not possible with {self.token_embedder.model}: {reason}; {named}" if reason else ""

    def check(self) -> None:
        if self.model:
            self.token_embedder.check()
            if reason := _without_tokens(self.token_embedder):
                raise ModelError(f"late interaction is not possible with {self.model}: {reason}", f"choose a transformer such as {MINILM}")

    @property
    def token_embedder(self) -> SentenceTransformerEmbedder:
        """Return the embedder whose token vectors are compared. Raises ModelError if the configuration's has none."""
        if isinstance(self.embedder, SentenceTransformerEmbedder):
            return self.embedder
        if self.embedder:
            raise ModelError(self.fault)
        return SentenceTransformerEmbedder(model=self.model or MINILM, allow_pickle=self.allow_pickle)

    def models(self) -> tuple[str, ...]:
        return (self.token_embedder.model,)

    def identity(self) -> dict[str, Any]:
        """Return the weights, window, prompts and precision, whichever setting they come from."""
        embedder = self.token_embedder
        return {
            "kind": self.kind,
            "version": self.version,
            "pool": self.pool,
            "model": model_fingerprint(embedder.model),
            "window": embedder.window(),
            "prompts": [embedder.prompt("query"), embedder.prompt("document")],
            "precision": embedder.token_encoder().precision,
        }

    def batches(self, pairs: Sequence[Pair]) -> Iterable[Sequence[Pair]]:
        """Divide pairs by their texts, longest first, so that each text is encoded once."""
        pairs_of = defaultdict[str, list[Pair]](list)
        for pair in pairs:
            pairs_of[pair[1]].append(pair)
        texts, embedder = list(pairs_of), self.token_embedder
        lengths = np.minimum(embedder.lengths(texts, "document"), embedder.window())
        for batch in batching.padded_batches(lengths, _TOKENS, _TEXTS):
            yield [pair for index in batch.tolist() for pair in pairs_of[texts[index]]]

    def scorer(self) -> Scorer:
        return _MaxSim(self.token_embedder).scores

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        return self.scorer()(pairs)


class _MaxSim:
    """An embedder with the token vectors of the queries that it has encoded."""

    def __init__(self, embedder: SentenceTransformerEmbedder) -> None:
        self._embedder = embedder
        self._queries: dict[str, Vectors] = {}

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Return the score of each pair, float64 (n)."""
        if len(self._queries) > _KEPT:
            self._queries.clear()
        new = dict.fromkeys(query for query, _ in pairs if query not in self._queries)
        self._queries |= token_vectors(list(new), self._embedder, "query")
        indices = defaultdict[str, list[int]](list)
        for index, (_, text) in enumerate(pairs):
            indices[text].append(index)
        scores = np.empty(len(pairs))
        for text, tokens in token_vectors(list(indices), self._embedder, "document").items():
            for part in batching.blocks(len(indices[text]), _AT_ONCE):
                some = indices[text][part]
                scores[some] = _mean_of_largest([self._queries[pairs[index][0]] for index in some], tokens)
        return scores


def _mean_of_largest(queries: Sequence[Vectors], tokens: Vectors) -> Floats:
    """Return for each query the mean, over its tokens, of the largest cosine to any of the text's tokens: float64 (queries)."""
    largest = (np.concatenate(queries) @ tokens.T).max(axis=1)
    lengths = np.array([len(query) for query in queries])
    return np.asarray(np.add.reduceat(largest, np.cumsum(lengths) - lengths, dtype=np.float64) / lengths)


def token_vectors(texts: Sequence[str], embedder: SentenceTransformerEmbedder, role: Role) -> dict[str, Vectors]:
    """Return the unit vectors of each text's tokens, float32 (tokens, dimension), without special tokens and the prompt.

    A text without a token has the vector of the last special token.
    """
    before, after, room = frame_of(embedder.model, embedder.window(), embedder.prompt(role))
    encodings = model_tokenizer(embedder.model).encode_batch_fast(list(texts), add_special_tokens=False)
    rows = [[*before, *encoding.ids[:room], *after] or [0] for encoding in encodings]
    vectors: dict[str, Vectors] = {}
    for batch in batching.padded_batches(np.array(list(map(len, rows)), dtype=np.int64), _TOKENS, _TEXTS):
        states = embedder.states([rows[index] for index in batch])
        for index, row in zip(batch.tolist(), states, strict=True):
            inner = row[len(before) : len(row) - len(after)]
            tokens = inner if len(inner) else row[-1:]
            vectors[texts[index]] = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    return vectors


def _without_tokens(embedder: SentenceTransformerEmbedder) -> str:
    """Return why a model has no token vectors to compare, or an empty text. Reads its settings only."""
    names = [module["type"].rpartition(".")[2] for module in model_modules(embedder.model)]
    if names and names[0] != "Transformer":
        return f"it is {', '.join(names)}, not a transformer"
    for role in ("query", "document"):
        if frame_of(embedder.model, embedder.window(), embedder.prompt(role)).room < 1:
            return f"the prompt leaves no room in its {embedder.window()} tokens"
    return ""
