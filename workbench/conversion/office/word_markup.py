"""The XML of a Word document, prepared for mammoth, which leaves out what it does not know without its text.

Equations, fields, text boxes, ruby and right-to-left text get a form that mammoth reads. Hidden text and the parts that are not read are removed and
counted.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from typing import Any

from workbench.conversion.office.equations import linear
from workbench.conversion.office.markup import (
    all_named,
    attribute,
    child_of,
    choose_alternatives,
    name_of,
    parser,
    remove,
    replace,
    text_of,
)

_TEXTS = re.compile(r"word/(?:document|footnotes|endnotes|comments|header|footer)\d*\.xml")
_STYLES = re.compile(r"word/styles\d*\.xml")
# Elements around text that mammoth does not know: their content stays in their place.
_AROUND = frozenset(("w:fldSimple", "w:bdo", "w:dir", "w:ruby", "w:rubyBase"))
# What mammoth reads, with the text in it. Text in other elements is counted.
_READ = """
    w:document w:body w:footnotes w:footnote w:endnotes w:endnote w:p w:r w:t w:tbl w:tr w:tc w:customXml w:ins w:moveTo w:smartTag w:hyperlink
    w:sdt w:sdtContent
"""
# Properties and the codes of fields, which are no text of the document.
_NO_TEXT = "w:pPr w:rPr w:sectPr w:tblPr w:tblGrid w:trPr w:tcPr w:sdtPr w:sdtEndPr w:tblPrEx w:customXmlPr w:smartTagPr w:fldChar w:fldData w:instrText"
# Kinds of content in a drawing, by what is in it, from the most special.
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
_OFF = ("0", "false", "off")


def prepared(file: BytesIO) -> tuple[BytesIO, Counter[str]]:
    """Return a .docx file whose text mammoth reads, without its media, and the numbers of the parts that are not read."""
    from lxml import etree

    made, unread = BytesIO(), Counter[str]()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(made, "w") as target:
        names = [name for name in source.namelist() if name.lower().endswith((".xml", ".rels"))]
        hidden = _hidden_styles(etree.fromstring(source.read(name), parser()) for name in names if _STYLES.fullmatch(name))
        for name in dict.fromkeys(names):
            content = source.read(name)
            if _TEXTS.fullmatch(name):
                root = etree.fromstring(content, parser())
                unread += _WordPart(root, hidden).prepare()
                content = etree.tostring(root)
            target.writestr(name, content)
    made.seek(0)
    return made, unread


class _WordPart:
    """A part of a document with text: its body, its notes, comments, a header or a footer."""

    def __init__(self, root: Any, hidden: frozenset[str]) -> None:
        self._root, self._hidden, self._unread = root, hidden, Counter[str]()

    def prepare(self) -> Counter[str]:
        """Change the XML, and return the numbers of the parts that are not read."""
        kind = name_of(self._root)
        if kind == "w:comments":
            return Counter(comment=sum(name_of(each) == "w:comment" for each in self._root))
        choose_alternatives(self._root)
        self._remove_deleted()
        if kind in ("w:hdr", "w:ftr"):
            text = any(letter.isalpha() for letter in text_of(self._root))
            return Counter({"header" if kind == "w:hdr" else "footer": int(text)})
        self._remove_hidden()
        self._write_equations()
        self._move_text_boxes()
        self._count_graphics()
        self._write_small_parts()
        self._unwrap()
        self._count_others()
        return self._unread

    def _remove_deleted(self) -> None:
        for element in list(all_named(self._root, "w:del", "w:moveFrom")):
            if name_of(element.getparent()) not in ("w:rPr", "w:trPr"):
                remove(element)

    def _remove_hidden(self) -> None:
        for run in list(all_named(self._root, "w:r")):
            if self._is_hidden(run):
                self._unread["hidden passage"] += bool(text_of(run))
                for text in list(all_named(run, "w:t", "w:sym", "w:drawing", "w:pict", "w:object")):
                    remove(text)

    def _is_hidden(self, run: Any) -> bool:
        properties = child_of(run, "w:rPr")
        if (own := child_of(properties, "w:vanish")) is not None:
            return _is_on(own)
        if (style := child_of(properties, "w:rStyle")) is not None and _value(style) in self._hidden:
            return True
        paragraph = next((each for each in run.iterancestors() if name_of(each) == "w:p"), None)
        style = child_of(child_of(paragraph, "w:pPr"), "w:pStyle")
        return style is not None and _value(style) in self._hidden

    def _write_equations(self) -> None:
        for equation in list(all_named(self._root, "m:oMathPara")):
            # Each equation is a line for itself.
            replace(equation, [part for each in equation for part in (each, _new(self._root, "br"))][:-1])
        for equation in list(all_named(self._root, "m:oMath")):
            replace(equation, [_run(self._root, linear(equation))])

    def _move_text_boxes(self) -> None:
        """Put the paragraphs of a text box behind the paragraph that it belongs to."""
        for box in reversed(list(all_named(self._root, "w:txbxContent"))):
            paragraph = next((each for each in box.iterancestors() if name_of(each) == "w:p"), None)
            if paragraph is not None:
                for block in reversed(list(box)):
                    paragraph.addnext(block)
            remove(box)

    def _count_graphics(self) -> None:
        for element in list(all_named(self._root, *_GRAPHIC_PARENTS)):
            if any(name_of(each) in _GRAPHIC_PARENTS for each in element.iterancestors()):
                continue
            inside = Counter(str(each.tag).rpartition("}")[2] for each in element.iter())
            kind = next((kind for name, kind in _GRAPHICS.items() if inside[name]), "")
            if not kind and any((each.text or "").strip() for each in all_named(element, "a:t")):
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
            entries = [_value(each) for each in field if name_of(each) == "w:listEntry"]
            chosen = child_of(field, "w:result")
            number = int(_value(chosen) or 0) if chosen is not None else 0
            character = next(each for each in field.iterancestors() if name_of(each) == "w:fldChar")
            if number < len(entries):
                character.addnext(_new(self._root, "t", entries[number]))
        for element in list(all_named(self._root, "w:altChunk", "w:subDoc")):
            self._unread["embedded document"] += 1
            remove(element)

    def _unwrap(self) -> None:
        for element in reversed(list(all_named(self._root, *_AROUND))):
            replace(element, list(element))

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


def _hidden_styles(roots: Iterable[Any]) -> frozenset[str]:
    """Return the ids of the styles whose text is hidden, also by a style that they are based on."""
    own, based = dict[str, bool](), dict[str, str]()
    for root in roots:
        for style in all_named(root, "w:style"):
            name = attribute(style, "styleId")
            if (vanish := child_of(child_of(style, "w:rPr"), "w:vanish")) is not None:
                own[name] = _is_on(vanish)
            if (base := child_of(style, "w:basedOn")) is not None:
                based[name] = _value(base)
    hidden = set()
    for name in own.keys() | based.keys():
        style, seen = name, set[str]()
        while style not in own and style in based and style not in seen:
            seen.add(style)
            style = based[style]
        if own.get(style):
            hidden.add(name)
    return frozenset(hidden)


def _value(element: Any) -> str:
    return attribute(element, "val")


def _is_on(element: Any) -> bool:
    return _value(element).lower() not in _OFF


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
