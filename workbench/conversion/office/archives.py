"""Check office files, which are ZIP archives of XML, before a converter unpacks them."""

import re
import zipfile
from contextlib import suppress
from io import BytesIO
from typing import IO, Literal, NoReturn
from xml.parsers import expat

from workbench.conversion.text import UnreadableFileError
from workbench.core.formatting import count

_MOST_PARTS = 20_000
_MEGABYTE = 1_000_000
# Office files of text unpack to 10 or 20 times their size. Images are not compressed again.
_MOST_UNPACKED, _MOST_XML, _MOST_RATIO = 1_000 * _MEGABYTE, 100 * _MEGABYTE, 200
# An Office file with a password, and the files of Office before 2007.
_COMPOUND = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_PART = 0x1
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# Names that Office saves on request only (Strict Open XML, slide show, template), and the usual ones.
_USUAL = {
    re.compile(rb"http://purl\.oclc\.org/ooxml/(officeDocument|\w+ml)/"): rb"http://schemas.openxmlformats.org/\1/2006/",
    re.compile(
        rb"(application/vnd\.(?:openxmlformats-officedocument\.presentationml|ms-powerpoint)\.)(?:slideshow|template)\b"
    ): rb"\1presentation",
}


def office_file(raw: bytes, folder: str, kind: str) -> BytesIO:
    """Return an office file for a converter, which may unpack and parse it. `folder` is its main folder: `word`, `ppt`.

    Its parts that are no XML, such as images, are empty. Raises UnreadableFileError for anything else, for archives that unpack to far more than
    their size, and for XML that declares entities.
    """
    if raw.startswith(_COMPOUND):
        what = "is encrypted; remove its password" if _ENCRYPTED in raw else f"is in the format of Office before 2007; save it as {kind}"
        raise UnreadableFileError(what)
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            parts = archive.infolist()
            if any(part.flag_bits & _ENCRYPTED_PART for part in parts):
                raise UnreadableFileError("is encrypted; remove its password")
            _check_sizes(parts, len(raw))
            if not any(part.filename.startswith(f"{folder}/") for part in parts):
                raise UnreadableFileError(f"is a ZIP archive, but no {kind} file")
            return _usual_form(archive, parts)
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


def _usual_form(archive: zipfile.ZipFile, parts: list[zipfile.ZipInfo]) -> BytesIO:
    """Return the file as converters know it: without its media, and in the usual form if it is Strict, a slide show or a template."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for part in {part.filename: part for part in parts}.values():
            with archive.open(part) as stream:
                beginning = _beginning(stream)
            if beginning == "document type" and _is_xml(part):
                raise UnreadableFileError("has XML that declares entities, as no office program writes it")
            # A relation can name any part as XML. Pictures in SVG and pages in HTML may have a document type, and are not read.
            content = archive.read(part) if beginning == "element" else b""
            for pattern, usual in _USUAL.items():
                content = pattern.sub(usual, content)
            target.writestr(part.filename, content)
    made.seek(0)
    return made


def _beginning(part: IO[bytes]) -> Literal["element", "document type", ""]:
    """Return the first thing in the XML of a part, behind comments of any length, or an empty text if the part is not XML."""
    found: list[Literal["element", "document type"]] = []

    def stop(beginning: Literal["element", "document type"]) -> NoReturn:
        found.append(beginning)
        raise StopIteration

    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda *_: stop("element")
    parser.StartDoctypeDeclHandler = lambda *_: stop("document type")
    with suppress(StopIteration, expat.ExpatError):
        parser.ParseFile(part)
    return found[0] if found else ""


def _is_xml(part: zipfile.ZipInfo) -> bool:
    return part.filename.lower().endswith((".xml", ".rels"))
