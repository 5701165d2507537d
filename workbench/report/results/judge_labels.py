"""The file of labels that `workbench judge sample` writes and a person fills in: one JSON object in each line."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.errors import InputError
from workbench.core.files import write_text
from workbench.core.schemas import SCHEMAS
from workbench.core.text.formatting import listed, meant
from workbench.report.results.run_tables import write_table

LABELS_FILE = "judge_labels.jsonl"
LABELS_OF_CLAIMS, LABELS_OF_ANSWERS = ("supported", "contradicted", "absent"), ("yes", "no")


def labels_of(task: str) -> tuple[str, ...]:
    """Return the labels that a task knows."""
    return LABELS_OF_CLAIMS if task == "support" else LABELS_OF_ANSWERS


@dataclass(frozen=True, slots=True)
class LabelLine:
    """An item to be labelled. It does not show what the judge says.

    `label` and `annotator` are empty until a person fills them in. `seed`, `number` and `each_class` are those of the draw, the same in all lines of a
    task. Labels of items of other runs bring the judge's `verdict` or `score` with them.
    """

    item_id: str
    task: str
    configuration: str
    condition: str
    query_id: str
    question: str
    answer: str
    claim: str = ""
    expected: str = ""
    passages: tuple[str, ...] = ()
    label: str = ""
    annotator: str = ""
    seed: int = 0
    number: int = 0
    each_class: int = 0
    verdict: str = ""
    score: float | None = None

    def as_json(self) -> str:
        """Return the line, with `label` and `annotator` first."""
        shown = {"label": self.label, "annotator": self.annotator, "task": self.task, "question": self.question}
        texts = {"claim": self.claim, "expected": self.expected}
        shown |= {name: text for name, text in texts.items() if text} | {"answer": self.answer}
        draw = {"seed": self.seed, "number": self.number, "each_class": self.each_class}
        judged = {name: value for name, value in (("verdict", self.verdict), ("score", self.score)) if value not in ("", None)}
        ids = {"configuration": self.configuration, "condition": self.condition, "query_id": self.query_id, "id": self.item_id}
        whole: dict[str, Any] = shown | {"passages": list(self.passages)} | ids | {"draw": draw} | judged
        return json.dumps(whole, ensure_ascii=False)


# The keys of a line that are texts.
_TEXTS = ("id", *(each.name for each in fields(LabelLine) if each.type is str and each.name != "item_id"))


def read_labels(path: Path) -> list[LabelLine]:
    """Read a file of labels. Raises InputError with the line that is not a label, or whose label is unknown."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", "draw items to label with workbench judge sample") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})", "give a text file of JSON lines") from error
    # Not `splitlines`, which also splits at characters that JSON allows in texts.
    return [_line(f"line {place} of {path}", line) for place, line in enumerate(text.split("\n"), 1) if line.strip()]


def write_labels(path: Path, lines: Iterable[LabelLine]) -> None:
    """Write a file of labels atomically."""
    write_text(path, "".join(f"{line.as_json()}\n" for line in lines))


def merged(existing: Sequence[LabelLine], drawn: Sequence[LabelLine]) -> list[LabelLine]:
    """Add drawn items to the existing lines, none of whose labels change. Lines without a label are dropped if they are not drawn again.

    Raises InputError if labels exist that were drawn in another order, because together they would not be a random sample.
    """
    tasks = {line.task for line in drawn}
    filled = [line for line in existing if line.label and line.task in tasks]
    seeds = {line.seed for line in drawn}
    others = sorted({line.seed for line in filled} - seeds)
    if others:
        raise InputError(
            f"the labels were drawn with --seed {others[0]}", f"draw with --seed {others[0]}, or name another file with --labels"
        )
    number = max([line.number for line in filled] + [line.number for line in drawn], default=0)
    wanted = {line.item_id for line in drawn}
    kept = [line for line in existing if line.label or line.task not in tasks or line.item_id in wanted]
    known = {line.item_id for line in kept}
    new = [line for line in drawn if line.item_id not in known]
    return [replace(line, number=number) if line.task in tasks else line for line in (*kept, *new)]


def _line(place: str, text: str) -> LabelLine:
    try:
        row = json.loads(text)
        # Half of a surrogate pair is JSON, and no text that can be written.
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON ({error})", "keep one JSON object in each line") from None
    missing = [name for name in ("id", "task", "label") if not isinstance(row, dict) or not isinstance(row.get(name), str)]
    if missing:
        raise InputError(f"{place} has no text {listed(missing)}", "keep the lines that workbench judge sample wrote")
    wrong = [name for name in _TEXTS if not isinstance(row.get(name, ""), str)]
    draw, passages, score = row.get("draw", {}), row.get("passages", []), row.get("score")
    wrong += [] if isinstance(draw, dict) and all(isinstance(value, int) for value in draw.values()) else ["draw"]
    wrong += [] if isinstance(passages, list) and all(isinstance(value, str) for value in passages) else ["passages"]
    wrong += [] if score is None or (isinstance(score, int | float) and 0 <= score <= 1) else ["score"]
    if wrong:
        raise InputError(f"{place} has a wrong {listed(wrong)}", "keep the lines that workbench judge sample wrote")
    label, known = row["label"].strip().lower(), labels_of(row["task"])
    if label and label not in known:
        raise InputError(f"{place} has the label {label!r}{meant(label, known)}", f"use {', '.join(known)}, or leave it empty")
    verdict, verdicts = row.get("verdict", ""), (*labels_of(row["task"]), "")
    if verdict not in verdicts:
        raise InputError(f"{place} has the verdict {verdict!r}{meant(verdict, verdicts)}", f"use {', '.join(known)}, or leave it out")
    texts = {name: row.get(name, "") for name in _TEXTS if name != "id"} | {"label": label}
    drawn = {name: draw.get(name, 0) for name in ("seed", "number", "each_class")}
    return LabelLine(item_id=row["id"], **texts, passages=tuple(passages), **drawn, score=None if score is None else float(score))


CALIBRATION_FILE = "calibration.json"


def write_calibration(folder: Path, labels: pd.DataFrame, calibration: pd.DataFrame, corrected: pd.DataFrame) -> list[str]:
    """Write `labels`, `calibration` and `corrected` as tables, and the last two also as calibration.json, each atomically. Return the files' names."""
    tables = {"labels": labels, "calibration": calibration, "corrected": corrected}
    for name, table in tables.items():
        write_table(folder, SCHEMAS[name], SCHEMAS[name].conform(table))
    # NaN becomes null.
    parts = {name: json.loads(table.to_json(orient="records")) for name, table in (("calibration", calibration), ("corrected", corrected))}
    write_text(folder / CALIBRATION_FILE, json.dumps(parts, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return [CALIBRATION_FILE, *(f"{name}.parquet" for name in tables)]
