"""The files that `workbench init` left out of a dataset, each with the reason, as the record beside its documents lists them."""

import json
from collections.abc import Mapping
from pathlib import Path

from workbench.core.environment import expand

# Beside the documents of an experiment that `workbench init` made: where each document comes from, and the skipped files.
ORIGINS = "origins.json"
# A report lists no more, and reads no larger record.
_MOST, _LARGEST = 1_000, 100_000_000


def unread_files(source: object) -> list[dict[str, str]]:
    """Return `file` and `reason` of the skipped files of a golden folder, from its settings in an experiment. Empty without a record."""
    path = source.get("path") if isinstance(source, Mapping) else None
    record = Path(expand(path), ORIGINS) if isinstance(path, str) else None
    try:
        if record is None or record.is_symlink() or not record.is_file() or record.stat().st_size > _LARGEST:
            return []
        skipped = json.loads(record.read_bytes())["skipped"]
        return [{"file": str(each["file"]), "reason": str(each["reason"])} for each in skipped[:_MOST]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # Another file of this name is no record.
        return []
