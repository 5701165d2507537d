"""Word documents, as Markdown."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from typing import Any
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

from bs4 import BeautifulSoup, Tag

from workbench.data.conversion.equations import linear
from workbench.data.conversion.html import markdown_of
from workbench.data.conversion.office.list_labels import ListCounters, Lists
from workbench.data.conversion.office.markup import (
    all_named,
    ancestor_of,
    attribute,
    child_of,
    children_of,
    choose_alternatives,
    name_of,
    office_file,
    parser,
    remove,
    replace,
    style_chain,
    text_of,
    value_of,
)
from workbench.data.conversion.text import ConvertedText, UnreadableFileError, unread_note
from workbench.data.formats.markup import LABEL

# Parts with text may have any name. Those of the glossary, in another folder, are not shown.
_PARTS = re.compile(r"word/[^/]+\.xml")
_TEXTS = ("w:document", "w:footnotes", "w:endnotes", "w:comments", "w:hdr", "w:ftr")
_STYLES = re.compile(r"word/styles\d*\.xml")
_NUMBERING = re.compile(r"word/numbering\d*\.xml")
# Around the label of a numbered paragraph, in the text that mammoth makes.
LABEL_BEGIN, LABEL_END = "\U000f0001", "\U000f0002"
# Elements around text that mammoth does not know: their content stays in their place.
_AROUND = frozenset(("w:fldSimple", "w:bdo", "w:dir", "w:ruby", "w:rubyBase"))
# What mammoth reads, with the text in it. Text in other elements is counted.
_READ = """
    w:document w:body w:footnotes w:footnote w:endnotes w:endnote w:p w:r w:t w:tbl w:tr w:tc w:customXml w:ins w:moveTo w:smartTag w:hyperlink
    w:sdt w:sdtContent
