"""A small corpus about rooms, swept with BM25 as it was and with changes to its documents."""

import json
from collections.abc import Callable, Mapping

import pytest

from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

FACTS = {
    "lamp": "The lamp of the blue room is switched on at nine in the evening.",
    "door": "The door of the cellar opens with the small brass key.",
    "roof": "The roof above the kitchen was mended in the spring of 1994.",
    "well": "The well behind the stable holds forty cubic metres of water.",
}
FILLER = "Nothing else in this house is worth a visit, say those who live here and look after it."
QUESTIONS = {
    "lamp": "When is the lamp of the blue room switched on?",
    "door": "Which key opens the door of the cellar?",
    "roof": "When was the roof above the kitchen mended?",
    "well": "How much water does the well behind the stable hold?",
}
Sweep = Callable[..., RunTables]


def documents() -> dict[str, str]:
    """Every fact in its own document, after two sentences of filler."""
    return {name: f"{FILLER} {FILLER} {fact}" for name, fact in FACTS.items()}


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Sweep the corpus with BM25. `texts` are its documents, `size` that of a chunk in tokens; evidence is labelled where it is, else where `documents()` have it."""
    outputs = tmp_path_factory.mktemp("lost")

    def sweep(texts: Mapping[str, str] | None = None, size: int = 64, **changes: object) -> RunTables:
        texts = documents() if texts is None else texts
        folder = tmp_path_factory.mktemp("house")
        (folder / "documents").mkdir()
        for name, text in texts.items():
            (folder / "documents" / f"{name}.md").write_text(text, "utf-8")
        rows = [json.dumps(_row(name, texts.get(name, ""))) for name in QUESTIONS]
        (folder / "questions.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
        settings = {
            "name": "house",
            "dataset": {"kind": "golden", "path": str(folder)},
            "pipeline": {"chunking": {"kind": "fixed", "size": size, "overlap": 0}, "retrieval": {"kind": "bm25", "k": 5}},
            "metrics": ["recall@2", "need_recall@2", "precision@2"],
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("WORKBENCH_STORE", raising=False)
            return collect(run_experiment(experiment_of(settings | changes, "here"), outputs, lambda _: None))

    return sweep


def _row(name: str, text: str) -> dict[str, object]:
    text = text if FACTS[name] in text else documents()[name]
    start = text.index(FACTS[name])
    evidence = [[{"doc_id": name, "start": start, "end": start + len(FACTS[name])}]]
    return {"query_id": name, "query": QUESTIONS[name], "relevant_doc_ids": [name], "evidence": evidence, "answer": FACTS[name]}
