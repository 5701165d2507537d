"""Readable ids of documents, which are also the paths of their files."""

import re
import unicodedata
from collections.abc import Collection
from itertools import chain
from pathlib import PurePosixPath

from workbench.conversion.registry import FORMATS

# Letters and digits of all scripts stay. Blanks would end the id in a run file of TREC.
_REPLACED = re.compile(r"[^\w.+-]+")
# File systems allow 255 bytes for a name, and files are written beside it under longer names.
_BYTES = 160
_SUFFIXES = frozenset(each.to for each in FORMATS)


def document_id(relative: str, taken: Collection[str]) -> str:
    """Return the id of a file by its path: `hr/Leave policy.docx` becomes `hr/Leave-policy`.

    `taken` are the ids of other documents in the form of `same_id`. If the id is taken, the suffix is added (`hr/Leave-policy-docx`), then a number.
    """
    path = PurePosixPath(unicodedata.normalize("NFC", relative))
    folders = [_folder(part) for part in path.parts[:-1]]
    stem, suffix = _plain(path.stem), path.suffix.lower().strip(".")
    for name in chain((stem, f"{stem}-{suffix}"), (f"{stem}-{suffix}-{number}" for number in range(2, len(taken) + 3))):
        doc_id = "/".join([*folders, name])
        if same_id(doc_id) not in taken:
            return doc_id
    raise AssertionError("more names than documents")


def same_id(doc_id: str) -> str:
    """Return an id for comparison: some file systems do not distinguish capitals."""
    return unicodedata.normalize("NFC", doc_id).casefold()


def _folder(name: str) -> str:
    """Return the name of a folder in an id. With a suffix of documents it would be the path of another one: `a.md/b` beside `a`."""
    plain = _plain(name)
    return plain.replace(".", "-") if PurePosixPath(plain).suffix.lower() in _SUFFIXES else plain


def _plain(name: str) -> str:
    plain = _REPLACED.sub("-", name).strip("-.")
    return plain.encode()[:_BYTES].decode("utf-8", "ignore") or "document"
