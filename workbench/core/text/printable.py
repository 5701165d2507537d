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
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
# A short secret follows no letter or digit, unless an escape ends with it.
_BEFORE = r"(?:(?<![^\W_])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
# Parts of a secret that are replaced. Each has a whole block of a text that is cut into blocks.
_PART = 12
_BLOCK = _PART // 2
_SECRET_VARIABLE = re.compile(r"(?i).*(key|token|secret|passw(or)?d|passphrase|pwd|credentials?|auth(orization)?|headers?)(_?\d+)?")
# Words and ports, such as the keys EMPTY, ollama and not-needed of servers that need none, are also words of ordinary replies.
_WORD = r"(?:[A-Z]?[a-z]*|[A-Z]+)"
_PLAIN = re.compile(rf"{_WORD}|(?=.{{,{_PART - 1}}}\Z){_WORD}(?:[-_.]{_WORD})*|\d{{,7}}")
_LONGEST_PLAIN = 20
# Parts that ordinary text may have across the borders of its words.
_NO_DIGIT, _NEVER = re.compile(f"[a-z]{{{_PART},}}"), re.compile("(?!)")
# What is read as a character in JSON, HTML and URLs, and the letters and digits that are left of any other text.
_FOLDED = re.compile(r"(?:%(?:25)*|\\x|\\u00|&#x0?0?)([0-9A-Fa-f]{2});?|&#0?(\d{2,3});|&(?:amp|lt|gt|quot|apos);|[0-9A-Za-z]+")


def printable(text: str, secrets: Iterable[str] = ()) -> str:
    r"""Return the text with visible control characters, without secrets, and without what CI takes for a command. Newlines and tabs stay.

    Secrets are `secrets`, those of the environment, users and passwords of URLs, the values of query parameters whose names contain key, token, secret,
    sig, passw, pwd, auth or credential, and the values of Authorization headers.

    Examples
    --------
    >>> print(printable("no model \x1b]0;owned\x07 at https://me:hunter2@host/v1?api_key=abc&page=2"))
    no model \x1b]0;owned\x07 at https://host/v1?api_key=…&page=2
    """
    text = _without(_without(text, secrets, _LONG), environment_secrets())
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


def secrets_in(value: str) -> list[str]:
    """Return the value of a variable and its words, such as the key after `Bearer`, without paths, and of URLs only the passwords."""
    words = [value, *value.split()]
    words = [part for word in dict.fromkeys(words) for part in (_passwords(word) if "://" in word else [word])]
    return [word for word in words if word and word[0] not in "/~." and not _is_plain(word)]


def _passwords(url: str) -> list[str]:
    try:
        return passwords_of(url)
    except ValueError:
        return []


def environment_secrets() -> tuple[str, ...]:
    """Return the values and words of at least 12 characters of environment variables whose names end with key, token, secret, password, passphrase,
    pwd, credentials, auth, authorization or headers, also with a number behind it, and the passwords of URLs in any variable.
    """
    return _secrets_of(tuple(os.environ.items()))


