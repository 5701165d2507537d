"""Bring the files of a folder into an experiment as documents: new ones are added, and nothing that exists is changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench.conversion.folder import FoundFile, find_files
from workbench.conversion.process import ConverterProcess
from workbench.conversion.registry import BY_SUFFIX
from workbench.conversion.text import ConvertedText, UnreadableFileError
from workbench.core.files import write_atomically
from workbench.core.fingerprint import file_digest
from workbench.core.progress import ProgressBar
from workbench.datasets.files import FileAccess
from workbench.new_experiment.document_ids import document_id, same_id
from workbench.new_experiment.origins import DocumentOrigin, Origins, SkippedFile, text_digest

DOCUMENTS = "documents"
# What programs and persons add to the name of a copy.
_COPY = re.compile(r"(?:\b|_)(?:copy|kopie|copie|copia|backup|bak|old|alt)(?:\b|_)|\(\d+\)$", re.IGNORECASE)


@dataclass
class FolderConversion:
    """What a run found: origins of all documents, the `added` ones, files that were skipped, and remarks on documents that exist."""

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
        """Add a document."""
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
        there = [path for path in _files_of(folder / DOCUMENTS / doc_id) if path.exists()]
        if not there or (there == [folder / DOCUMENTS / f"{doc_id}{suffix}"] and there[0].read_bytes() == converted.text.encode()):
            return doc_id
        taken.add(same_id(doc_id))


def _files_of(path: Path) -> Iterator[Path]:
    """Yield the files that would have the same id, whatever their suffix."""
    for suffix in (".md", ".markdown", ".txt", ".html", ".htm"):
        yield path.with_name(path.name + suffix)


def texts_of(folder: Path, origins: Mapping[str, DocumentOrigin]) -> dict[str, str]:
    """Return the texts of documents by their id. Documents that were deleted have none."""
    paths = {origin.doc_id: folder / origin.document for origin in origins.values()}
    return {doc_id: path.read_bytes().decode("utf-8", "replace") for doc_id, path in paths.items() if path.is_file()}
