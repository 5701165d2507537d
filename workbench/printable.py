"""Make text from elsewhere safe to print: control characters become visible, and secrets become `…` or are left out.

Documents, file names and servers can contain escape sequences that retitle a terminal, hide a line or reverse its letters. Messages of
servers and libraries repeat keys and passwords. `printable` is applied where text leaves the process: to every error, to all lines on
the terminal (`core/terminal.py`), to progress bars and to saved tracebacks. Tables keep the original text.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "…"
# C0 without tab and newline, DEL and C1, the bidirectional controls, line and paragraph separators, and lone surrogates, which no
# terminal can encode, and the two characters that XML does not allow besides. Joiners and other characters of zero width stay, because emoji and several scripts need them.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_NAME = r"[^\s=&?#;]{0,60}(?:key|token|secret|sig|passw|pwd|auth|credential)[^\s=&?#;]{0,60}"
_USER = re.compile(r"(?<=://)[^\s/?#@'\"<>]{0,300}(?::[^\s@'\"<>]{0,300})?@")
_QUERY = re.compile(rf"(?i)([?&;]{_NAME}=)[^\s&#;'\"<>)]+")
_SCHEME = r"(?:basic|bearer|digest|token|key)\b"
_HEADER = re.compile(
    rf"(?i)(\bauthorization['\"]?\s{{0,3}}[:=]\s{{0,3}}(?:b?['\"])?(?:{_SCHEME} +)?|\bbearer +)(?!{_SCHEME})[\w.~+/=-]{{6,}}"
)
# A shorter secret is replaced only as a whole word.
_LONG = 8


def printable(text: str, secrets: Iterable[str] = ()) -> str:
    r"""Return the text with visible control characters and without secrets. Newlines and tabs stay.

    Secrets are `secrets`, users and passwords of URLs, the values of query parameters whose names contain key, token, secret, sig, passw,
    pwd, auth or credential, and the values of Authorization headers.

    Examples
    --------
    >>> print(printable("no model \x1b]0;owned\x07 at https://me:hunter2@host/v1?api_key=abc&page=2"))
    no model \x1b]0;owned\x07 at https://host/v1?api_key=…&page=2
    """
    for secret in sorted({form for one in secrets for form in (one, quote(one, safe=""), unquote(one)) if form}, key=len, reverse=True):
        text = _without(text, secret)
    text = _QUERY.sub(rf"\1{HIDDEN}", _USER.sub("", text))
    return _CONTROLS.sub(_visible, _HEADER.sub(rf"\1{HIDDEN}", text))


def printable_line(text: str) -> str:
    """Return the text as `printable` does, with visible newlines."""
    return printable(text).replace("\n", "\\n")


def passwords_of(url: str) -> list[str]:
    """Return the password of a URL, or a user without one, which can be a token, and the secret values of its query.

    Libraries repeat them in their messages.
    """
    parts = urlsplit(url)
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    named = [value for name, _, value in pairs if re.fullmatch(_NAME, name, re.IGNORECASE)]
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    return [password or user, *named]


def _without(text: str, secret: str) -> str:
    """Replace a secret in a text: a short one as a whole word, a long one also when it is cut off after its first letters."""
    if len(secret) < 2 * _LONG:
        pattern = re.escape(secret)
        return re.sub(rf"(?<![^\W_]){pattern}(?![^\W_])" if len(secret) < _LONG else pattern, HIDDEN, text)
    parts, place = list[str](), 0
    while (found := text.find(secret[:_LONG], place)) >= 0:
        parts += [text[place:found], HIDDEN]
        place = found + next((n for n, letter in enumerate(secret) if text[found + n : found + n + 1] != letter), len(secret))
    return "".join([*parts, text[place:]])


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
