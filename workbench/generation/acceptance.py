"""Record that a person has accepted synthetic questions."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from workbench.core.files import write_text
from workbench.core.formatting import listed, meant
from workbench.datasets.draft import DatasetDraft
from workbench.datasets.formats.golden import QUESTION_FILES
from workbench.datasets.lines import json_lines, read_text
from workbench.errors import DatasetError, InputError
from workbench.records import ACCEPTED_BY, SYNTHETIC


def accept_questions(path: Path, query_ids: Collection[str] | None, by: str) -> tuple[int, int]:
    """Write a person's name to synthetic questions in a JSON Lines file, or in the one of a golden folder.

    `query_ids` are the questions to accept, None for all that nobody has accepted. Return how many were accepted now, and how many synthetic
    questions still are not. The lines of other questions stay as they are.

    Raises
    ------
    InputError
        If the name is blank, or a question does not exist or is not synthetic. The file is then unchanged.
    """
    if not by.strip():
        raise InputError("--by is empty", "give the name of the person who has read the questions")
    file = path / QUESTION_FILES[0] if path.is_dir() else path
    if file.suffix.lower() != ".jsonl" or not file.is_file():
        raise InputError(f"{file} is no file of questions", "give questions.jsonl, or the folder that contains it")
    lines, rows = _rows(file)
    wanted = _wanted(rows, query_ids, file)
    for index in wanted:
        lines[index] = json.dumps(rows[index] | {ACCEPTED_BY: by.strip()}, ensure_ascii=False, allow_nan=False)
    if wanted:
        write_text(file, "\n".join(lines))
    waiting = [index for index, row in rows.items() if row.get(SYNTHETIC) is True and not row.get(ACCEPTED_BY) and index not in wanted]
    return len(wanted), len(waiting)


def _rows(file: Path) -> tuple[list[str], dict[int, dict[str, Any]]]:
    """Return the lines of a file, and its objects by the number of their line, from 0. Raises DatasetError for a line that is no object."""
    draft = DatasetDraft(file.name)
    rows = {int(where.rpartition(":")[2]) - 1: row for row, where in json_lines(file, draft)}
    if draft.faults:
        raise DatasetError(str(file), draft.faults)
    return read_text(file, draft).split("\n"), rows


def _wanted(rows: dict[int, dict[str, Any]], query_ids: Collection[str] | None, file: Path) -> set[int]:
    """Return the lines of the questions to accept."""
    synthetic = {str(row.get("query_id")): index for index, row in rows.items() if row.get(SYNTHETIC) is True}
    if query_ids is None:
        return {index for index in synthetic.values() if not rows[index].get(ACCEPTED_BY)}
    if missing := [query_id for query_id in query_ids if query_id not in synthetic]:
        hint = meant(missing[0], synthetic) if len(missing) == 1 else ""
        raise InputError(f"{file} has no synthetic question {listed(missing)}{hint}", "give the query_id of questions with synthetic: true")
    return {synthetic[query_id] for query_id in query_ids}
