"""Notebooks, as Markdown: their texts, and their code in blocks. Outputs are left out."""

import re
import warnings
from collections.abc import Iterator
from typing import Any

from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.encoding import decode_text


def convert_notebook(raw: bytes) -> ConvertedText:
    """Convert a notebook of any version of the format."""
    import nbformat

    text, note = decode_text(raw)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notebook = nbformat.reads(text, as_version=4)
        blocks = list(_blocks(notebook))
    except Exception as error:  # nbformat raises errors of many kinds for files that are no notebooks
        raise UnreadableFileError(f"cannot be read as a notebook ({' '.join(str(error).split())[:100]})") from None
    return ConvertedText("\n\n".join(blocks), (note,) if note else ())


def _blocks(notebook: Any) -> Iterator[str]:
    language = str(notebook.metadata.get("language_info", {}).get("name", "python"))
    for cell in notebook.cells:
        source = str(cell.source).strip("\n")
        if not source.strip():
            continue
        if cell.cell_type == "code":
            longest = max((len(run) for run in re.findall("`+", source)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"{fence}{language}\n{source}\n{fence}"
        else:
            yield source
