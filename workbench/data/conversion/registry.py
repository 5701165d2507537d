"""The formats that can be converted, by the suffix of their files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import PurePath

from workbench.core.environment import installed_version, missing_package
from workbench.data.conversion.text import ConvertedText, UnreadableFileError, convert_text, plain


@dataclass(frozen=True)
class DocumentFormat:
    """A format: its `convert`, the suffix of the converted text, and the packages that read it, if it is not Workbench alone.

    `version` is increased when the same file begins to give another text. `packages` has what each package is imported as.
    """

    name: str
    suffixes: tuple[str, ...]
    convert: Callable[[bytes], ConvertedText]
    to: str = ".md"
    packages: Mapping[str, str] = field(default_factory=dict)
    version: int = 1

    @property
    def converter(self) -> str:
        """Return the name and the version of the converter, with those of the packages that it uses."""
        packages = ", ".join(f"{package} {installed_version(package)}" for package in self.packages)
        return f"{self.name} {self.version}{f' with {packages}' if packages else ''}"

    @property
    def missing(self) -> str:
        """Return why it cannot be converted here, or an empty text."""
        absent = missing_package(*self.packages.values())
        return f"needs {absent[0]}: {absent[1]}" if absent else ""


def _with_packages(function: str, raw: bytes) -> ConvertedText:
    """Convert a file by a function that needs the packages of the extra, which are imported only now."""
    module, _, name = function.rpartition(".")
    converted: ConvertedText = getattr(import_module(f"workbench.data.conversion.{module}"), name)(raw)
    return converted


_MARKDOWN = (".md", ".markdown", ".mkd", ".mkdn", ".mdown", ".mdwn", ".mdtxt", ".mdtext", ".mdx", ".rmd", ".qmd")
_MARKUP = (".rst", ".rest", ".adoc", ".asciidoc", ".org", ".tex", ".latex", ".ltx", ".textile", ".wiki", ".mediawiki", ".creole")
_TEXT = (".txt", ".text", ".log", *_MARKUP, ".csv", ".tsv", ".tab", ".srt", ".vtt", ".nfo")
FORMATS = (
    DocumentFormat("markdown", _MARKDOWN, convert_text, version=3),
    DocumentFormat("text", _TEXT, convert_text, to=".txt", version=3),
    DocumentFormat(
        "html",
        (".html", ".htm", ".xhtml", ".xht", ".shtml"),
        partial(_with_packages, "html.convert_html"),
        packages={"beautifulsoup4": "bs4"},
        version=5,
    ),
    DocumentFormat(
        "email", (".eml", ".mht", ".mhtml"), partial(_with_packages, "email.convert_email"), packages={"beautifulsoup4": "bs4"}, version=4
    ),
    DocumentFormat(
        "pdf",
        (".pdf",),
        partial(_with_packages, "pdf.convert.convert_pdf"),
        packages={"pypdfium2": "pypdfium2", "simplemma": "simplemma"},
        version=4,
    ),
    DocumentFormat(
        "docx",
        (".docx", ".docm"),
        partial(_with_packages, "office.docx.convert_docx"),
        packages={"mammoth": "mammoth", "lxml": "lxml"},
        version=5,
    ),
    DocumentFormat(
        "pptx",
        (".pptx", ".pptm"),
        partial(_with_packages, "office.pptx.convert_pptx"),
        packages={"python-pptx": "pptx", "lxml": "lxml"},
        version=3,
    ),
    DocumentFormat(
        "notebook", (".ipynb",), partial(_with_packages, "notebook.convert_notebook"), packages={"nbformat": "nbformat"}, version=3
    ),
)
# What a person can do with files that are not read.
_ADVICE = {
    "save it as .docx": ".doc .dot .dotx .odt .fodt .rtf .pages .wpd .wps",
    "save it as .pptx": ".ppt .pps .ppsx .pot .potx .odp .key",
    "save its sheets as .csv": ".xls .xlsx .xlsm .xlsb .ods .numbers",
    "convert it to .html or .pdf": ".epub .mobi .azw3 .fb2 .djvu .chm .xps .ps .one",
    "save its messages as .eml": ".msg .mbox .pst .ost",
    "recognise its text (OCR) and save it as .txt": ".png .jpg .jpeg .gif .bmp .tif .tiff .webp .heic .svg",
    "save a transcript as .txt": ".mp3 .wav .m4a .ogg .flac .mp4 .mov .avi .mkv .webm",
    "unpack it": ".zip .gz .tgz .bz2 .xz .tar .7z .rar",
    "save its texts as .txt or .md": ".json .jsonl .ndjson .xml .yaml .yml .toml .parquet",
}
BY_SUFFIX: Mapping[str, DocumentFormat] = {suffix: kind for kind in FORMATS for suffix in kind.suffixes}


def format_of(path: PurePath) -> DocumentFormat | None:
    """Return the format of a file, or None if its suffix is not known."""
    return BY_SUFFIX.get(path.suffix.lower())


def unknown_format(path: PurePath) -> str:
    """Return why a file whose format is not known is not read, and what can be done."""
    suffix = path.suffix.lower()
    if not suffix:
        return "has no suffix; rename it to .txt if it is text"
    fix = next((fix for fix, suffixes in _ADVICE.items() if suffix in suffixes.split()), "")
    return (
        f"has the suffix {suffix!r}, which is not read; {fix}"
        if fix
        else f"has the unknown suffix {suffix!r}; rename it to .txt if it is text"
    )


def convert(suffix: str, raw: bytes) -> ConvertedText:
    """Convert the content of a file with one of the suffixes. Raises UnreadableFileError with the reason."""
    if not raw.strip():
        raise UnreadableFileError("is empty")
    converted = BY_SUFFIX[suffix].convert(raw)
    text = plain(converted.text)
    if not text:
        raise UnreadableFileError(" and ".join(("has no text", *converted.notes)))
    return ConvertedText(text, converted.notes)
