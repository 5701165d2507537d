"""A cold sweep of eight chunkings of covid-qa against a hand-written loop, plain and tuned in two ways, in one process.

The loops (`benchmarks/loops.py`) split, embed, fill a Chroma collection and query it with every question. The sweep also
searches exactly, scores, audits the index, times 50 single questions and writes all tables; notebooks and report are
timed separately. All sides embed the same texts, which is checked, so that recall can be compared. Half of each loop's chunkings
run before the sweep and half after it, so that other work on the machine affects all sides. Loading is not measured.

Then the same sweep runs again with nothing new, and with one more chunking. The cost of that chunking is the difference of the
two. It is compared with a cold sweep of that chunking alone in a new store, minus its cost there with nothing to compute
(reading, tables); strictly also minus the questions' vectors, which the sweep has already.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from benchmarks.claims import Claim, at_least, at_most
from benchmarks.covid_qa import NAME, Place, doc_ids, part_of, recall
from benchmarks.loops import Answers, Chunking, Plain, Tuned, collection_of, of_32, of_tokens, places
from benchmarks.swept import Swept, later, notebooks, parts, sweep, warm
from workbench.core.records import Dataset
from workbench.llm.models.files import MINILM, locate

NEEDS = (NAME,)
# About five minutes on two quiet cores; all 98 documents take about 45.
DOCUMENTS = 12
SIZES = ((64, 0), (64, 32), (128, 0), (128, 64), (256, 0), (256, 64))
CHUNKINGS: list[Chunking] = [
    *({"kind": "fixed", "size": size, "overlap": overlap} for size, overlap in SIZES),
    *({"kind": "sentence", "size": size} for size in (128, 256)),
]
ADDED: Chunking = {"kind": "fixed", "size": 192, "overlap": 0}

# The loops to run; `--loops sorted` leaves out the others, which take two thirds of the time.
LOOPS = ("plain", "sorted", "tuned")

# A loop's recall counts as no better than the sweep's up to this difference; in a part of the data two questions can weigh more.
EQUAL, QUESTIONS = 0.005, 2
# The required speed-up over every loop. The goal of 4 exceeds what two cores compute in bfloat16 (docs/performance.md).
FASTER = 3.0


def run(documents: int = DOCUMENTS, loops: Sequence[str] = LOOPS) -> dict[str, Any]:
    """Seconds, ratios, recall of all sides, where our time goes, and the claims."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        dataset = part_of(place / "part", documents)
        model = SentenceTransformer(str(locate(MINILM)), device="cpu")
        written: dict[str, Plain | Tuned] = {
            "plain": Plain(model, place / "plain"),
            "sorted": Tuned(model, place / "sorted", of_32),
            "tuned": Tuned(model, place / "tuned", of_tokens),
        }
        sides = {name: Side(written[name]) for name in loops}
        collection_of(place / "warm-loop", [("warm", "warm")], model.encode(["warm"], show_progress_bar=False))
        warm(place / "warm")
        half = len(CHUNKINGS) // 2
        for side in sides.values():
            side.run(dataset, CHUNKINGS[:half])
        cold = sweep(place, "outputs", CHUNKINGS)
        for side in reversed(sides.values()):
            side.run(dataset, CHUNKINGS[half:])
        more = {"notebooks and report": notebooks(cold)} | later(place, CHUNKINGS, ADDED)
        compared = recalls(dataset, sides, cold)
    seconds = {f"{name} loop": side.seconds for name, side in sides.items()} | {"cold sweep": cold.seconds} | more
    figures = {
        "loops": list(loops),
        "documents": len(dataset.documents),
        "questions": len(dataset.queries),
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "tokens that a tuned loop encoded": counted(sides),
        "recall": compared,
        "cold sweep by part, seconds": {name: round(value, 2) for name, value in parts(cold).items()},
        "ratios": ratios(seconds),
    }
    return figures | {"claims": claims(figures, len(dataset.documents) == len(doc_ids()))}


@dataclass
class Side:
    """A loop with its seconds and results."""

    loop: Plain | Tuned
    seconds: float = 0.0
    chunks: dict[str, list[Place]] = field(default_factory=dict)
    answers: dict[str, Answers] = field(default_factory=dict)

    def run(self, dataset: Dataset, chunkings: Sequence[Chunking]) -> None:
        """Run some of the chunkings. Locating their chunks is not measured."""
        for chunking in chunkings:
            started = time.perf_counter()
            pieces, answers = self.loop.run(dataset, chunking)
            self.seconds += time.perf_counter() - started
            self.chunks[name_of(chunking)], self.answers[name_of(chunking)] = places(dataset, pieces), answers

    def delivered(self, name: str) -> dict[str, list[Place]]:
        """The positions of each question's chunks."""
        return {query: [self.chunks[name][number] for number in found] for query, found in self.answers[name].items()}