"""
# Properties and the codes of fields, which are no text of the document.
_NO_TEXT = "w:pPr w:rPr w:sectPr w:tblPr w:tblGrid w:trPr w:tcPr w:sdtPr w:sdtEndPr w:tblPrEx w:customXmlPr w:smartTagPr w:fldChar w:fldData w:instrText"
# Kinds of content in a drawing by an element in it, from the most special.
_GRAPHICS = {
    "chart": "chart",
    "relIds": "diagram",
    "OLEObject": "embedded object",
    "control": "form control",
    "contentPart": "drawing in ink",
    "pic": "image",
    "imagedata": "image",
}
_GRAPHIC_PARENTS = ("w:drawing", "w:pict", "w:object")
_STRUCK = ("w:strike", "w:dstrike")
# Word allows no more.
_MOST_COLUMNS = 63
_OFF = ("0", "false", "off")

_STYLE_MAP = "p[style-name='Title'] => h1.title:fresh\np[style-name='Subtitle'] => p:fresh"
# The start of mammoth's message on a symbol of a font that it has no letter for.
_SYMBOL = "A w:sym element"
_LABEL = re.compile(f"{LABEL_BEGIN}([^{LABEL_END}]*){LABEL_END}")
_HEADINGS = [f"h{level}" for level in range(1, 7)]


def prepared(file: BytesIO) -> tuple[BytesIO, Counter[str]]:
    """Return a .docx file whose text mammoth reads, without its media, and the numbers of the parts that are not read."""
    from lxml import etree

    made, unread = BytesIO(), Counter[str]()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(made, "w") as target:
        names = [name for name in source.namelist() if name.lower().endswith((".xml", ".rels"))]
        styles, numberings = (
            [etree.fromstring(source.read(name), parser()) for name in names if pattern.fullmatch(name)]
            for pattern in (_STYLES, _NUMBERING)
        )
        lists, hidden, struck = Lists.read(numberings, styles), _styles_with(styles, "w:vanish"), _styles_with(styles, *_STRUCK)
        for name in dict.fromkeys(names):
            content = source.read(name)
            root = etree.fromstring(content, parser()) if content and _PARTS.fullmatch(name) else None
            if root is not None and name_of(root) in _TEXTS:
                unread += _WordPart(root, hidden, struck, lists).prepare()
                content = etree.tostring(root)
            elif _STYLES.fullmatch(name):
                content = _with_types(content)
            target.writestr(name, content)
    made.seek(0)
    return made, unread


class _WordPart:
    """A part of a document with text: its body, its notes, comments, a header or a footer."""

    def __init__(self, root: Any, hidden: frozenset[str], struck: frozenset[str], lists: Lists) -> None:
        self._root, self._hidden, self._struck, self._lists, self._unread = root, hidden, struck, lists, Counter[str]()

    def prepare(self) -> Counter[str]:
        """Change the XML, and return the numbers of the parts that are not read."""
        kind = name_of(self._root)
        if kind == "w:comments":
            return Counter(comment=len(children_of(self._root, "w:comment")))
        choose_alternatives(self._root)
        for element in list(all_named(self._root, "w:del", "w:moveFrom")):
            if name_of(element.getparent()) not in ("w:rPr", "w:trPr"):
                remove(element)
        if kind in ("w:hdr", "w:ftr"):
            text = any(letter.isalpha() for letter in text_of(self._root))
            return Counter({"header" if kind == "w:hdr" else "footer": int(text)})
        self._remove_hidden()
        self._write_equations()
        self._move_text_boxes()
        self._count_graphics()
        self._write_small_parts()
        for element in reversed(list(all_named(self._root, *_AROUND))):
            replace(element, list(element))
        self._mark_struck()
        self._write_labels()
        self._count_others()
        return self._unread

    def _remove_hidden(self) -> None:
        for run in list(all_named(self._root, "w:r")):
            if _is_set(run, self._hidden, "w:vanish"):
                self._unread["hidden passage"] += bool(text_of(run))
                for text in list(all_named(run, "w:t", "w:sym", "w:drawing", "w:pict", "w:object")):
                    remove(text)

    def _write_equations(self) -> None:
        for equation in list(all_named(self._root, "m:oMathPara")):
            # Each equation is a line for itself.
            replace(equation, [part for child in equation for part in (child, _new(self._root, "br"))][:-1])
        for equation in list(all_named(self._root, "m:oMath")):
            replace(equation, [_run(self._root, linear(equation))])

    def _move_text_boxes(self) -> None:
        """Put the paragraphs of a text box behind the paragraph that it belongs to."""
        for box in reversed(list(all_named(self._root, "w:txbxContent"))):
            paragraph = ancestor_of(box, "w:p")
            if paragraph is not None:
                for block in reversed(list(box)):
                    paragraph.addnext(block)
            remove(box)

    def _count_graphics(self) -> None:
        for element in list(all_named(self._root, *_GRAPHIC_PARENTS)):
            if ancestor_of(element, *_GRAPHIC_PARENTS) is not None:
                continue
            inside = Counter(str(inner.tag).rpartition("}")[2] for inner in element.iter())
            kind = next((kind for name, kind in _GRAPHICS.items() if inside[name]), "")
            if not kind and any((text.text or "").strip() for text in all_named(element, "a:t")):
                kind = "drawing"
            if kind == "image":
                self._unread[kind] += max(inside["pic"], inside["imagedata"])
            elif kind:
                self._unread[kind] += 1
            remove(element)

    def _write_small_parts(self) -> None:
        for element in list(all_named(self._root, "w:rt")):
            self._unread["ruby text"] += bool(text_of(element))
            remove(element)
        for element in list(all_named(self._root, "w:cr", "w:ptab")):
            replace(element, [_new(self._root, "br" if name_of(element) == "w:cr" else "tab")])
        for field in list(all_named(self._root, "w:ddList")):
            entries = list(map(value_of, children_of(field, "w:listEntry")))
            chosen = child_of(field, "w:result")
            number = int(value_of(chosen) or 0) if chosen is not None else 0
            character = ancestor_of(field, "w:fldChar")
            if number < len(entries):
                character.addnext(_new(self._root, "t", entries[number]))
        for element in list(all_named(self._root, "w:gridBefore")):
            # A row that begins in a later column.
            columns = value_of(element)
            for _ in range(min(int(columns), _MOST_COLUMNS) if columns.isdecimal() else 0):
                element.getparent().addnext(cell := _new(self._root, "tc"))
                cell.append(_new(self._root, "p"))
        for element in list(all_named(self._root, "w:altChunk", "w:subDoc")):
            self._unread["embedded document"] += 1
            remove(element)

    def _mark_struck(self) -> None:
        """Give struck text the one property that mammoth reads."""
        for run in list(all_named(self._root, "w:r")):
            if text_of(run) and _is_set(run, self._struck, *_STRUCK):
                properties = child_of(run, "w:rPr")
                if properties is None:
                    run.insert(0, properties := _new(self._root, "rPr"))
                for own in children_of(properties, "w:strike"):
                    remove(own)
                properties.append(_new(self._root, "strike"))

    def _write_labels(self) -> None:
        """Write the labels of numbered paragraphs. In a table they are text, since a list would divide its row."""
        counters = ListCounters(self._lists)
        for paragraph in list(all_named(self._root, "w:p")):
            properties = child_of(paragraph, "w:pPr")
            mark = child_of(properties, "w:rPr")
            found = self._lists.list_of(paragraph)
            hidden = (own := child_of(mark, "w:vanish")) is not None and _is_on(own) and not text_of(paragraph)
            if found is None or hidden or child_of(mark, "w:del") is not None:
                continue
            if (label := counters.next_label(*found)) is not None:
                cell = ancestor_of(paragraph, "w:tc") is not None
                self._set_list(paragraph, found if label and not cell else ("0", 0))
                if label and (cell or text_of(paragraph)):
                    paragraph.insert(1, _run(self._root, f"{LABEL_BEGIN}{label}{LABEL_END}"))

    def _set_list(self, paragraph: Any, found: tuple[str, int]) -> None:
        properties = child_of(paragraph, "w:pPr")
        if properties is None:
            properties = _new(self._root, "pPr")
        paragraph.insert(0, properties)
        for own in children_of(properties, "w:numPr"):
            remove(own)
        made = _new(self._root, "numPr")
        for name, value in (("numId", found[0]), ("ilvl", found[1])):
            made.append(element := _new(self._root, name))
            element.set(element.tag.replace(name, "val"), str(value))
        properties.append(made)

    def _count_others(self) -> None:
        """Remove elements that mammoth does not read, and count those with text."""
        read, no_text = frozenset(_READ.split()), frozenset(_NO_TEXT.split())
        waiting = [self._root]
        while waiting:
            for child in list(waiting.pop()):
                name = name_of(child)
                if name in read:
                    waiting.append(child)
                elif name not in no_text and "".join(child.itertext()).strip():
                    self._unread["part of an unknown kind"] += 1
                    remove(child)


def _is_set(run: Any, styles: frozenset[str], *names: str) -> bool:
    """Return True if a run has one of some properties, itself or by one of the `styles` that have it."""
    properties = child_of(run, "w:rPr")
    if own := children_of(properties, *names):
        return any(map(_is_on, own))
    if value_of(child_of(properties, "w:rStyle")) in styles:
        return True
    paragraph = ancestor_of(run, "w:p")
    return value_of(child_of(child_of(paragraph, "w:pPr"), "w:pStyle")) in styles


def _styles_with(roots: Iterable[Any], *names: str) -> frozenset[str]:
    """Return the ids of the styles whose text has one of some properties, also by a style that they are based on."""
    own, based = dict[str, bool](), dict[str, str]()
    for root in roots:
        for style in all_named(root, "w:style"):
            name, properties = attribute(style, "styleId"), child_of(style, "w:rPr")
            if found := children_of(properties, *names):
                own[name] = any(map(_is_on, found))
            if (base := child_of(style, "w:basedOn")) is not None:
                based[name] = value_of(base)
    return frozenset(
        name for name in own.keys() | based.keys() if next((own[style] for style in style_chain(name, based) if style in own), False)
    )


def _with_types(styles: bytes) -> bytes:
    """Return the part with the styles, in which each has its type. Without one it is of paragraphs (ECMA-376, 17.7.4.17)."""
    from lxml import etree

    root = etree.fromstring(styles, parser())
    for style in all_named(root, "w:style"):
        if not attribute(style, "type"):
            style.set(style.tag.replace("}style", "}type"), "paragraph")
    return bytes(etree.tostring(root))


def _is_on(element: Any) -> bool:
    return value_of(element).lower() not in _OFF


def _new(root: Any, local: str, text: str = "") -> Any:
    """Return a new element of the namespace of the part."""
    from lxml import etree

    made = etree.Element(f"{root.tag.rpartition('}')[0]}}}{local}")
    made.text = text or None
    return made


def _run(root: Any, text: str) -> Any:
    made = _new(root, "r")
    made.append(_new(root, "t", text))
    return made


def convert_docx(raw: bytes) -> ConvertedText:
    """Convert a document: headings by their styles, lists, tables, footnotes, text boxes, and equations as a line. Notes name the other parts."""
    import mammoth

    file = office_file(raw, "word", ".docx")
    try:
        file, unread = prepared(file)
        made = mammoth.convert_to_html(file, style_map=_STYLE_MAP, convert_image=lambda _: [])
    except (KeyError, IndexError, ValueError, AttributeError, OSError, BadZipFile, SyntaxError, ExpatError) as error:
        raise UnreadableFileError("cannot be read as .docx; open it in Word or LibreOffice and save it again as .docx") from error
    unread["symbol"] += sum(message.message.startswith(_SYMBOL) for message in made.messages)
    return ConvertedText(markdown_of(str(made.value), _changed), tuple(unread_note(unread)))


def _changed(page: BeautifulSoup) -> None:
    # Put headings of the first level one level below a title, and the others with them.
    headings = [tag for tag in page.find_all(_HEADINGS) if isinstance(tag, Tag) and "title" not in tag.get_attribute_list("class")]
    if page.find("h1", class_="title") is not None and any(tag.name == "h1" for tag in headings):
        for tag in headings:
            tag.name = f"h{min(int(tag.name[1]) + 1, len(_HEADINGS))}"
    for text in page.find_all(string=_LABEL):
        label, around = _LABEL.search(text), text.find_parent(["li", "p", "td", "th", *_HEADINGS])
        if label and around is not None and around.name == "li":
            around[LABEL] = label[1]
            text.replace_with(_LABEL.sub("", text))
        else:
            text.replace_with(_LABEL.sub(r"\1 ", text))
