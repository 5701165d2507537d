"""The formats that can be converted, by the suffix of their files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import PurePath

from workbench.conversion.converted import ConvertedText, UnreadableFileError, plain
from workbench.conversion.docx import convert_docx
from workbench.conversion.html import convert_html
from workbench.conversion.notebook import convert_notebook
from workbench.conversion.pdf.convert import convert_pdf
from workbench.conversion.pptx import convert_pptx
from workbench.conversion.text import convert_text
from workbench.core.environment import advice, installed_version

EXTRA = "documents"


@dataclass(frozen=True)
class DocumentFormat:
    """A format: its `convert`, the suffix of the converted text, and the package that reads it, if it is not Workbench alone.

    `version` is increased when the same file begins to give another text. `module` is what the package is imported as.
    """

    name: str
    suffixes: tuple[str, ...]
    convert: Callable[[bytes], ConvertedText]
    to: str = ".md"
    package: str = ""
    module: str = ""
    version: int = 1

    @property
    def converter(self) -> str:
        """Return what converts it, with its version."""
        package = f" with {self.package} {installed_version(self.package)}" if self.package else ""
        return f"{self.name} {self.version}{package}"

    @property
    def missing(self) -> str:
        """Return why it cannot be converted here, or an empty text."""
        if self.module and find_spec(self.module) is None:
            return f"needs {self.package}: {advice(EXTRA)}"
        return ""


FORMATS = (
    DocumentFormat("markdown", (".md", ".markdown"), convert_text),
    DocumentFormat("text", (".txt", ".text", ".log"), convert_text, to=".txt"),
    DocumentFormat("html", (".html", ".htm", ".xhtml"), convert_html, package="beautifulsoup4", module="bs4", version=2),
    DocumentFormat("pdf", (".pdf",), convert_pdf, package="pypdfium2", module="pypdfium2", version=2),
    DocumentFormat("docx", (".docx",), convert_docx, package="mammoth", module="mammoth", version=2),
    DocumentFormat("pptx", (".pptx",), convert_pptx, package="python-pptx", module="pptx"),
    DocumentFormat("notebook", (".ipynb",), convert_notebook, package="nbformat", module="nbformat"),
)
BY_SUFFIX: Mapping[str, DocumentFormat] = {suffix: each for each in FORMATS for suffix in each.suffixes}


def format_of(path: PurePath) -> DocumentFormat | None:
    """Return the format of a file, or None if its suffix is not known."""
    return BY_SUFFIX.get(path.suffix.lower())


def convert(suffix: str, raw: bytes) -> ConvertedText:
    """Convert the content of a file with one of the suffixes. Raises UnreadableFileError with the reason."""
    if not raw.strip():
        raise UnreadableFileError("is empty")
    converted = BY_SUFFIX[suffix].convert(raw)
    text = plain(converted.text)
    if not text:
        raise UnreadableFileError("has no text")
    return ConvertedText(text, converted.notes)
