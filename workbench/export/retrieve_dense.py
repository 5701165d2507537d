"""Answer a question with its sources from this folder: python retrieve.py "a question".

It needs the packages of requirements.txt and the files of this folder: the collection, the model, the passages, the settings and the packing rule.
"""

import json
import sys
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from packing import pack
from sentence_transformers import SentenceTransformer

HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
MODEL = SentenceTransformer(str(HERE / "model"), local_files_only=True)
if SETTINGS["window"]:
    MODEL.max_seq_length = SETTINGS["window"]
CLIENT = chromadb.PersistentClient(str(HERE / "collection"), settings=Settings(anonymized_telemetry=False))
COLLECTION = CLIENT.get_collection("chunks", embedding_function=None)
PASSAGES = [json.loads(line) for line in (HERE / "passages.jsonl").read_text("utf-8").split("\n") if line]
SLICES = np.array([passage.pop("slice") for passage in PASSAGES], dtype=np.int64)
PLACES = {passage["chunk_id"]: place for place, passage in enumerate(PASSAGES)}


def retrieve(question: str, k: int = SETTINGS["k"]) -> list[dict[str, Any]]:
    """The k passages nearest to a question: chunk_id, doc_id, start, end, text, score (cosine). A slice that several chunks share occurs once."""
    vector = MODEL.encode([question], prompt=SETTINGS["query_prompt"], normalize_embeddings=True, show_progress_bar=False)
    depth = min(2 * k, len(PASSAGES))
    while True:
        answer = COLLECTION.query(query_embeddings=vector, n_results=depth, include=["distances"])
        places = np.array([PLACES[chunk_id] for chunk_id in answer["ids"][0]], dtype=np.int64)
        scores = (1 - np.array(answer["distances"][0])).round(6)
        # Passages are in the order in which ties are broken.
        order = np.lexsort((places, -scores))
        packed = pack(np.zeros_like(places), SLICES[places[order]], np.zeros_like(places), k)
        if depth == len(PASSAGES) or packed.position[-1] > k:
            return [{**PASSAGES[places[row]], "score": float(scores[row])} for row in order[packed.delivered]]
        depth = min(2 * depth, len(PASSAGES))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python retrieve.py "a question"')
    for number, passage in enumerate(retrieve(sys.argv[1]), 1):
        print(f"[{number}] {passage['doc_id']}:{passage['start']}-{passage['end']}  {passage['score']:.3f}\n{passage['text'].strip()}\n")
