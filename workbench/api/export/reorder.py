"""Order the best passages of a search again, as the sweep's reranker did."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from marginal_relevance import chosen_after
from searchers import HERE, Array, best_first, collection_vectors, encoder, question_vector

# Returns new scores for a question and the places of passages, best first.
Scores = Callable[[str, Array], Array]
# Scores have six decimals.
STEP = 1e-6


def reordered(question: str, places: Array, scores: Array, pool: int, rescore: Scores) -> tuple[Array, Array]:
    """Order the first `pool` places by new scores. The others follow in their order, one step below and downwards."""
    top, after = best_first(places[:pool], rescore(question, places[:pool]), pool)
    rest = scores[pool:]
    if len(rest):
        rest = (rest + after[-1] - STEP - rest.max()).round(6)
    return np.concatenate([top, places[pool:]]), np.concatenate([after, rest])


def reranker(settings: dict[str, Any], texts: Sequence[str], chunk_ids: Sequence[str]) -> Scores:
    """Return the scores of a reranker. `texts` are those that were embedded, by place."""
    if settings["kind"] == "mmr":
        vectors = collection_vectors(tuple(chunk_ids))
        return lambda question, places: np.asarray(chosen_after(question_vector(question), vectors[places], settings["relevance"]))
    if settings["kind"] == "late-interaction":
        return lambda question, places: late_interaction(settings, question, [texts[place] for place in places.tolist()])
    return lambda question, places: cross_encoded(settings, question, [texts[place] for place in places.tolist()])


def late_interaction(settings: dict[str, Any], question: str, texts: Sequence[str]) -> Array:
    """Return the mean, over the question's tokens, of the largest cosine to a token of each text."""
    (query,) = tokens(settings, [question], "query")
    return np.array([(query @ text.T).max(axis=1).astype(np.float64).mean() for text in tokens(settings, texts, "document")])


def tokens(settings: dict[str, Any], texts: Sequence[str], role: str) -> list[Array]:
    """Return the unit vectors of each text's tokens, without special tokens and the prompt, or of the last special token."""
    model, (before, after) = encoder(settings["folder"], settings["window"]), settings["frame"][role]
    found = model.encode(
        list(texts), prompt=settings["prompts"][role], output_value="token_embeddings", convert_to_numpy=False, show_progress_bar=False
    )
    vectors = []
    for each in found:
        states = each.float().cpu().numpy()
        inner = states[before : len(states) - after]
        inner = inner if len(inner) else states[-1:]
        vectors.append(inner / np.linalg.norm(inner, axis=1, keepdims=True))
    return vectors


def cross_encoded(settings: dict[str, Any], question: str, texts: Sequence[str]) -> Array:
    """Return the logits of a cross-encoder."""
    import torch

    pairs = [(question, text) for text in texts]
    scores = cross_encoder(settings["folder"], settings["window"]).predict(
        pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False
    )
    return np.asarray(scores, dtype=np.float64)


@functools.cache
def cross_encoder(folder: str, window: int) -> Any:
    """Load a cross-encoder, cut at `window` tokens."""
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(HERE / folder), local_files_only=True, max_length=window)
