"""Answer a question with its sources from this folder: python retrieve.py "a question".

Needs what requirements.txt lists, and nothing else: the index, the passages and the settings lie beside this file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import bm25s
import Stemmer

HERE = Path(__file__).resolve().parent
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
INDEX = bm25s.BM25.load(str(HERE / "index"))
PASSAGES = [json.loads(line) for line in (HERE / "passages.jsonl").read_text("utf-8").split("\n") if line]
STEMMER = Stemmer.Stemmer("english") if SETTINGS["stemmer"] != "none" else None


def retrieve(question: str, k: int = SETTINGS["k"]) -> list[dict[str, Any]]:
    """The k passages that match a question best: doc_id, start, end, score (BM25), text. Slices that several chunks share are there once."""
    stopwords = "en" if SETTINGS["stopwords"] != "none" else []
    (words,) = bm25s.tokenize([question], stopwords=stopwords, stemmer=STEMMER, return_ids=False, show_progress=False)
    scores = INDEX.get_scores(words) if words else []
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place in sorted(range(len(scores)), key=lambda place: -scores[place]):
        if scores[place] <= 0 or len(found) == k:
            break
        passage = PASSAGES[place]
        found.setdefault((passage["doc_id"], passage["start"], passage["end"]), {**passage, "score": float(scores[place])})
    return list(found.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python retrieve.py "a question"')
    for number, passage in enumerate(retrieve(sys.argv[1]), 1):
        print(f"[{number}] {passage['doc_id']}:{passage['start']}-{passage['end']}  {passage['score']:.3f}\n{passage['text'].strip()}\n")
