"""The cases of the campaign: every operation of each command, every message of kernels, every file that a sweep leaves."""

import functools
import json
import shutil
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.asked_sweeps import write_questions
from tests.conftest import write_part
from tests.faults.campaign import Case, Ending, Subject, Undisturbed, inject, numbers_of, recover, spread, undisturbed
from tests.faults.damage import Damage, damages
from tests.faults.injection import place_of
from tests.faults.outputs import same_gate, same_labels, same_log, same_pass
from tests.faults.served import FailingServer

# A sweep without notebooks, whose operations are those below, and one with them.
TABLES, SWEEP = Subject(["tables"]), Subject(["sweep", "small.yaml"])
_SMALL = """
name: small
dataset: {kind: golden, path: data}
pipeline: {embedding: {kind: hashed, dimensions: 64}}
sweep:
  chunking:
    - {kind: fixed, size: 64, overlap: 0}
metrics: [span_recall@500t, recall@5]
"""
_TWO = _SMALL.replace("metrics", "    - {kind: sentence, size: 128}\nmetrics")
# Reads what the sweep before has stored: a metric to compute, and the index of Chroma to search.
_FURTHER = _TWO.replace("recall@5]", "recall@5, ndcg@10]").replace(
    "  chunking", "  retrieval: [{kind: dense, k: 10}, {kind: dense, k: 10, search: ann}]\n  chunking"
)
_LAMPS = """
name: small
dataset: {kind: golden, path: data}
pipeline: {chunking: {kind: fixed, size: 32, overlap: 0}, retrieval: {kind: bm25, k: 2}}
metrics: [recall@3]
"""
# Each failed call is the run's to report: none is tried again.
_JUDGED = """
name: small
dataset: {kind: golden, path: data}
pipeline:
  chunking: {kind: fixed, size: 32, overlap: 0}
  retrieval: {kind: bm25, k: 2}
  answering: {kind: chat, provider: openai, model: words, base_url: HOST/v1, retries: 0, timeout: 30, max_tokens: 64}
conditions: [gold, retrieved]
judging:
  support: {kind: number, base_url: HOST/v1}
  correctness: {kind: number, base_url: HOST/v1}
metrics: [recall@3, answer_recall, faithfulness, answer_correctness]
"""
_JUDGED_FURTHER = _JUDGED.replace("answer_recall", "answer_recall, refusal_rate, contradiction_rate").replace(
    "recall@3", "recall@3, recall@5"
)
_TARGET = """
name: small
dataset: {kind: golden, path: data}
targets:
  - kind: http
    name: service
    url: HOST
    retries: 0
    search: {url: search, body: {query: "{query}", k: "{k}"}, reply: {hits: $.hits, id: $.id, score: $.score}}
    answer: {url: ask, body: {query: "{query}"}, reply: {text: $.text, sources: {hits: $.sources, id: $}}}
judging: none
metrics: [recall@3, answer_recall]
"""
_TARGET_FURTHER = _TARGET.replace("answer_recall]", "answer_recall, ndcg@10, refusal_rate]")
_LAST_QUESTION, _LAMP_QUESTIONS, _LOGGED = "hb-012", 4, 240


