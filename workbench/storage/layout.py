"""The layout of a store, in a file at its top, so that a store of another version of Workbench is refused by name."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from workbench.errors import StoreError

# Increased when this version cannot read the entries of the previous one. A store without the mark has the first layout.
LAYOUT = 1
MARK = "store.json"


class StoreMark(BaseModel):
    """The content of the mark."""

    model_config = ConfigDict(frozen=True, strict=True)

    layout: int = LAYOUT


def layout_of(root: Path) -> int:
    """Return the layout of the store in a folder. Raises ValueError for a mark that cannot be read."""
    mark = root / MARK
    return StoreMark.model_validate_json(mark.read_bytes()).layout if mark.is_file() else LAYOUT


def of_another_version(place: object, layout: int) -> str:
    """Describe a store of another layout."""
    return f"the store {place} was written by another version of Workbench (layout {layout}; this one uses {LAYOUT})"


def check_mark(text: bytes, place: str) -> None:
    """Raise StoreError if the mark of the store at a place is of another layout or cannot be read."""
    try:
        layout = StoreMark.model_validate_json(text).layout
    except ValueError as error:
        raise StoreError(f"the store {place} is corrupt ({MARK} cannot be read)", "run workbench doctor to repair it") from error
    if layout != LAYOUT:
        raise StoreError(of_another_version(place, layout), "use that version, or choose another --outputs or WORKBENCH_STORE")
