"""Runs with judges made in Python: a run with answers, whose claims have planted verdicts and whose failures have planted causes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.answered_runs import Planted, answered
from workbench.core.schemas import SCHEMAS
from workbench.report.analysis.judges import labelled_tasks
from workbench.report.analysis.labels import judged_items, lines_to_label
from workbench.report.results.run_tables import RunTables

SUFFICED = "retrieved", "gold"
JUDGE = {"task": "support", "judge": "chat: qwen3:4b", "role": "judge", "reason": "", "auroc": 0.93, "always_yes": 0.55}
JUDGE |= {"repeatability": 0.98, "passed": 88, "failed": 10, "unscored": 2}
SCORE = JUDGE | {"judge": "overlap", "role": "score", "reason": "AUROC 0.56 is below 0.65", "auroc": 0.56, "always_yes": 0.71}
SCORE |= {"repeatability": 1.0, "passed": 55, "failed": 45, "unscored": 0}


@dataclass(frozen=True)
class Judged:
    """What the judges of a made run say. `verdicts` are shares of supported, contradicted and absent claims; without verdicts they are scores."""

    conditions: Sequence[str] = SUFFICED
    gives_verdicts: bool = True
    verdicts: Mapping[str, float] = field(default_factory=lambda: {"supported": 0.7, "contradicted": 0.1, "absent": 0.2})
    failed: float = 0.0
    claims: bool = True
    causes: bool = True
    labels: int = 0
    seed: int = 0


def judged(run: RunTables, planted: Judged = Judged()) -> RunTables:
    """Return a run with answers as if its judges had read it."""
    rng = np.random.default_rng(planted.seed)
    answers = run.answers[run.answers["condition"].isin(planted.conditions)]
    given = answers[(answers["error"] == "") & (answers["reason"] == "")].to_dict("records")
    claims = [row for answer in given if planted.claims and not answer["refused"] for row in _claims(run, answer, planted, rng)]
    worst: dict[tuple[Any, ...], str] = {}
    for row in claims:
        if row["verdict"] in ("contradicted", "absent"):
            worst.setdefault(tuple(row[name] for name in _KEYS), row["claim"])
    known = run.questions.set_index("query_id")["answerable"].to_dict()
    causes = [row for answer in given if planted.causes and (row := _cause(answer, known, worst))]
    judges = [
        (JUDGE if planted.gives_verdicts else SCORE) | {"task": task} for task in ("support", "context_relevance", "answer_relevance")
    ]
    judges.append(SCORE | {"task": "correctness"})
    tables = {
        "claims": pd.DataFrame(claims, columns=SCHEMAS["claims"].names),
        "causes": pd.concat([run.causes, pd.DataFrame(causes, columns=SCHEMAS["causes"].names)], ignore_index=True),
        "judges": pd.DataFrame(judges),
        "answer_judgements": pd.DataFrame(_judgements(given), columns=SCHEMAS["answer_judgements"].names),
    }
    whole = {name: SCHEMAS[name].conform(table) for name, table in tables.items()}
    support = {"kind": "chat", "model": "qwen3:4b"} if planted.gives_verdicts else {"kind": "overlap", "embedding": {"model": "minilm"}}
    manifest = dict(run.manifest) | {"judging": {"support": support, "conditions": list(planted.conditions)}}
    made = replace(run, manifest=manifest, sources={**run.sources, **{name: _source(table) for name, table in whole.items()}})
    labels = _labelled(made, planted.labels) if planted.labels else {}
    return replace(made, sources={**made.sources, **{name: _source(table) for name, table in labels.items()}})


def _source(table: pd.DataFrame) -> Callable[[RunTables], pd.DataFrame]:
    return lambda _: table


_KEYS = ["configuration", "condition", "variant", "repeat", "query_id"]


def _claims(run: RunTables, answer: dict[str, Any], planted: Judged, rng: np.random.Generator) -> list[dict[str, Any]]:
    text, passages, rows = str(answer["answer"]), json.loads(answer["passages"]), []
    cuts = [(0, len(text) // 2), (len(text) // 2, len(text))]
    for number, (start, end) in enumerate(cuts):
        row = {name: answer[name] for name in _KEYS} | {"number": number, "claim": text[start:end], "start": start, "end": end}
        row |= {
            "verdict": "",
            "score": np.nan,
            "confidence": np.nan,
            "passage": -1,
            "chunk_id": "",
            "evidence_start": -1,
            "evidence_end": -1,
        }
        row |= {"quote": "", "flags": "[]", "judge": "chat: qwen3:4b" if planted.gives_verdicts else "overlap", "error": ""}
        if rng.random() < planted.failed:
            rows.append(row | {"error": "the server timed out (60 s)"})
            continue
        verdict = str(rng.choice(list(planted.verdicts), p=list(planted.verdicts.values())))
        row["score"] = round(float({"supported": 0.8, "contradicted": 0.1, "absent": 0.3}[verdict] + 0.2 * rng.random()), 3)
        if planted.gives_verdicts:
            row |= {"verdict": verdict, "confidence": 0.9}
        if verdict != "supported":
            row["flags"] = json.dumps(["number", "negation"] if verdict == "contradicted" else ["name"])
        if passages and (verdict != "absent" or not planted.gives_verdicts):
            slice_ = passages[0]
            source = slice_.get("text") or _text(run, slice_)
            low, high = min(4, len(source) - 1), min(40, len(source))
            row |= {"passage": 0, "chunk_id": f"{slice_['doc_id']}:{slice_['start']}-{slice_['end']}"}
            row |= {"evidence_start": low, "evidence_end": high, "quote": source[low:high]}
        rows.append(row)
    return rows


def _judgements(given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One of ten judgements of correctness has failed."""
    rows = []
    for place, answer in enumerate(given):
        failed = place % 10 == 0
        row = {name: answer[name] for name in _KEYS} | {"task": "correctness", "passage": -1, "judge": "overlap"}
        rows.append(row | {"score": np.nan if failed else 0.5, "error": "the server timed out (60 s)" if failed else ""})
    return rows