class Worlds:
    """The undisturbed commands that disturbed ones are compared with, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @functools.cached_property
    def _server(self) -> FailingServer:
        server = FailingServer()
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def _start(self, name: str, experiment: str) -> Path:
        place = self._folder / name
        write_part(_LAST_QUESTION, place / "data")
        (place / "small.yaml").write_text(experiment)
        return place

    def _lamps(self, name: str, experiment: str = _LAMPS, count: int = _LAMP_QUESTIONS) -> Path:
        place = self._folder / name
        write_questions(place / "data", count, unanswerable=1)
        return self._changed(place, experiment)

    def _changed(self, place: Path, experiment: str) -> Path:
        (place / "small.yaml").write_text(experiment.replace("HOST", self._server.host))
        return place

    def _done(self, subject: Subject, start: Path, name: str) -> Undisturbed:
        return undisturbed(subject, start, self._folder / f"{name}-done")

    @functools.cached_property
    def cold(self) -> Undisturbed:
        """A sweep into an empty folder, without notebooks."""
        return self._done(TABLES, self._start("cold", _SMALL), "cold")

    @functools.cached_property
    def notebooks(self) -> Undisturbed:
        """The same with its notebooks, where everything else is in the store."""
        return self._done(SWEEP, self.cold.done, "notebooks")

    @functools.cached_property
    def further(self) -> Undisturbed:
        """A sweep that extends one of two configurations and reads all that it stored."""
        done = self._done(TABLES, self._start("two", _TWO), "two").done
        return self._done(TABLES, self._changed(done, _FURTHER), "further")

    @functools.cached_property
    def judged(self) -> Undisturbed:
        """A sweep that asks a chat model for answers and judgements."""
        # A sweep of one question has tested the judges on known answers, which takes more calls than the others together.
        done = self._done(self._served, self._lamps("lamp", _JUDGED, 1), "lamp").done
        shutil.rmtree(done / "data")
        write_questions(done / "data", _LAMP_QUESTIONS, unanswerable=1)
        return self._done(self._served, done, "judged")

    @functools.cached_property
    def judged_further(self) -> Undisturbed:
        """The same with further metrics, which reads the answers and judgements."""
        place = self._folder / "judged-start"
        shutil.copytree(self.judged.done, place)
        return self._done(self._served, self._changed(place, _JUDGED_FURTHER), "judged-further")

    @functools.cached_property
    def target(self) -> Undisturbed:
        """A sweep that asks a service over HTTP for hits and answers."""
        return self._done(self._served, self._lamps("target", _TARGET), "target")

    @functools.cached_property
    def target_further(self) -> Undisturbed:
        """The same with further metrics, which reads the responses."""
        place = self._folder / "target-start"
        shutil.copytree(self.target.done, place)
        return self._done(self._served, self._changed(place, _TARGET_FURTHER), "target-further")

    @functools.cached_property
    def remote(self) -> Undisturbed:
        """A sweep into a store under a URL."""
        return self._done(Subject(["remote-tables"]), self._lamps("remote"), "remote")

    @functools.cached_property
    def labels(self) -> Undisturbed:
        """A session of labelling, and the dataset with its labels."""
        return self._done(Subject(["labels"], same_labels, repairs=()), self._lamps("labels"), "labels")

    @functools.cached_property
    def gate(self) -> Undisturbed:
        """A baseline of a run, and a gate that fails."""
        subject = Subject(["gated"], same_gate, 1, ["the outcome is not in"], [("repaired by a sweep", TABLES.command)])
        return self._done(subject, self.cold.done, "gate")

    @functools.cached_property
    def log(self) -> Undisturbed:
        """Questions being logged."""
        return self._done(Subject(["logged"], same_log, repairs=()), self._lamps("log"), "log")

    @functools.cached_property
    def monitor(self) -> Undisturbed:
        """A pass over a log, which raises an alert."""
        place = self._lamps("monitor")
        (place / "outputs" / "log").mkdir(parents=True)
        feedback = {"id": "q3", "time": "2026-11-21T10:00:00Z", "feedback": [{"kind": "thumbs", "value": 1}]}
        lines = (json.dumps(row) + "\n" for row in (*map(_logged, range(_LOGGED)), feedback))
        (place / "outputs" / "log" / "20261120T000000Z-1-000000.jsonl").write_text("".join(lines))
        return self._done(Subject(["monitor", "outputs/log"], same_pass, 1, ["cannot be read", "file: "], repairs=()), place, "monitor")

    @functools.cached_property
    def _served(self) -> Subject:
        return Subject(TABLES.command, server=self._server)

    def operations(self) -> Iterator[Case]:
        """Every fault at every read, write, fsync, rename and SQLite call of a sweep, and at the further places of other commands."""
        yield from _faults("", self.cold)
        for name in ("judged", "target", "remote", "labels", "gate", "log", "monitor"):
            yield from _faults(f"{name}: ", getattr(self, name), self.cold)

    def messages(self) -> Iterator[Case]:
        """Every fault at every message that a kernel sends."""
        yield from (case for case in _faults("", self.notebooks) if case.group.startswith("message"))

    def damaged(self) -> Iterator[Case]:
        """Every damage of every file that a sweep stored, and of those of further stages."""
        yield from _damages("", self.further)
        known = {place_of(damage.path) for damage in damages(self.further.start / "outputs")}
        for name in ("judged", "target"):
            yield from (case for case in _damages(f"{name}: ", getattr(self, f"{name}_further"), known))


def _faults(prefix: str, world: Undisturbed, beyond: Undisturbed | None = None) -> Iterator[Case]:
    for fault in world.faults(beyond):
        yield Case(f"{prefix}{fault.operation}: {fault.kind}", str(fault), functools.partial(inject, world, fault))


def _damages(prefix: str, world: Undisturbed, known: Collection[str] | None = None) -> Iterator[Case]:
    """Yield the damages of files. With `known`, only of files at other places, and at most EACH of a place."""
    found = list(damages(world.start / "outputs"))
    paths = list(dict.fromkeys(damage.path for damage in found))
    if known is not None:
        places = [place_of(path) for path in paths]
        paths = [paths[number - 1] for place in {*places} - {*known} for number in spread(numbers_of(places, place))]
    seen = Counter[str]()
    for damage in found:
        if damage.path in paths:
            # Without digests, which differ between campaigns that share a journal.
            place = f"{damage.kind} {place_of(damage.path)}"
            seen[place] += 1
            yield Case(f"{prefix}stored file: {damage.kind}", f"{place} {seen[place]}", functools.partial(_damage, world, damage))


def _logged(number: int) -> dict[str, object]:
    """Return a question of the log: twelve days of 20, on the last two of which nothing was found."""
    day, place = divmod(number, 20)
    row = {"id": f"q{number}", "time": f"2026-11-{10 + day}T08:{place:02}:00Z", "query": f"question {number}", "configuration": "served"}
    if day >= 10:
        return row | {"hits": [], "answer": "I cannot answer this."}
    return row | {"hits": [{"doc_id": "d0", "text": "The lamp is switched at noon."}], "answer": "The lamp is switched at noon."}


def _damage(world: Undisturbed, damage: Damage, folder: Path) -> Ending:
    shutil.copytree(world.start, folder)
    (folder / "log.txt").unlink()
    damage.apply(folder / "outputs")
    return recover(world, str(damage), folder)
