"""The layout of a store, in a file at its top, so that a store of another version of Workbench is refused by name."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from workbench.core.errors import StoreError
from workbench.core.fingerprint import fingerprint

# Increased when this version cannot read the entries of the previous one. A store without the mark has the first layout.
LAYOUT = 1
MARK = "store.json"
# The mark of versions before the digest. All of them had the first layout.
_WITHOUT_DIGEST = b'{"layout":1}'
# The folder of the indexes in a worker's copy of a store under a URL.
INDEXES = "indexes"


class StoreMark(BaseModel):
    """The content of the mark. Every version keeps its form: a mark that does not match its digest is damaged, not of another version."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    layout: int
    digest: str


def mark_text(layout: int = LAYOUT) -> str:
    """Return the content of the mark of a store."""
    return StoreMark(layout=layout, digest=fingerprint(MARK, layout)).model_dump_json()


def read_mark(text: bytes) -> int:
    """Return the layout in a mark. Raises ValueError for a mark that is not as it was written."""
    if text == _WITHOUT_DIGEST:
        return 1
    mark = StoreMark.model_validate_json(text)
    if mark.digest != fingerprint(MARK, mark.layout):
        raise ValueError(f"{MARK} has changed since it was written")
    return mark.layout


def layout_of(root: Path) -> int:
    """Return the layout of the store in a folder. Raises ValueError for a mark that is not as it was written."""
    mark = root / MARK
    return read_mark(mark.read_bytes()) if mark.is_file() else LAYOUT


def of_another_version(place: object, layout: int) -> str:
    """Describe a store of another layout."""
    return f"the store {place} was written by another version of Workbench (layout {layout}; this one uses {LAYOUT})"


def check_mark(text: bytes, place: str, repair: str = "run workbench doctor to repair it") -> None:
    """Raise StoreError if the mark of the store at a place is of another layout, or not as it was written, with the way to `repair` it."""
    try:
        layout = read_mark(text)
    except ValueError as error:
        raise StoreError(f"the store {place} is corrupt ({MARK} cannot be read)", repair) from error
    if layout != LAYOUT:
        raise StoreError(of_another_version(place, layout), "use that version, or choose another --outputs or WORKBENCH_STORE")