def _labelled(run: RunTables, number: int) -> dict[str, pd.DataFrame]:
    """Labels of drawn claims, one of ten of which differs from the verdict, with what calibrating by them makes known."""
    drawn = lines_to_label(run, "support", "retrieved", number, seed=1, each_class=5)
    said = judged_items(run, "support", "retrieved").set_index("item_id")["yes"]
    lines = [
        replace(line, label="supported" if bool(said[line.item_id]) != (place % 10 == 0) else "absent", annotator="Ada")
        for place, line in enumerate(drawn)
    ]
    found = labelled_tasks(run, lines, "retrieved")
    return {"labels": found.labels, "calibration": found.calibration, "corrected": found.corrected}


def _text(run: RunTables, slice_: dict[str, Any]) -> str:
    for row in run.passages[run.passages["doc_id"] == slice_["doc_id"]].to_dict("records"):
        if row["start"] <= slice_["start"] and slice_["end"] <= row["end"]:
            return str(row["text"])[slice_["start"] - row["start"] : slice_["end"] - row["start"]]
    return ""


def _cause(answer: dict[str, Any], answerable: Mapping[str, bool], worst: Mapping[tuple[Any, ...], str]) -> dict[str, Any] | None:
    """The cause of a failed answer, from what the answers were made with."""
    key, right = tuple(answer[name] for name in _KEYS), "past" in str(answer["answer"])
    evidence = ""
    if not answerable[answer["query_id"]]:
        cause = "" if answer["refused"] else "unrefused"
    elif not answer["gold"]:
        cause = "" if right else "rank"
    elif answer["refused"]:
        cause = "refusal"
    else:
        evidence = worst.get(key, "")
        cause = "unsupported" if evidence else "" if right else "unused"
    row = {name: answer[name] for name in _KEYS} | {"cause": cause, "evidence": evidence, "need": -1, "doc_id": "", "rank": 0}
    return row | {"subject": "answer"} if cause else None


@pytest.fixture(scope="session")
def judged_run(unanswered: RunTables) -> RunTables:
    """A judge with verdicts on the answers to retrieved contexts and to the evidence alone."""
    return judged(answered(unanswered, Planted(failed=0.02)))


@pytest.fixture(scope="session")
def scored_run(unanswered: RunTables) -> RunTables:
    """A judge that only scores."""
    return judged(answered(unanswered, Planted(conditions=["gold", "retrieved"])), Judged(gives_verdicts=False))
