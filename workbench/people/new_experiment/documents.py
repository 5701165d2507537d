"""Bring the files of a folder into an experiment as documents: new ones are added, and nothing that exists is changed."""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath

from pydantic import BaseModel, ConfigDict

from workbench.core.errors import InputError
from workbench.core.files import write_atomically, write_text
from workbench.core.fingerprint import file_digest
from workbench.core.text.formatting import RESERVED
from workbench.core.text.progress import ProgressBar
from workbench.data.conversion.process import ConverterProcess
from workbench.data.conversion.registry import BY_SUFFIX, FORMATS, format_of, unknown_format
from workbench.data.conversion.text import ConvertedText, UnreadableFileError
from workbench.data.files import ORIGINS, FileAccess
from workbench.data.formats.documents import DEEPEST
from workbench.data.formats.golden import QUESTION_FILES

_PACKAGES = frozenset(("node_modules", "bower_components", "site-packages", "__pycache__", "__pypackages__"))
# Files that a folder of a program has, all of them, and what the folder is.
_MARKS: Mapping[tuple[str, ...], str] = {
    ("pyvenv.cfg",): "is a Python environment",
    # The mark of the Cache Directory Tagging Specification.
    ("CACHEDIR.TAG",): "is a cache",
    (".store", ".indexes"): "has the outputs of sweeps",
    # With the store in another place.
    ("history.parquet", "history_scores.parquet"): "has the outputs of sweeps",
    ("manifest.json", "configurations.parquet"): "has the outputs of a sweep",
    **{(name, "documents"): "is the dataset of an experiment" for name in QUESTION_FILES},
    ("dataset_dict.json",): "is a dataset of Hugging Face, which workbench dataset import reads",
    ("state.json", "dataset_info.json"): "is a dataset of Hugging Face, which workbench dataset import reads",
    ("label.ipynb", "work.ipynb"): "has the notebooks of Workbench",
}


def folder_refusal(folder: Path) -> str:
    """Return why a folder is not searched for documents, or an empty text."""
    if folder.name.startswith("."):
        return "is hidden"
    if folder.name in _PACKAGES:
        return "has packages of programs"
    return next((what for names, what in _MARKS.items() if all((folder / name).exists() for name in names)), "")


@dataclass(frozen=True)
class FoundFile:
    """A file or a folder: its path below the folder that was searched, and the `reason` why it is not read, or an empty text."""

    path: Path
    relative: str
    reason: str = ""


def find_files(root: Path, files: FileAccess, without: Collection[Path] = ()) -> Iterator[FoundFile]:
    """Yield the files below a folder in order of their paths, except the paths `without`, which must be resolved. Links to folders are not followed.

    A folder that a program has written is yielded with the reason, without its files.
    """
    places = [root]
    while places:
        folder = places.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield FoundFile(folder, _below(folder, root), f"cannot be read ({error.strerror})")
            continue
        inside = []
        for entry in entries:
            path = Path(entry.path)
            if _resolved(path) in without:
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield FoundFile(path, _below(path, root), _refusal(path, files))
            elif reason := folder_refusal(path) or _too_deep(path, root):
                yield FoundFile(path, f"{_below(path, root)}/", reason)
            else:
                inside.append(path)
        places += reversed(inside)


def _too_deep(path: Path, root: Path) -> str:
    return f"is below {DEEPEST} folders; move it up" if len(path.relative_to(root).parts) > DEEPEST else ""


