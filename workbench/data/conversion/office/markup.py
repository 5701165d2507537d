"""Office files: check the archive before a converter unpacks it, and read its XML."""

import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from typing import IO, Any, Literal, NoReturn
from xml.parsers import expat

from workbench.core.text.formatting import count
from workbench.data.conversion.text import UnreadableFileError

# Styles that are based on each other. A longer chain would be climbed for each style and each paragraph.
_MOST_BASED = 100

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://schemas.microsoft.com/office/drawing/2010/main": "a14",
    "http://schemas.openxmlformats.org/drawingml/2006/picture": "pic",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
}


def parser() -> Any:
    """Return a parser of XML that expands no entities. Office files nest deeper than it accepts by default."""
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)


def name_of(element: Any) -> str:
    """Return the name of an element with the usual prefix of its namespace, such as `w:p`."""
    namespace, _, local = str(element.tag)[1:].rpartition("}")
    return f"{_PREFIXES.get(namespace, '')}:{local}"


def all_named(root: Any, *names: str) -> Iterator[Any]:
    """Yield the elements with one of the names, in the order of the document."""
    return (element for element in root.iter() if name_of(element) in names)


def children_of(element: Any, *names: str) -> list[Any]:
    """Return the children with one of the names. None has no children."""
    return [child for child in element if name_of(child) in names] if element is not None else []


def child_of(element: Any, name: str) -> Any:
    """Return the first child with a name, or None."""
    return next(iter(children_of(element, name)), None)


def ancestor_of(element: Any, *names: str) -> Any:
    """Return the innermost element with one of the names around an element, or None."""
    return next((ancestor for ancestor in element.iterancestors() if name_of(ancestor) in names), None)


def text_of(element: Any) -> str:
    """Return the text of an element, without the codes of its fields."""
    return "".join(text.text or "" for text in all_named(element, "w:t", "m:t", "a:t")).strip()


def attribute(element: Any, name: str) -> str:
    """Return the value of an attribute of any namespace, or an empty text."""
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")


def value_of(element: Any) -> str:
    """Return the value of an element of properties, or an empty text for None."""
    return "" if element is None else attribute(element, "val")


def style_chain(style: str, based: Mapping[str, str]) -> Iterator[str]:
    """Yield a style and the styles that it is based on, each once, up to the longest chain that is read."""
    seen = set[str]()
    while style and style not in seen and len(seen) < _MOST_BASED:
        seen.add(style)
        yield style
        style = based.get(style, "")


def replace(element: Any, by: list[Any]) -> None:
    """Put elements in the place of another one."""
    parent = element.getparent()
    index = parent.index(element)
    parent[index : index + 1] = by


def remove(element: Any) -> None:
    """Remove an element with all that is in it."""
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def choose_alternatives(root: Any) -> None:
    """Keep one form of what a part has in several: a chart or diagram, else the first with text, else the first."""
    for element in reversed(list(all_named(root, "mc:AlternateContent"))):
        forms = [form for form in element if name_of(form) in ("mc:Choice", "mc:Fallback")]
        chosen = next((form for form in forms if _is_chart(form) or text_of(form)), forms[0] if forms else element)
        replace(element, list(chosen))


def _is_chart(form: Any) -> bool:
    # The other form of a chart says that the program is too old to show it.
    return any(
        "chart" in attribute(graphic, "uri") or "diagram" in attribute(graphic, "uri") for graphic in all_named(form, "a:graphicData")
    )


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
            # Some programs write the names of Windows, which zipfile reads there alone.
            for part in parts:
                part.filename = part.filename.replace("\\", "/")
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
