"""Notebooks, as Markdown: their texts, and their code in blocks. Outputs are left out."""

import re
import warnings
from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt

from workbench.data.conversion.text import ConvertedText, UnreadableFileError, decode_text
from workbench.data.formats.markup import code_block

_MARKDOWN = MarkdownIt("commonmark").disable("inline")
# What ends a block of HTML that does not end at a blank line.
_ENDS = ("-->", "</pre>", "?>", "]]>")
# A name that does not change the fence in front of it.
_LANGUAGE = re.compile(r"[\w+#. -]{1,40}$")


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
    language = _LANGUAGE.match(str(notebook.metadata.get("language_info", {}).get("name", "python")))
    for cell in notebook.cells:
        source = str(cell.source).strip("\n")
        if not source.strip():
            continue
        if cell.cell_type == "code":
            yield code_block(source, language[0] if language else "")
        else:
            yield _closed(source)


def _closed(source: str) -> str:
    """Return the text of a cell with an end for a block of code or HTML that has none, and would go on in the next cell."""
    for end in ("", *_ENDS):
        last = _MARKDOWN.parse(f"{source}\n{end}\n\n# Next cell")[-1]
        if last.type == "fence":
            return f"{source}\n{last.markup}"
        if last.type != "html_block":
            return f"{source}\n{end}".rstrip("\n")
    return source