def _resolved(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except OSError:
        # A link that may not be read; `_refusal` gives the reason.
        return path


def _below(path: Path, root: Path) -> str:
    """Return a path below the root, in which bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace")


def _refusal(path: Path, files: FileAccess) -> str:
    if path.name.startswith("."):
        return "is hidden"
    if os.fsencode(path).decode("utf-8", "replace") != str(path):
        return "has a name that is not UTF-8; rename it"
    try:
        # Without its target: the reasons are published with the run.
        if files.outside(path):
            return "is a link to a place outside of the folder; put a copy in its place"
        if path.is_symlink() and path.is_dir():
            return "is a link to a folder, which is not followed"
        if reason := files.refusal(path):
            return reason
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    found = format_of(path)
    if found is None:
        return unknown_format(path)
    return found.missing or ("" if os.access(path, os.R_OK) else "cannot be read (Permission denied)")


# Letters and digits of all scripts stay. Blanks would end the id in a run file of TREC.
_REPLACED = re.compile(r"[^\w.+-]+")
# File systems allow 255 bytes for a name, and temporary files have longer names.
_BYTES = 160
_SUFFIXES = frozenset(kind.to for kind in FORMATS)

DOCUMENTS = "documents"
_DOCUMENT_SUFFIXES = (".md", ".markdown", ".txt", ".html", ".htm")
# What programs and persons add to the name of a copy.
_COPY = re.compile(r"(?:\b|_)(?:copy|kopie|copie|copia|backup|bak|old|alt)(?:\b|_)|\(\d+\)$", re.IGNORECASE)


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
    if re.match(RESERVED, plain.lower()):
        plain = f"document-{plain}"
    return plain.encode()[:_BYTES].decode("utf-8", "ignore") or "document"


class DocumentOrigin(BaseModel):
    """The file that a document was made from, with the hashes of both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    doc_id: str
    file: str
    document: str
    sha256: str
    converter: str
    text_sha256: str
    notes: tuple[str, ...] = ()


class SkippedFile(BaseModel):
    """A file of the folder that is no document, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    reason: str


class Origins(BaseModel):
    """Where the documents of an experiment come from. `source` is the folder, relative to the experiment's folder if possible."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    documents: tuple[DocumentOrigin, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()

    @property
    def by_file(self) -> Mapping[str, DocumentOrigin]:
        """Return the origins by the path of their file."""
        return {origin.file: origin for origin in self.documents}


def read_origins(folder: Path) -> Origins | None:
    """Return the record in an experiment's folder, or None without one. Raises InputError for a damaged one."""
    file = folder / ORIGINS
    if not file.is_file():
        return None
    try:
        origins = Origins.model_validate_json(file.read_bytes())
        if wrong := next((origin.document for origin in origins.documents if not _is_below(origin.document)), None):
            raise ValueError(f"{wrong!r} is no path below {folder}")
        if "\0" in origins.source:
            raise ValueError("its source is no path")
    except (ValueError, OSError) as error:
        raise InputError(f"{file} cannot be read ({str(error).splitlines()[0]})", "restore it, or give another --name") from None
    return origins


def _is_below(path: str) -> bool:
    return "\0" not in path and not PurePath(path).is_absolute() and ".." not in PurePath(path).parts


def write_origins(folder: Path, origins: Origins) -> None:
    """Write the record, atomically."""
    write_text(folder / ORIGINS, json.dumps(origins.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def text_digest(text: str) -> str:
    """Return the hash of a text, as that of its file."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class FolderConversion:
    """The result of a conversion: origins of all documents, the `added` ones, skipped files, and remarks on documents that exist."""

    known: dict[str, DocumentOrigin]
    added: list[DocumentOrigin] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    files: int = 0
    # The ids of all documents in the form of `same_id`, and the file of each text by its hash.
    taken: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for origin in self.known.values():
            self._note(origin)

    def add(self, origin: DocumentOrigin) -> None:
        self.added.append(origin)
        self._note(origin)

    def _note(self, origin: DocumentOrigin) -> None:
        self.taken.add(same_id(origin.doc_id))
        self.texts.setdefault(origin.text_sha256, origin.file)

    def skip(self, file: str, reason: str) -> None:
        """Leave a file out."""
        self.skipped.append(SkippedFile(file=file, reason=reason))

    def origins(self, source: str) -> Origins:
        """Return the record of all documents."""
        documents = sorted((*self.known.values(), *self.added), key=lambda origin: origin.file)
        return Origins(source=source, documents=tuple(documents), skipped=tuple(self.skipped))


def convert_folder(source: Path, folder: Path, known: Origins, limits: ConverterProcess) -> FolderConversion:
    """Convert the files of `source` that the experiment in `folder` does not have yet.

    A document that was edited, and one whose file was changed, stay as they are and are remarked upon, and so is one whose file is gone.
    """
    conversion = FolderConversion(dict(known.by_file))
    files = FileAccess((source,), limits.max_file_mb)
    found = list(find_files(source, files, {folder.resolve()}))
    conversion.files = sum(not file.relative.endswith("/") for file in found)
    with limits, ProgressBar(total=len(found), desc="read documents", unit="file") as bar:
        for file in sorted(found, key=_plainness):
            if file.reason:
                conversion.skip(file.relative, file.reason)
            elif origin := conversion.known.get(file.relative):
                conversion.remarks += _remarks(file, origin, folder)
            else:
                _add(file, folder, conversion, limits)
            bar.update()
    conversion.skipped.sort(key=lambda skipped: skipped.file)
    gone = conversion.known.keys() - {file.relative for file in found}
    conversion.remarks += [f"{name} was removed, and {known.by_file[name].document} is kept" for name in sorted(gone)]
    return conversion


def _plainness(file: FoundFile) -> tuple[bool, int, int, str]:
    """Order files so that of equal ones an original is before its copies: names without a word for a copy, in fewer folders, then shorter paths."""
    return bool(_COPY.search(file.path.stem)), file.relative.count("/"), len(file.relative), file.relative


def _remarks(file: FoundFile, origin: DocumentOrigin, folder: Path) -> Iterator[str]:
    document = folder / origin.document
    try:
        changed = file_digest(file.path) != origin.sha256
        edited = document.is_file() and file_digest(document) != origin.text_sha256
    except OSError as error:
        yield f"{file.relative} cannot be read ({error.strerror}), and {origin.document} is kept"
        return
    if not document.is_file():
        yield f"{origin.document} was deleted, so {file.relative} is left out"
    elif edited:
        yield f"{origin.document} was edited and is kept{f', although {file.relative} changed too' if changed else ''}"
    elif changed:
        yield f"{file.relative} changed, and {origin.document} is kept, since evidence refers to its text; give another --name to start over"


def _add(file: FoundFile, folder: Path, conversion: FolderConversion, limits: ConverterProcess) -> None:
    suffix = file.path.suffix.lower()
    try:
        converted, digest = limits.convert(file.path, suffix)
    except UnreadableFileError as error:
        conversion.skip(file.relative, str(error))
        return
    text_sha256 = text_digest(converted.text)
    if (same := conversion.texts.get(text_sha256)) is not None:
        kept = "is a document already" if same in conversion.known else "is kept, since its path is plainer"
        notes = f"; it {' and '.join(converted.notes)}" if converted.notes else ""
        conversion.skip(file.relative, f"has the same text as {same}, which {kept}{notes}")
        return
    found = BY_SUFFIX[suffix]
    doc_id = _free_id(file.relative, found.to, converted, folder, conversion.taken)
    document = f"{DOCUMENTS}/{doc_id}{found.to}"
    write_atomically(folder / document, lambda aside: aside.write_bytes(converted.text.encode()))
    conversion.add(
        DocumentOrigin(
            doc_id=doc_id,
            file=file.relative,
            document=document,
            sha256=digest,
            converter=found.converter,
            text_sha256=text_sha256,
            notes=converted.notes,
        )
    )


def _free_id(relative: str, suffix: str, converted: ConvertedText, folder: Path, taken: set[str]) -> str:
    """Return an id whose file does not exist. A file that an interrupted run left, with exactly this text, is the document."""
    while True:
        doc_id = document_id(relative, taken)
        # Files of any suffix would have the same id.
        place = folder / DOCUMENTS / doc_id
        there = [path for suffix in _DOCUMENT_SUFFIXES if (path := place.with_name(place.name + suffix)).exists()]
        if not there or (there == [folder / DOCUMENTS / f"{doc_id}{suffix}"] and there[0].read_bytes() == converted.text.encode()):
            return doc_id
        taken.add(same_id(doc_id))


def texts_of(folder: Path, origins: Mapping[str, DocumentOrigin]) -> dict[str, str]:
    """Return the texts of documents by their id. Documents that were deleted have none."""
    paths = {origin.doc_id: folder / origin.document for origin in origins.values()}
    return {doc_id: path.read_bytes().decode("utf-8", "replace") for doc_id, path in paths.items() if path.is_file()}
