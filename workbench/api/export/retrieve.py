"""Answer a question with its sources from this folder, using the packages in requirements.txt: python retrieve.py "a question"."""

import argparse
import json
from typing import Any

import numpy as np
from packing import BEYOND_K, OVER_BUDGET, Limits, fit, pack
from printable import printable
from prompt_tokens import question_tokens
from reorder import reordered, reranker
from searchers import HERE, Array, searcher
from words import words

SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
# This order breaks ties.
PASSAGES = [json.loads(line) for line in (HERE / "passages.jsonl").read_text("utf-8").split("\n") if line]
SLICES = np.array([passage.pop("slice") for passage in PASSAGES], dtype=np.int64)
IDS = [passage["chunk_id"] for passage in PASSAGES]
# The number of tokens to deliver, if k does not decide, and the characters at which tokens start in each slice.
BUDGET = SETTINGS["deliver"] and SETTINGS["deliver"]["tokens"]
STARTS: list[Array] = []
if BUDGET:
    with np.load(HERE / "tokens.npz") as tokens:
        STARTS = np.split(tokens["starts"], tokens["first"][1:-1])
# The same in the vocabulary of the prompt.
PROMPT_STARTS: list[Array] = []
if SETTINGS["context"]:
    with np.load(HERE / "prompt.npz") as tokens:
        PROMPT_STARTS = np.split(tokens["starts"], tokens["first"][1:-1])
SEARCH = searcher(SETTINGS, IDS)
# What a reranker reads: each chunk with its header, which a passage lacks.
RERANK, TEXTS = SETTINGS["rerank"], []
if RERANK:
    TEXTS = [json.loads(line) for line in (HERE / "texts.jsonl").read_text("utf-8").split("\n") if line]
RESCORE = reranker(RERANK, TEXTS, IDS) if RERANK else None


def ranked(question: str, depth: int) -> tuple[Array, Array]:
    """Return the places of the best passages, at least `depth` if so many match, and their scores."""
    if not (RERANK and RESCORE):
        found: tuple[Array, Array] = SEARCH(question, depth)
        return found
    places, scores = SEARCH(question, max(depth, RERANK["pool"]))
    return reordered(question, places, scores, RERANK["pool"], RESCORE) if len(places) else (places, scores)


def delivered(question: str, k: int | None, budget: int | None) -> tuple[Array, Array, Array]:
    """Return the places of the passages that a search delivers, the tokens of each, and their scores."""
    costs = np.array([len(starts) for starts in STARTS] or [0] * (SLICES.max(initial=0) + 1), dtype=np.int64)
    depth = min(2 * (k or SETTINGS["k"]), len(PASSAGES))
    while True:
        places, scores = ranked(question, depth)
        packed = pack(np.zeros_like(places), SLICES[places], costs[SLICES[places]], k, budget)
        rows = np.flatnonzero(packed.delivered)
        # A passage that was not found may tie with the last delivered one.
        beyond = packed.reason[-1:] == (BEYOND_K if budget is None else OVER_BUDGET)
        if len(places) < depth or depth == len(PASSAGES) or (beyond.all() and (scores[-1] < scores[rows[-1:]]).all()):
            return places[rows], packed.delivered_tokens[rows], scores[rows]
        depth = min(2 * depth, len(PASSAGES))


def retrieve(question: str, k: int | None = None) -> list[dict[str, Any]]:
    """Return the k best passages, by default as many as the sweep delivered: chunk_id, doc_id, start, end, text, score.

    A slice that chunks share occurs once. If the sweep delivered a number of tokens, the last passage is cut there.
    """
    budget = BUDGET if k is None else None
    found = delivered(question, SETTINGS["k"] if k is None and budget is None else k, budget)
    return [_passage(*row) for row in zip(*(column.tolist() for column in found), strict=True)]


def context(question: str) -> list[dict[str, Any]]:
    """Return the passages of the sweep's context for the question, in the order of the prompt, which they share a token budget with.

    Raises LookupError if the sweep answered no questions.
    """
    settings = SETTINGS["context"]
    if settings is None:
        raise LookupError("the sweep answered no questions; export a configuration with answering")
    found = delivered(question, None if settings["deliver"] else SETTINGS["k"], BUDGET if settings["deliver"] else None)
    passages = [_passage(*row) for row in zip(*(column.tolist() for column in found), strict=True)]
    texts = [passage["text"] for passage in passages]
    starts = [PROMPT_STARTS[SLICES[place]] for place in found[0].tolist()]
    starts = [places[places < len(text)] for places, text in zip(starts, texts, strict=True)]
    room = settings["budget"] - settings["overhead"] - question_tokens(question, settings["vocabulary"], HERE)
    fitted = fit(
        SLICES[found[0]], texts, starts, Limits(None, room, settings["around"], settings["order"], settings["drop_duplicates"]), words
    )
    return [_shortened(passages[place], int(fitted.characters[place])) for place in fitted.placed.tolist()]


def _passage(place: int, tokens: int, score: float) -> dict[str, Any]:
    """Return a passage up to its first `tokens` tokens."""
    passage, starts = PASSAGES[place], STARTS[SLICES[place]] if STARTS else ()
    length = int(starts[tokens]) if tokens < len(starts) else len(passage["text"])
    return {**_shortened(passage, length), "score": score}


def _shortened(passage: dict[str, Any], characters: int) -> dict[str, Any]:
    return {**passage, "end": passage["start"] + characters, "text": passage["text"][:characters]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the best passages for a question.")
    parser.add_argument("question")
    question = parser.parse_args().question
    if not question.strip():
        parser.error("the question is empty")
    for number, passage in enumerate(retrieve(question), 1):
        place = f"{passage['doc_id']}:{passage['start']}-{passage['end']}"
        print(printable(f"[{number}] {place}  {passage['score']:.3f}\n{passage['text'].strip()}\n"))
