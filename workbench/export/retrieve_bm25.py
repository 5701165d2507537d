"""Answer a question with its sources from this folder: python retrieve.py "a question".

It needs the packages of requirements.txt and the files of this folder: the index, the passages, the settings and the packing rule.
"""

import json
import sys
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import Stemmer
from packing import pack

HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
INDEX = bm25s.BM25.load(str(HERE / "index"))
PASSAGES = [json.loads(line) for line in (HERE / "passages.jsonl").read_text("utf-8").split("\n") if line]
SLICES = np.array([passage.pop("slice") for passage in PASSAGES], dtype=np.int64)
STEMMER = Stemmer.Stemmer("english") if SETTINGS["stemmer"] != "none" else None


def retrieve(question: str, k: int = SETTINGS["k"]) -> list[dict[str, Any]]:
    """The k passages that match a question best: chunk_id, doc_id, start, end, text, score (BM25). A slice that several chunks share occurs once."""
    stopwords = "en" if SETTINGS["stopwords"] != "none" else []
    (words,) = bm25s.tokenize([question], stopwords=stopwords, stemmer=STEMMER, return_ids=False, show_progress=False)
    scores = np.asarray(INDEX.get_scores(words) if words else np.zeros(len(PASSAGES)), dtype=np.float64)
    # Passages are in the order in which ties are broken.
    places = np.argsort(-scores.round(6), kind="stable")
    places = places[scores[places] > 0]
    packed = pack(np.zeros_like(places), SLICES[places], np.zeros_like(places), k)
    return [{**PASSAGES[place], "score": float(scores[place])} for place in places[packed.delivered]]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python retrieve.py "a question"')
    for number, passage in enumerate(retrieve(sys.argv[1]), 1):
        print(f"[{number}] {passage['doc_id']}:{passage['start']}-{passage['end']}  {passage['score']:.3f}\n{passage['text'].strip()}\n")
