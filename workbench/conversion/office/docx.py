"""Word documents, as Markdown."""

import re
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

from bs4 import BeautifulSoup, Tag

from workbench.conversion.converted import ConvertedText, UnreadableFileError, unread_note
from workbench.conversion.html import markdown_of
from workbench.conversion.office.archives import office_file
from workbench.conversion.office.word_markup import LABEL_BEGIN, LABEL_END, prepared
from workbench.datasets.formats.markup import LABEL

_STYLES = "p[style-name='Title'] => h1.title:fresh\np[style-name='Subtitle'] => p:fresh"
# The start of mammoth's message on a symbol of a font that it has no letter for.
_SYMBOL = "A w:sym element"
_LABEL = re.compile(f"{LABEL_BEGIN}([^{LABEL_END}]*){LABEL_END}")
_HEADINGS = [f"h{level}" for level in range(1, 7)]


def convert_docx(raw: bytes) -> ConvertedText:
    """Convert a document: headings by their styles, lists, tables, footnotes, text boxes, and equations as a line. Notes name the other parts."""
    import mammoth

    file = office_file(raw, "word", ".docx")
    try:
        file, unread = prepared(file)
        made = mammoth.convert_to_html(file, style_map=_STYLES, convert_image=lambda _: [])
    except (KeyError, IndexError, ValueError, AttributeError, OSError, BadZipFile, SyntaxError, ExpatError) as error:
        raise UnreadableFileError("cannot be read as .docx; open it in Word or LibreOffice and save it again as .docx") from error
    unread["symbol"] += sum(message.message.startswith(_SYMBOL) for message in made.messages)
    return ConvertedText(markdown_of(str(made.value), _changed), tuple(unread_note(unread)))


def _changed(page: BeautifulSoup) -> None:
    _below_title(page)
    for text in page.find_all(string=_LABEL):
        label, around = _LABEL.search(text), text.find_parent(["li", "p", "td", "th", *_HEADINGS])
        if label and around is not None and around.name == "li":
            around[LABEL] = label[1]
            text.replace_with(_LABEL.sub("", text))
        else:
            text.replace_with(_LABEL.sub(r"\1 ", text))


def _below_title(page: BeautifulSoup) -> None:
    """Put headings of the first level one level below a title, and the others with them."""
    headings = [tag for tag in page.find_all(_HEADINGS) if isinstance(tag, Tag) and "title" not in tag.get_attribute_list("class")]
    if page.find("h1", class_="title") is not None and any(tag.name == "h1" for tag in headings):
        for tag in headings:
            tag.name = f"h{min(int(tag.name[1]) + 1, len(_HEADINGS))}"