def counted(loops: Mapping[str, Side]) -> dict[str, int]:
    """The tokens of chunks that a tuned loop encoded, and those that a vector cache would have saved."""
    tuned = next((side.loop for side in loops.values() if isinstance(side.loop, Tuned)), None)
    return {"encoded": tuned.tokens, "in texts of an earlier chunking": tuned.repeated} if tuned else {}


def name_of(chunking: Chunking) -> str:
    """The name of the configuration in the sweep."""
    return "-".join(map(str, chunking.values()))


def ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """The ratios; above 1 the first side takes longer."""
    cold, again, alone = seconds["cold sweep"], seconds["again"], seconds["that one alone"]
    whole = cold + seconds["notebooks and report"]
    more, own = seconds["one more"] - again, alone - seconds["that one alone, again"]
    loops = {name: took for name, took in seconds.items() if name.endswith(" loop")}
    found = {f"{name} / cold sweep": took / cold for name, took in loops.items()}
    found |= {f"{name} / cold sweep with notebooks and report": took / whole for name, took in loops.items()}
    found |= {
        "cold sweep / again": cold / again,
        "cold sweep with notebooks and report / again as a command": whole / seconds["again, as a command with notebooks and report"],
        "one more / its own cost": more / own,
        "one more / its own cost without the questions": more / (own - seconds["that one alone, its questions"]),
    }
    return {name: round(value, 3) for name, value in found.items()}


def recalls(dataset: Dataset, loops: Mapping[str, Side], cold: Swept) -> dict[str, dict[str, float]]:
    """Each chunking's chunks, the share of them that both sides made, and recall@5 of all sides.

    The sweep has two: by exact search, its default, and by its Chroma index, which the loops use.
    """
    found: dict[str, dict[str, float]] = {}
    ids = np.array([query.query_id for query in dataset.queries], dtype=object)
    for result in cold.outcome.results:
        name, table = result.configuration.name, result.chunks_table
        names = [dataset.documents[doc].doc_id for doc in table["doc"]]
        cut = list(zip(names, table["start"], table["end"], strict=True))
        ours, theirs = set(cut), set(next(iter(loops.values())).chunks[name])
        sides = {side: recall(dataset, loop.delivered(name)) for side, loop in loops.items()}
        for side, search in (("sweep", "exact"), ("sweep's Chroma", "ann")):
            rows = result.entry("hits").table(f"{search}_hits").sort_values("rank", kind="stable")
            of_query = rows["chunk"].groupby(ids[rows["query"]])
            sides[side] = recall(dataset, {str(query_id): [cut[chunk] for chunk in own] for query_id, own in of_query})
        figures = {f"{side} {name}": round(value, 4) for side, means in sides.items() for name, value in means.items()}
        found[name] = {"chunks": len(ours), "shared": round(len(ours & theirs) / len(ours | theirs), 4), **figures}
    return found


def claims(figures: Mapping[str, Any], whole: bool) -> list[Claim]:
    """Claims about recall on any part, within the precision of its number of questions, and about speed on all documents only.

    On a part, the costs that do not grow with the documents (tables, intervals, 50 timed questions) weigh too much.
    """
    rows = figures["recall"].values()
    measures = ("documents@5", "spans@5")
    less = max(row[f"{side} {name}"] - row[f"sweep {name}"] for row in rows for side in figures["loops"] for name in measures)
    apart = max(
        abs(row[f"{side} {name}"] - row[f"sweep's Chroma {name}"]) for row in rows for side in figures["loops"] for name in measures
    )
    equal = max(EQUAL, QUESTIONS / figures["questions"])
    checks = [
        at_most("most that a loop's recall@5 is above the sweep's", round(less, 4), round(equal, 4)),
        at_most("most that a loop's recall@5 differs from that of the sweep's own Chroma index", round(apart, 4), round(equal, 4)),
        at_least("smallest share of chunks that both sides made", min(row["shared"] for row in rows), 0.99),
    ]
    ratio = figures["ratios"]
    more = "one more / its own cost without the questions"
    fast = [
        *(at_least(f"{side} loop / cold sweep", ratio[f"{side} loop / cold sweep"], FASTER) for side in figures["loops"]),
        at_least("cold sweep / again, nothing changed", ratio["cold sweep / again"], 50.0),
        at_most(more, ratio[more], 1.15),
    ]
    return checks + (fast if whole else [])