@functools.lru_cache(1)
def _secrets_of(variables: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    values = [value for name, value in variables if _SECRET_VARIABLE.fullmatch(name) or _USER.search(value)]
    return tuple(dict.fromkeys(secret for value in values for secret in secrets_in(value) if len(secret) >= _PART))


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """Return a text, or a value of JSON with the keys of its objects, with `…` for secrets.

    These are the secrets themselves, their forms in URLs, in Base64 (also within a longer text), in hexadecimal digits and reversed, and of all
    these the parts of at least 12 characters, also in capitals, with escapes of JSON, HTML and URLs, and with anything but letters and digits
    between their characters. One of fewer than 8 characters is replaced as a whole word, of fewer than 4 not at all. A secret that is
    a word of fewer than 20 characters, or words of fewer than 12, stays.
    """
    return _replaced(value, tuple(secret for secret in map(str.strip, secrets) if len(secret) >= _SHORT and not _is_plain(secret)))


def _replaced(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return _without(value, secrets)
    if isinstance(value, Mapping):
        return {_replaced(name, secrets): _replaced(item, secrets) for name, item in value.items()}
    return type(value)(_replaced(item, secrets) for item in value) if isinstance(value, list | tuple) else value


def _is_plain(secret: str) -> bool:
    return len(secret) < _LONGEST_PLAIN and bool(_PLAIN.fullmatch(secret))


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
    searched = _searched(secrets, prefix)
    if searched.whole:
        yield from (match.span() for match in searched.whole.finditer(text))
    if searched.exact.parts:
        yield from searched.exact.spans(text)
    if searched.folded.parts:
        folded, starts, stops = _folded(text)
        yield from ((starts[start], stops[stop - 1]) for start, stop in searched.folded.spans(folded))


def _windows(texts: Iterable[str], size: int) -> frozenset[str]:
    return frozenset(text[index : index + size] for text in texts for index in range(len(text) - size + 1))


@dataclass(frozen=True)
class _SecretParts:
    """The parts of secrets of 12 characters, and their blocks."""

    blocks: frozenset[str]
    parts: frozenset[str]

    @classmethod
    def of(cls, forms: Iterable[str], plain: re.Pattern[str]) -> "_SecretParts":
        """Return the parts of these texts, without those that `plain` matches."""
        texts = set(forms)
        ordinary = {match[0] for form in texts for match in plain.finditer(form)}
        parts = _windows(texts, _PART) - _windows(ordinary, _PART)
        return cls(_windows(texts, _BLOCK), parts)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where parts are in a text."""
        for index in range(0, len(text), _BLOCK):
            if text[index : index + _BLOCK] in self.blocks:
                starts = range(max(0, index - _BLOCK), index + 1)
                yield from ((start, start + _PART) for start in starts if text[start : start + _PART] in self.parts)


@dataclass(frozen=True)
class _SecretSearch:
    """A pattern of whole secrets to replace, parts of secrets, and parts of secrets as folded by `_folded`."""

    whole: re.Pattern[str] | None
    exact: _SecretParts
    folded: _SecretParts


@functools.lru_cache(64)
def _searched(secrets: tuple[str, ...], prefix: int) -> _SecretSearch:
    whole, forms, folded = list[str](), list[str](), list[str]()
    for secret in dict.fromkeys(text.strip() for text in secrets):
        if len(secret) >= _LONG:
            forms += _forms(secret)
            folded += [_folded(form)[0] for form in (*_forms(secret), secret.encode("utf-8", "replace").hex())]
            whole += [re.escape(secret[:length]) for length in range(prefix, min(_PART, len(secret) + 1))]
        elif secret:
            whole += [rf"{_BEFORE}{re.escape(form)}(?![^\W_])" for form in (secret, quote(secret, safe=""), unquote(secret))]
    whole += [re.escape(form) for form in forms if len(form) < _PART]
    pattern = re.compile("|".join(sorted(whole, key=len, reverse=True))) if whole else None
    return _SecretSearch(pattern, _SecretParts.of(forms, _NEVER), _SecretParts.of(folded, _NO_DIGIT))


def _folded(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the ASCII letters and digits of a text in small letters, of escaped characters too, and where each begins and ends in the text."""
    letters, starts, stops = list[str](), array("q"), array("q")
    for match in _FOLDED.finditer(text):
        start, stop = match.span()
        if match[1] or match[2]:
            character = chr(int(match[1], 16) if match[1] else int(match[2]))
            if character.isascii() and character.isalnum():
                letters.append(character)
                starts.append(start)
                stops.append(stop)
        elif text[start] != "&":
            letters.append(match[0])
            starts.extend(range(start, stop))
            stops.extend(range(start + 1, stop + 1))
    return "".join(letters).lower(), starts, stops


def _forms(secret: str) -> list[str]:
    """Return a secret unchanged, in URLs, reversed, and in Base64."""
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
