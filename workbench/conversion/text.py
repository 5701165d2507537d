"""Text and Markdown files, whose text stays as it is."""

from workbench.conversion.converted import ConvertedText
from workbench.conversion.encoding import decode_text


def convert_text(raw: bytes) -> ConvertedText:
    """Decode a file."""
    text, note = decode_text(raw)
    return ConvertedText(text, (note,) if note else ())
