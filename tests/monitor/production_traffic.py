"""Production traffic made of the handbook's questions: paraphrases by rule, with recorded answers and their passages."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.monitored_service import HANDBOOK, RULES
from workbench.core.records import Dataset
from workbench.data.sources import GoldenSource


def handbook() -> Dataset:
    return GoldenSource(path=str(HANDBOOK)).load()


def recorded() -> Iterator[dict[str, Any]]:
    """The recorded answers of the handbook with the texts of their passages, as rows of a log."""
    texts = {document.doc_id: document.text for document in handbook().documents}
    queries = {query.query_id: query.text for query in handbook().queries}
    for line in (HANDBOOK / "recorded" / "answers.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        hits = [
            {**place, "text": texts[place["doc_id"]][place["start"] : place["end"]], "score": 0.9 - 0.1 * rank}
            for rank, place in enumerate(row["passages"])
        ]
        yield {"query": queries[row["query_id"]], "answer": row["answer"], "hits": hits, "label": row}


def traffic(number: int, days: int = 2, seed: int = 0) -> pd.DataFrame:
    """Rows of a log over some days: paraphrases of questions with Zipf frequencies, sessions of up to 4 questions, some feedback, scores and faults."""
    random = np.random.default_rng(seed)
    base = list(recorded())
    order = random.permutation(len(base))
    weights = 1 / np.arange(1, len(base) + 1)
    picks = order[random.choice(len(base), number, p=weights / weights.sum())]
    seconds = np.sort(random.integers(0, days * 86_400, number))
    rows = []
    for place, (pick, second) in enumerate(zip(picks.tolist(), seconds.tolist(), strict=True)):
        time = datetime(2026, 11, 2, tzinfo=UTC) + timedelta(seconds=second)
        row = {key: value for key, value in base[pick].items() if key != "label"}
        row |= {"id": f"q{place:06d}", "time": time.isoformat(), "query": RULES[place % len(RULES)](row["query"])}
        row |= {"session": f"s{place // int(1 + place % 4)}", "configuration": "live", "probability": None, "feedback": None, "error": None}
        if random.random() < 0.1:
            later = (time + timedelta(minutes=3)).isoformat()
            row["feedback"] = [{"kind": "thumb", "value": -1.0 if random.random() < 0.5 else 1.0, "time": later}]
        row["hits"] = [{**hit, "score": hit["score"] * random.random()} for hit in row["hits"]]
        if random.random() < 0.03:
            row["hits"] = []
        if random.random() < 0.02:
            row |= {"answer": None, "error": "timeout"}
        rows.append(row)
    return pd.DataFrame(rows)
