"""Emails and saved web pages (MIME), as Markdown: the subject as heading, sender, receivers and date, then the text."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import cast

from workbench.core.text.formatting import listed
from workbench.data.conversion.html import convert_markup
from workbench.data.conversion.text import ConvertedText, UnreadableFileError, decode_declared, unread_note

_FIELDS = ("From", "To", "Cc", "Date")
# A plain form with less of the text than this says that the program cannot show the other one.
_LEAST_PLAIN = 0.5
_MOST_NAMES = 20
# Values of parameters that are not quoted, beside quoted ones. RFC 2045 wants quotes around those with other characters than these.
_PARAMETERS = re.compile(r"""("(?:\\.|[^"\\])*")|(;\s*[^\s=;*"]+\s*=\s*)([^\s";][^";\r\n]*)""")
_TOKEN = re.compile(r"[\w!#$%&'*+.^`{|}~-]+(?:\s*\([^()]*\))?\s*", re.ASCII)
_MESSAGES = ("message/rfc822", "message/global", "message/news")
_WITH_PARAMETERS = ("content-type", "content-disposition")
# The looks of a saved page, and text in the format of a program: a calendar repeats an invitation at greater length.
_FOR_PROGRAMS = ("css", "javascript", "ecmascript", "x-javascript", "calendar", "vcard", "x-vcard", "directory", "rtf", "richtext")
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_OWN_SOURCE = re.compile(r"\bsrc\s*=\s*[\"']?cid:", re.IGNORECASE)


def convert_email(raw: bytes) -> ConvertedText:
    """Convert a message. Of a text in several forms the plain one is read, and a note names the attachments. Raises UnreadableFileError if it is no message."""
    message = cast(EmailMessage, BytesParser(policy=_Policy()).parsebytes(raw.removeprefix(codecs.BOM_UTF8).lstrip()))
    if not any(field in message for field in ("From", "Subject", "MIME-Version", "Content-Type")):
        raise UnreadableFileError("is no email, as it has no sender, subject or type")
    parts = _Parts()
    blocks = list(parts.texts(message))
    fields = [f"{field}: {text}" for field in _FIELDS if (text := _field(message, field))]
    subject = _field(message, "Subject")
    text = "\n\n".join([*([f"# {subject}"] if subject else []), *(["\n".join(fields)] if fields else []), *blocks])
    return ConvertedText(text if blocks else "", tuple(parts.notes()))


def _field(message: EmailMessage, name: str) -> str:
    try:
        return _line(message[name] or "")
    except Exception:  # Python's parser raises errors of several kinds for values that are not valid
        return _line(next(value for field, value in message.raw_items() if field.lower() == name.lower()))


def _line(value: object) -> str:
    return " ".join(str(value).split())


class _Policy(policy.EmailPolicy):
    """Python's policy, for values without the quotes that they need: `boundary=----=_Part_1`, `filename=fees 2026.pdf`."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, _PARAMETERS.sub(_quoted, value) if name.lower() in _WITH_PARAMETERS else value


def _quoted(parameter: re.Match[str]) -> str:
    quoted, start, value = parameter.groups()
    return parameter[0] if quoted or _TOKEN.fullmatch(value) else f'{start}"{value.rstrip()}"'


class _Parts:
    """The parts of a message, and notes on those that are not read."""

    def __init__(self) -> None:
        self._attached: list[str] = []
        self._notes: list[str] = []
        self._unread = Counter[str]()

    def notes(self) -> Iterator[str]:
        if self._attached:
            one = len(self._attached) == 1
            yield f"has the {'attachment' if one else 'attachments'} {listed(self._attached, _MOST_NAMES)}, which {'is' if one else 'are'} not read"
        yield from dict.fromkeys(self._notes)
        yield from unread_note(self._unread)

    def texts(self, part: EmailMessage) -> Iterator[str]:
        """Yield the texts of a part and of the parts in it."""
        kind = part.get_content_type()
        try:
            yield from self._texts(part, kind)
        except UnreadableFileError as error:
            self._notes.append(f"has a part ({kind}) that is not read: it {error}")

    def _texts(self, part: EmailMessage, kind: str) -> Iterator[str]:
        if part.is_attachment() or kind in _MESSAGES:
            self._attached.append(_line(part.get_filename() or kind))
        elif kind == "multipart/alternative" and part.is_multipart():
            forms = [(form, "\n\n".join(form.texts(inner))) for inner in _inside(part) for form in [_Parts()]]
            best, text = _best(forms)
            for form, _ in forms:
                self._add(form, form is best)
            yield from filter(None, [text])
        elif part.get_content_maintype() == "message" and part.is_multipart():
            # A report, such as the status of a delivery, is fields like those of a message.
            for inner in _inside(part):
                yield from filter(None, ["\n".join(f"{name}: {_line(value)}" for name, value in inner.items())])
                yield from self.texts(inner)
        elif part.is_multipart():
            for inner in _inside(part):
                yield from self.texts(inner)
        elif kind == "text/html":
            # The images of the message are other parts of it.
            page = convert_markup(_IMAGE.sub(lambda image: "" if _OWN_SOURCE.search(image[0]) else image[0], self._content(part)))
            self._notes += page.notes
            yield from filter(None, [page.text.strip()])
        # Parts whose boundary does not occur are text.
        elif part.get_content_maintype() in ("text", "multipart") and part.get_content_subtype() not in _FOR_PROGRAMS:
            yield from filter(None, [_unfolded(part, self._content(part)).strip()])
        elif part.get_content_maintype() == "image":
            self._unread["image"] += 1
        else:
            self._attached.append(_line(part.get_filename() or kind))

    def _add(self, form: "_Parts", read: bool) -> None:
        """Add the unread parts of a form of the text; files and images also of a form that is not read itself."""
        self._attached += form._attached
        self._notes += form._notes if read else []
        self._unread["image"] += form._unread["image"]

    def _content(self, part: EmailMessage) -> str:
        text, note = decode_declared(cast(bytes, part.get_payload(decode=True)), part.get_content_charset("utf-8"))
        self._notes += [note] if note else []
        return text


def _inside(part: EmailMessage) -> list[EmailMessage]:
    return [cast(EmailMessage, inner) for inner in part.iter_parts()]


def _best(forms: list[tuple[_Parts, str]]) -> tuple[_Parts, str]:
    """Return the first form, the plain one, unless it has much less text than the longest."""
    longest = max(forms, key=lambda form: len(form[1]), default=(_Parts(), ""))
    return next((form for form in forms if len(form[1]) >= _LEAST_PLAIN * len(longest[1]) and form[1]), longest)


def _unfolded(part: EmailMessage, text: str) -> str:
    """Join the lines that a mail program has broken (format=flowed, RFC 3676): they end with a blank, which is no text with delsp=yes."""
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    blank_is_text = str(part.get_param("delsp", "")).lower() != "yes"
    pieces: list[str] = []
    flowing = False
    for line in text.splitlines():
        if flowing and not line.startswith(">"):
            pieces[-1] = pieces[-1] if blank_is_text else pieces[-1][:-1]
        elif pieces:
            pieces.append("\n")
        pieces.append(line)
        flowing = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "".join(pieces)
