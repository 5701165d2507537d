"""Answer a question with its sources from this folder: python retrieve.py "a question".

Needs what requirements.txt lists, and nothing else: the collection, the model and the settings lie beside this file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from sentence_transformers import SentenceTransformer

HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
MODEL = SentenceTransformer(str(HERE / "model"), local_files_only=True)
if SETTINGS["window"]:
    MODEL.max_seq_length = SETTINGS["window"]
COLLECTION = chromadb.PersistentClient(str(HERE / "collection"), settings=Settings(anonymized_telemetry=False)).get_collection(
    "chunks", embedding_function=None
)


def retrieve(question: str, k: int = SETTINGS["k"]) -> list[dict[str, Any]]:
    """The k passages nearest to a question: doc_id, start, end, score (cosine), text. Slices that several chunks share are there once."""
    vector = MODEL.encode([question], prompt=SETTINGS["query_prompt"], normalize_embeddings=True, show_progress_bar=False)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    asked = min(k, COLLECTION.count())
    while True:
        answer = COLLECTION.query(query_embeddings=vector, n_results=asked, include=["documents", "metadatas", "distances"])
        rows = zip(answer["documents"][0], answer["metadatas"][0], answer["distances"][0], strict=True)
        for text, about, distance in rows:
            place = (about["doc_id"], about["start"], about["end"])
            found.setdefault(place, {**about, "score": round(1 - distance, 6), "text": text})
        if len(found) >= k or asked == COLLECTION.count():
            break
        asked = min(2 * asked, COLLECTION.count())
    return list(found.values())[:k]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python retrieve.py "a question"')
    for number, passage in enumerate(retrieve(sys.argv[1]), 1):
        print(f"[{number}] {passage['doc_id']}:{passage['start']}-{passage['end']}  {passage['score']:.3f}\n{passage['text'].strip()}\n")
