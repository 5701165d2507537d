"""Datasets written as tables, as a person would: what `table` reads back must be the same dataset."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.core.records import Dataset
from workbench.data.formats.golden import document_rows, question_rows

PLAIN = ("query", "query_id", "answer", "split")
JSON = ("relevant_doc_ids", "irrelevant_doc_ids", "judged_doc_ids", "evidence")


def write_table(dataset: Dataset, folder: Path, suffix: str) -> None:
    """`questions` and `documents` as .csv or .parquet in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    spelt = suffix == ".csv"
    questions = [{key: cell(key, value, spelt) for key, value in row.items()} for row in question_rows(dataset)]
    for name, rows in (("documents", list(document_rows(dataset))), ("questions", questions)):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        if not spelt:
            pq.write_table(pa.table({key: [row.get(key) for row in rows] for key in columns}), folder / f"{name}.parquet")
            continue
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)


def cell(key: str, value: Any, spelt: bool) -> Any:
    """Labels are JSON; in CSV so is all metadata but text, and text that would be read as something else."""
    if key in PLAIN or (isinstance(value, str) and not spelt):
        return value
    if key in JSON or (spelt and (not isinstance(value, str) or value == "" or is_json(value))):
        return json.dumps(value, ensure_ascii=False)
    return value


def is_json(text: str) -> bool:
    try:
        return bool(json.loads(text) != text)
    except ValueError:
        return False
