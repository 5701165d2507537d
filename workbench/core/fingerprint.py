"""Identify values by a hash of their canonical JSON, which is the same in every process and on every machine."""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from workbench.core.errors import RunError
from workbench.core.files import in_order


def fingerprint(*parts: Any) -> str:
    """Hash the canonical JSON of the parts to 32 hexadecimal digits (128 bits of BLAKE2b). NaN and unknown types are refused."""
    return hashlib.blake2b(_canonical(parts), digest_size=16).hexdigest()


def fingerprint_of_rows(rows: Iterable[Any]) -> str:
    """Compute `fingerprint(list(rows))` without keeping the rows in memory."""
    digest = hashlib.blake2b(b"[[", digest_size=16)
    for number, row in enumerate(rows):
        digest.update((b"," if number else b"") + _canonical(row))
    digest.update(b"]]")
    return digest.hexdigest()


def _canonical(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def require_unchanged(what: str, before: Any, now: Any) -> None:
    """Raise RunError if the identity of something has changed since it became part of a key, under which its result must not be stored."""
    if now != before:
        fault = f"a file or a model of {what} changed while it was used, and the result is not kept"
        raise RunError(fault, "run again: calls that were answered are not made again")


@cache
def code_digest() -> str:
    """Hash the package's code and templates, which determine every output made from the results."""
    return fingerprint(list(file_digests(Path(__file__).parents[1], "*.py", "*.j2", "*.css", "*.js").items()))


def file_digests(folder: Path, *patterns: str) -> dict[str, str]:
    """Hash every file under a folder that matches one of the patterns, keyed by relative path in sorted order."""
    files = in_order({path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()})
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def file_digest(path: Path, algorithm: Literal["sha256", "blake2b"] = "sha256") -> str:
    """Return the hash of a file's bytes in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()
