"""Word documents, as Markdown."""

from zipfile import BadZipFile

from workbench.conversion.archives import office_file
from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.html import markdown_of

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def convert_docx(raw: bytes) -> ConvertedText:
    """Convert a document: headings by their styles, lists, simple tables, footnotes. Images, comments and macros are left out."""
    import mammoth

    file = office_file(raw, "word", ".docx")
    try:
        made = mammoth.convert_to_html(file, style_map=_STYLES, convert_image=lambda _: [])
    except (KeyError, IndexError, ValueError, AttributeError, BadZipFile, SyntaxError) as error:
        raise UnreadableFileError(f"cannot be read as .docx ({type(error).__name__}: {error})") from None
    return ConvertedText(markdown_of(str(made.value)))
