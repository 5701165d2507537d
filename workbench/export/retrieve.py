"""Answer a question with its sources from this folder, using the packages in requirements.txt: python retrieve.py "a question"."""

import argparse
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from packing import BEYOND_K, OVER_BUDGET, pack
from printable import printable

Array = np.ndarray[Any, Any]
HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
# This order breaks ties.
PASSAGES = [json.loads(line) for line in (HERE / "passages.jsonl").read_text("utf-8").split("\n") if line]
SLICES = np.array([passage.pop("slice") for passage in PASSAGES], dtype=np.int64)
# The number of tokens to deliver, if k does not decide, and the characters at which tokens start in each slice.
BUDGET = SETTINGS["deliver"] and SETTINGS["deliver"]["tokens"]
STARTS: list[Array] = []
if BUDGET:
    with np.load(HERE / "tokens.npz") as tokens:
        STARTS = np.split(tokens["starts"], tokens["first"][1:-1])


def copied(folder: Path) -> "tempfile.TemporaryDirectory[str]":
    """Copy the collection, since Chroma writes into a folder that it opens. Exits with a line if a file has changed since the export."""
    copy = tempfile.TemporaryDirectory(prefix="retrieve-")
    try:
        for name, (_, digest) in json.loads((folder / "workbench.json").read_text("utf-8"))["files"].items():
            content = (folder / name).read_bytes()
            if hashlib.blake2b(content).hexdigest() != digest:
                raise ValueError(f"{name} has changed")
            Path(copy.name, name).parent.mkdir(exist_ok=True)
            Path(copy.name, name).write_bytes(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"the index {folder} is damaged ({error}); export the configuration again") from error
    return copy


if SETTINGS["kind"] == "bm25":
    import bm25s
    import Stemmer

    INDEX = bm25s.BM25.load(str(HERE / "index"))
    STEMMER = Stemmer.Stemmer("english") if SETTINGS["stemmer"] != "none" else None

    def search(question: str, depth: int) -> tuple[Array, Array]:
        """Return the positions of the best `depth` passages that share a word with the question, and their BM25 scores."""
        stopwords = "en" if SETTINGS["stopwords"] != "none" else []
        (words,) = bm25s.tokenize([question], stopwords=stopwords, stemmer=STEMMER, return_ids=False, show_progress=False)
        scores = np.asarray(INDEX.get_scores(words) if words else np.zeros(len(PASSAGES)), dtype=np.float64)
        best = np.argsort(-scores.round(6), kind="stable")[:depth]
        places = best[scores[best] > 0]
        return places, scores[places]

else:
    import chromadb
    from chromadb.config import Settings
    from sentence_transformers import SentenceTransformer

    MODEL = SentenceTransformer(str(HERE / "model"), local_files_only=True)
    if SETTINGS["window"]:
        MODEL.max_seq_length = SETTINGS["window"]
    COPY = copied(HERE / "collection")
    CLIENT = chromadb.PersistentClient(COPY.name, settings=Settings(anonymized_telemetry=False))
    COLLECTION = CLIENT.get_collection("chunks", embedding_function=None)
    PLACES = {passage["chunk_id"]: place for place, passage in enumerate(PASSAGES)}
    if SETTINGS["search"] == "exact":
        STORED = COLLECTION.get(include=["embeddings"])
        VECTORS = STORED["embeddings"][np.argsort([PLACES[chunk_id] for chunk_id in STORED["ids"]])]

    def search(question: str, depth: int) -> tuple[Array, Array]:
        """Return the positions of the `depth` passages nearest to the question, and their cosines."""
        vector = MODEL.encode([question], prompt=SETTINGS["query_prompt"], normalize_embeddings=True, show_progress_bar=False)
        if SETTINGS["search"] == "exact":
            cosines = (VECTORS @ vector[0]).astype(np.float64).round(6)
            best = np.argsort(-cosines, kind="stable")[:depth]
            return best, cosines[best]
        answer = COLLECTION.query(query_embeddings=vector, n_results=depth, include=["distances"])
        places = np.array([PLACES[chunk_id] for chunk_id in answer["ids"][0]], dtype=np.int64)
        return places, (1 - np.array(answer["distances"][0])).round(6)


def retrieve(question: str, k: int | None = None) -> list[dict[str, Any]]:
    """Return the k best passages, by default as many as the sweep delivered: chunk_id, doc_id, start, end, text, score (cosine or BM25).

    A slice that chunks share occurs once. If the sweep delivered a number of tokens, the last passage is cut there.
    """
    budget = BUDGET if k is None else None
    k = SETTINGS["k"] if k is None and budget is None else k
    costs = np.array([len(starts) for starts in STARTS] or [0] * (SLICES.max(initial=0) + 1), dtype=np.int64)
    depth = min(2 * (k or SETTINGS["k"]), len(PASSAGES))
    while True:
        places, scores = search(question, depth)
        order = np.lexsort((places, -scores.round(6)))
        places, scores = places[order], scores[order].round(6)
        packed = pack(np.zeros_like(places), SLICES[places], costs[SLICES[places]], k, budget)
        rows = np.flatnonzero(packed.delivered)
        # A passage that was not found may tie with the last delivered one.
        beyond = packed.reason[-1:] == (BEYOND_K if budget is None else OVER_BUDGET)
        if len(places) < depth or depth == len(PASSAGES) or (beyond.all() and (scores[-1] < scores[rows[-1:]]).all()):
            break
        depth = min(2 * depth, len(PASSAGES))
    return [{**_delivered(places[row], int(packed.delivered_tokens[row])), "score": float(scores[row])} for row in rows]


def _delivered(place: int, tokens: int) -> dict[str, Any]:
    """Return a passage up to its first `tokens` tokens."""
    passage, starts = PASSAGES[place], STARTS[SLICES[place]] if STARTS else ()
    length = int(starts[tokens]) if tokens < len(starts) else len(passage["text"])
    return {**passage, "end": passage["start"] + length, "text": passage["text"][:length]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the best passages for a question.")
    parser.add_argument("question")
    question = parser.parse_args().question
    if not question.strip():
        parser.error("the question is empty")
    for number, passage in enumerate(retrieve(question), 1):
        place = f"{passage['doc_id']}:{passage['start']}-{passage['end']}"
        print(printable(f"[{number}] {place}  {passage['score']:.3f}\n{passage['text'].strip()}\n"))
