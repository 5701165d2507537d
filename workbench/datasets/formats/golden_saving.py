"""Save a dataset to a folder that a later save may replace, as long as nobody has changed it."""

import hashlib
import json
from pathlib import Path

from workbench.core.files import parsed_json
from workbench.core.fingerprint import file_digests
from workbench.datasets.formats.golden import QUESTION_FILES, document_rows, jsonl, question_rows, write_golden
from workbench.errors import InputError
from workbench.records import Dataset

# What a save leaves beside the dataset, to know the folder again: the name of the dataset and the digests of its files.
RECORD = "saved.json"


def save_golden(dataset: Dataset, folder: Path, replace: bool = False) -> None:
    """Write a dataset to a folder, with a record of what was written.

    The folder is new or empty, or with `replace` one that holds only what an earlier save of a dataset with this name wrote. Raises InputError.
    """
    replaces = replace and folder.is_dir() and any(folder.iterdir())
    if replaces and not _untouched(folder, dataset.name):
        raise InputError(
            f"{folder} has something else than this dataset as it was saved there", "name a new folder, so that nothing is lost"
        )
    texts = {"documents.jsonl": jsonl(document_rows(dataset)), QUESTION_FILES[0]: jsonl(question_rows(dataset))}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    record = json.dumps({"dataset": dataset.name, "files": digests}, indent=2, ensure_ascii=False) + "\n"
    write_golden(dataset, folder, {RECORD: record}, replace=replaces)


def _untouched(folder: Path, name: str) -> bool:
    """Return whether a folder has exactly the files that a save of this dataset wrote."""
    try:
        record = parsed_json((folder / RECORD).read_bytes())
        found = file_digests(folder, "*")
        del found[RECORD]
        return bool(record == {"dataset": name, "files": found}) and {path.name for path in folder.iterdir()} == {*found, RECORD}
    except (OSError, ValueError, KeyError):
        return False
