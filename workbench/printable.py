"""Make text from elsewhere safe to print: control characters become visible, and secrets become `…` or are left out.

Documents, file names and servers can contain escape sequences that retitle a terminal, hide a line or reverse its letters. Messages of
servers and libraries repeat keys and passwords. `printable` is applied where text leaves the process: to every error, to all lines on
the terminal (`core/terminal.py`), to progress bars and to saved tracebacks. Tables keep the original text, but without known secrets: `without_secrets` is
applied to every reply of a model or a target, before it is cached.
"""

import base64
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "…"
# C0 without tab and newline, DEL and C1, the bidirectional controls, line and paragraph separators, and lone surrogates, which no
# terminal can encode, and the two characters that XML does not allow besides. Joiners and other characters of zero width stay, because emoji and several scripts need them.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# Where the logs of GitHub, Azure and TeamCity read commands: at the beginning of a line, or in it after two hashes.
_COMMAND = re.compile(r"(?m)^[^\S\n]*:(?=:)|#(?=#\w*\[)")
_NAME = r"[^\s=&?#;]{0,60}(?:key|token|secret|sig|passw|pwd|auth|credential)[^\s=&?#;]{0,60}"
_USER = re.compile(r"(?<=://)[^\s/?#@'\"<>]{0,300}(?::[^\s@'\"<>]{0,300})?@")
_QUERY = re.compile(rf"(?i)([?&;]{_NAME}=)[^\s&#;'\"<>)]+")
_SCHEME = r"(?:basic|bearer|digest|token|key)\b"
_HEADER = re.compile(
    rf"(?i)(\bauthorization['\"]?\s{{0,3}}[:=]\s{{0,3}}(?:b?['\"])?(?:{_SCHEME} +)?|\bbearer +)(?!{_SCHEME})[\w.~+/=-]{{6,}}"
)
# A shorter secret is replaced only as a whole word, and a still shorter one, such as a flag of a program, in messages only.
_LONG, _SHORT = 8, 4
# Parts of a secret that are replaced. Each has a whole block of a text that is cut into blocks.
_PART = 12
_BLOCK = _PART // 2
_SECRET_VARIABLE = re.compile(r"(?i).*(key|token|secret|passw(or)?d|pwd)")
# A path to a key is none.
_SECRET_VALUE = re.compile(rf"[^\s/~.]\S{{{_PART - 1},}}")


def printable(text: str, secrets: Iterable[str] = ()) -> str:
    r"""Return the text with visible control characters, without secrets, and without what CI takes for a command. Newlines and tabs stay.

    Secrets are `secrets`, users and passwords of URLs, the values of query parameters whose names contain key, token, secret, sig, passw,
    pwd, auth or credential, and the values of Authorization headers.

    Examples
    --------
    >>> print(printable("no model \x1b]0;owned\x07 at https://me:hunter2@host/v1?api_key=abc&page=2"))
    no model \x1b]0;owned\x07 at https://host/v1?api_key=…&page=2
    """
    text = _without(text, secrets, _LONG)
    text = _QUERY.sub(rf"\1{HIDDEN}", _USER.sub("", text))
    return _COMMAND.sub(r"\g<0> ", _CONTROLS.sub(_visible, _HEADER.sub(rf"\1{HIDDEN}", text)))


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


def environment_secrets() -> tuple[str, ...]:
    """Return values of at least 12 characters of environment variables whose names end with key, token, secret, password or pwd."""
    return tuple(value for name, value in os.environ.items() if _SECRET_VARIABLE.fullmatch(name) and _SECRET_VALUE.fullmatch(value))


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """Return a text, or a value of JSON with the keys of its objects, with `…` for secrets.

    These are the secrets themselves, their forms in URLs, in Base64 (also within a longer text) and reversed, and of all these the parts of at
    least 12 characters. One of fewer than 8 characters is replaced as a whole word, of fewer than 4 not at all.
    """
    if isinstance(value, str):
        return _without(value, [secret for secret in secrets if len(secret) >= _SHORT])
    if isinstance(value, Mapping):
        return {without_secrets(name, secrets): without_secrets(item, secrets) for name, item in value.items()}
    return type(value)(without_secrets(item, secrets) for item in value) if isinstance(value, list | tuple) else value


def _without(text: str, secrets: Iterable[str], prefix: int = _PART) -> str:
    """Replace secrets in a text. Of their first characters, `prefix` are enough."""
    parts, end = list[str](), 0
    for start, stop in sorted(_spans(text, tuple(secrets), prefix)):
        if start >= end:
            parts += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*parts, text[end:]])


def _spans(text: str, secrets: tuple[str, ...], prefix: int) -> Iterator[tuple[int, int]]:
    """Yield where secrets and their parts are in a text."""
    whole, blocks, parts = _searched(secrets, prefix)
    yield from (match.span() for match in (whole.finditer(text) if whole else ()))
    for place in range(0, len(text), _BLOCK) if blocks else ():
        if text[place : place + _BLOCK] in blocks:
            starts = range(max(0, place - _BLOCK), place + 1)
            yield from ((start, start + _PART) for start in starts if text[start : start + _PART] in parts)


@functools.lru_cache(64)
def _searched(secrets: tuple[str, ...], prefix: int) -> tuple[re.Pattern[str] | None, frozenset[str], frozenset[str]]:
    """Return a pattern of what is replaced as a whole, the blocks and the parts of secrets."""
    whole, forms = list[str](), list[str]()
    for secret in map(str.strip, secrets):
        if len(secret) >= _LONG:
            forms += _forms(secret)
            whole += [re.escape(secret[:length]) for length in range(prefix, min(_PART, len(secret) + 1))]
        elif secret:
            whole += [rf"(?<![^\W_]){re.escape(form)}(?![^\W_])" for form in (secret, quote(secret, safe=""), unquote(secret))]
    whole += [re.escape(form) for form in forms if len(form) < _PART]
    long = [form for form in forms if len(form) >= _PART]
    blocks, parts = (
        frozenset(form[place : place + size] for form in long for place in range(len(form) - size + 1)) for size in (_BLOCK, _PART)
    )
    return re.compile("|".join(sorted(whole, key=len, reverse=True))) if whole else None, blocks, parts


def _forms(secret: str) -> list[str]:
    """Return a secret as it is, in URLs, reversed, and in Base64."""
    raw, quoted = secret.encode("utf-8", "replace"), quote(secret, safe="", errors="replace")
    forms = [secret, quoted, re.sub("%..", lambda code: code[0].lower(), quoted), unquote(secret), secret[::-1]]
    # Within a longer text, a secret begins at any of three places of a group of Base64. Its edges depend on the letters beside it.
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + raw).decode()[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        forms += [encoded, encoded.translate({43: "-", 47: "_"})]
    return forms


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
