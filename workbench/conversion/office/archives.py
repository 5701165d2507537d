"""Check office files, which are ZIP archives of XML, before a converter unpacks them."""

import re
import zipfile
from io import BytesIO

from workbench.conversion.converted import UnreadableFileError
from workbench.core.formatting import count

_MOST_PARTS = 20_000
_MEGABYTE = 1_000_000
# Office files of text unpack to 10 or 20 times their size. Images are not compressed again.
_MOST_UNPACKED, _MOST_XML, _MOST_RATIO = 1_000 * _MEGABYTE, 100 * _MEGABYTE, 200
# An Office file with a password, and the files of Office before 2007.
_COMPOUND = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# Names that Office saves on request only (Strict Open XML, slide show, template), and the usual ones.
_USUAL = {
    re.compile(rb"http://purl\.oclc\.org/ooxml/(officeDocument|\w+ml)/"): rb"http://schemas.openxmlformats.org/\1/2006/",
    re.compile(
        rb"(application/vnd\.(?:openxmlformats-officedocument\.presentationml|ms-powerpoint)\.)(?:slideshow|template)\b"
    ): rb"\1presentation",
}
# XML parsers read a document type only at the start of a part.
_START = 2_000


def office_file(raw: bytes, folder: str, kind: str) -> BytesIO:
    """Return an office file for a converter, which may unpack it. `folder` is its main folder: `word`, `ppt`.

    Raises UnreadableFileError for anything else, for archives that unpack to far more than their size, and for XML that declares entities.
    """
    if raw.startswith(_COMPOUND):
        what = "is encrypted; remove its password" if _ENCRYPTED in raw else f"is in the format of Office before 2007; save it as {kind}"
        raise UnreadableFileError(what)
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            parts = archive.infolist()
            _check_sizes(parts, len(raw))
            if not any(part.filename.startswith(f"{folder}/") for part in parts):
                raise UnreadableFileError(f"is a ZIP archive, but no {kind} file")
            _check_types(archive, parts)
            return _usual_form(archive, parts) if _is_unusual(archive, parts) else BytesIO(raw)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise UnreadableFileError(f"is not a complete {kind} file ({error})") from None


def _check_sizes(parts: list[zipfile.ZipInfo], packed: int) -> None:
    unpacked = sum(part.file_size for part in parts)
    xml = sum(part.file_size for part in parts if _is_xml(part))
    if unpacked > _MOST_UNPACKED or xml > _MOST_XML or (unpacked > _MEGABYTE and unpacked > _MOST_RATIO * packed):
        raise UnreadableFileError(f"unpacks to {count(unpacked / _MEGABYTE)} MB, as no file of text does")
    if len(parts) > _MOST_PARTS:
        raise UnreadableFileError(f"has {count(len(parts))} parts, as no file of text does")


def _check_types(archive: zipfile.ZipFile, parts: list[zipfile.ZipInfo]) -> None:
    for part in parts:
        if _is_xml(part):
            with archive.open(part) as stream:
                start = stream.read(_START).replace(b"\0", b"")
            if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
                raise UnreadableFileError("has XML that declares entities, as no office program writes it")


def _is_unusual(archive: zipfile.ZipFile, parts: list[zipfile.ZipInfo]) -> bool:
    """Return whether a file is in the form of ISO 29500 Strict, or is a slide show or a template."""
    return any(change.search(archive.read(part)) for part in parts if _is_xml(part) for change in _USUAL)


def _usual_form(archive: zipfile.ZipFile, parts: list[zipfile.ZipInfo]) -> BytesIO:
    """Return the file as converters know it, with the same content."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for part in parts:
            content = archive.read(part)
            for pattern, usual in _USUAL.items() if _is_xml(part) else ():
                content = pattern.sub(usual, content)
            target.writestr(part.filename, content)
    made.seek(0)
    return made


def _is_xml(part: zipfile.ZipInfo) -> bool:
    return part.filename.lower().endswith((".xml", ".rels"))
