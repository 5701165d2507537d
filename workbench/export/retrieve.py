"""Answer a question with its sources from this folder, using the packages in requirements.txt: python retrieve.py "a question"."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from packing import pack

Array = np.ndarray[Any, Any]
HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
# This order breaks ties.
PASSAGES = [json.loads(line) for line in (HERE / "passages.jsonl").read_text("utf-8").split("\n") if line]
SLICES = np.array([passage.pop("slice") for passage in PASSAGES], dtype=np.int64)

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
    CLIENT = chromadb.PersistentClient(str(HERE / "collection"), settings=Settings(anonymized_telemetry=False))
    COLLECTION = CLIENT.get_collection("chunks", embedding_function=None)
    PLACES = {passage["chunk_id"]: place for place, passage in enumerate(PASSAGES)}

    def search(question: str, depth: int) -> tuple[Array, Array]:
        """Return the positions of the `depth` passages nearest to the question, and their cosines."""
        vector = MODEL.encode([question], prompt=SETTINGS["query_prompt"], normalize_embeddings=True, show_progress_bar=False)
        answer = COLLECTION.query(query_embeddings=vector, n_results=depth, include=["distances"])
        places = np.array([PLACES[chunk_id] for chunk_id in answer["ids"][0]], dtype=np.int64)
        return places, (1 - np.array(answer["distances"][0])).round(6)


def retrieve(question: str, k: int = SETTINGS["k"]) -> list[dict[str, Any]]:
    """Return the k best passages: chunk_id, doc_id, start, end, text, score (cosine or BM25). A slice that chunks share occurs once."""
    depth = min(2 * k, len(PASSAGES))
    while True:
        places, scores = search(question, depth)
        order = np.lexsort((places, -scores.round(6)))
        packed = pack(np.zeros_like(places), SLICES[places[order]], np.zeros_like(places), k)
        if depth == len(PASSAGES) or packed.position.max(initial=0) > k:
            return [{**PASSAGES[places[row]], "score": float(scores[row])} for row in order[packed.delivered]]
        depth = min(2 * depth, len(PASSAGES))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the best passages for a question.")
    parser.add_argument("question")
    question = parser.parse_args().question
    if not question.strip():
        parser.error("the question is empty")
    for number, passage in enumerate(retrieve(question), 1):
        print(f"[{number}] {passage['doc_id']}:{passage['start']}-{passage['end']}  {passage['score']:.3f}\n{passage['text'].strip()}\n")
