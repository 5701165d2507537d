"""Read and write the file of a baseline."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from workbench.core.files import checked, read_json, write_text
from workbench.errors import InputError
from workbench.gate.baseline import HIT_COLUMNS, Baseline, baseline_of, known_configuration
from workbench.gate.inputs import QuestionPrint
from workbench.gate.question_values import COLUMNS
from workbench.gate.subjects import LARGEST, default_subjects
from workbench.results.run_tables import RunTables

FORMAT = "workbench baseline 1"
_FIX = "write it again with workbench gate OUTPUT --update-baseline FILE, or give {metric: value}"
# A file of 20,000 questions is smaller.
_MOST_BYTES = 500_000_000


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    id: str
    text: str
    labels: str
    fields: str = ""
    values: dict[str, dict[str, float | None]]
    # Rank, document, start, end, and where the delivered part ends.
    hits: list[Annotated[tuple[int, str, int, int, int], Field(strict=False)]]


class _BaselineFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    format: str
    configuration: str
    runs: Annotated[int, Field(ge=1)]
    provenance: list[dict[str, Any]]
    settings: dict[str, Any]
    corpus: str
    compared: list[str] = []
    measurement: dict[str, Any] = {}
    means: dict[str, float]
    documents: dict[str, str]
    questions: list[_Question]


def write_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline as JSON, with one line for each question, atomically."""
    head = {
        "format": FORMAT,
        "configuration": baseline.configuration,
        "runs": baseline.runs,
        "provenance": list(baseline.provenance),
        "settings": baseline.settings,
        "corpus": baseline.corpus,
        "compared": list(baseline.compared),
        "measurement": dict(baseline.measurement),
        "means": dict(baseline.means),
        "documents": dict(baseline.documents),
    }
    lines = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    questions = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in _questions(baseline))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, f'{lines},\n "questions": [\n{questions}\n]\n}}\n')


def _questions(baseline: Baseline) -> list[dict[str, Any]]:
    values: dict[str, dict[str, dict[str, float | None]]] = {}
    for condition, metric, query_id, value, _ in baseline.values[COLUMNS].itertuples(index=False):
        values.setdefault(query_id, {}).setdefault(condition, {})[metric] = None if math.isnan(value) else value
    hits: dict[str, list[list[Any]]] = {}
    for query_id, *hit in baseline.hits[HIT_COLUMNS].itertuples(index=False):
        hits.setdefault(query_id, []).append(hit)
    return [
        {
            "id": name,
            "text": mark.text,
            "labels": mark.labels,
            "fields": mark.fields,
            "values": values.get(name, {}),
            "hits": hits.get(name, []),
        }
        for name, mark in baseline.questions.items()
    ]


def read_baseline(path: Path, configuration: str = "") -> Baseline:
    """Read a baseline: its file, a plain `{metric: value}`, or the folder of a run, of which `configuration` is taken.

    Raises InputError if it is none, or damaged.
    """
    if path.is_dir():
        run = RunTables.read(path)
        name = known_configuration(run, configuration if configuration in run.names or not run.baseline else run.baseline, str(path))
        named = (run.manifest["experiment"].get("gate") or {}).get("compare") or [*map(str, default_subjects(run, name))]
        return replace(baseline_of([run], name, path, fewest=1), compared=[named] if isinstance(named, str) else named)
    content = _json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a baseline: it contains no JSON object", _FIX)
    if "format" not in content:
        return _plain(path, content)
    if content["format"] != FORMAT:
        raise InputError(f"{path} is a baseline of another version ({content['format']!r:.80})", _FIX)
    return _baseline(path, checked(_BaselineFile, content, path, _FIX))


def _baseline(path: Path, file: _BaselineFile) -> Baseline:
    values = [
        (condition, metric, each.id, math.nan if value is None else value, "unscored" if value is None else "scored")
        for each in file.questions
        for condition, metrics in each.values.items()
        for metric, value in metrics.items()
    ]
    hits = [(each.id, *hit) for each in file.questions for hit in each.hits]
    prints = {each.id: QuestionPrint(each.text, each.labels, each.fields) for each in file.questions}
    if len(prints) < len(file.questions):
        raise InputError(f"{path} has a question twice", _FIX)
    return Baseline(
        path=path,
        configuration=file.configuration,
        means=file.means,
        runs=file.runs,
        values=pd.DataFrame(values, columns=COLUMNS).astype({"value": "float64"}),
        hits=pd.DataFrame(hits, columns=HIT_COLUMNS),
        questions=prints,
        documents=file.documents,
        corpus=file.corpus,
        compared=file.compared,
        measurement=file.measurement,
        settings=file.settings,
        provenance=file.provenance,
    )


def _plain(path: Path, content: Mapping[str, Any]) -> Baseline:
    wrong = [name for name, value in content.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    if wrong or not content:
        what = f"{wrong[0]!r:.80} is no number" if wrong else "it is empty"
        raise InputError(f"{path} is not a baseline: {what}", _FIX)
    try:
        means = {name: float(value) for name, value in content.items()}
    except OverflowError:
        means = {"a number": math.inf}
    if wrong := [name for name, value in means.items() if not abs(value) < LARGEST]:
        raise InputError(f"{path} is not a baseline: {wrong[0]!r:.80} is too large", _FIX)
    return Baseline(path, "", means, plain=True)


def _json(path: Path) -> object:
    # A device has the size 0 and never ends.
    if path.exists() and not path.is_file():
        raise InputError(f"the baseline {path} is not a file", _FIX)
    if not path.exists():
        raise InputError(f"the baseline {path} does not exist", f"write it with workbench gate OUTPUT --update-baseline {path}")
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES:,} bytes", _FIX)
    return read_json(path, "the baseline", _FIX)
