"""Addresses and headers of requests. Secrets come from named environment variables and appear in no setting and no error."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from workbench.core.errors import InputError
from workbench.core.text.printable import printable, secrets_in

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_NAME = re.compile(r"(^|[-_])(api-?key|key|token|secret|password|auth|authorization|cookie|credentials?)$", re.IGNORECASE)
# Their values belong to the connection.
_OWN = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "content-type")


@dataclass(frozen=True, repr=False)
class RequestHeaders:
    """The headers of a request, and the secrets in them, which no error may repeat."""

    values: Mapping[str, str]
    secrets: tuple[str, ...]


def check_address(url: str, what: str) -> None:
    """Raise ValueError for what is no plain address of HTTP, without repeating a password."""
    # A slot is filled with percent-encoded text.
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(f"{what} is not an address such as http://localhost:8000/query") from None
    if "@" in parts.netloc or printable(url) != url:
        raise ValueError(f"{what} contains a user, a password or a key; put it into a header by headers_env")
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", url):
        raise ValueError(f"{what} {url!r} is not an address such as http://localhost:8000/query")
    if "{" in parts.netloc:
        raise ValueError(f"{what} {url!r} has a slot in the name of the server")


def is_secret_name(name: str) -> bool:
    """Return True if a header or parameter of this name usually has a secret."""
    return bool(_SECRET_NAME.search(name))


def has_secret(name: str, value: object) -> bool:
    """Return True if a setting of this name seems to have a secret as its value, which no words and slots are."""
    return is_secret_name(name) and isinstance(value, str) and "{" not in value and bool(secrets_in(value))


def check_headers(headers: Mapping[str, str], from_environment: Mapping[str, str]) -> None:
    """Raise ValueError for headers that cannot be sent, or that have secrets in the experiment. No value is repeated."""
    for name in [*headers, *from_environment]:
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header")
        if name.lower() in _OWN:
            raise ValueError(f"the header {name} is set by Workbench")
    for name, value in headers.items():
        if not _sendable(value):
            raise ValueError(f"the header {name} has characters that cannot be sent")
        if is_secret_name(name) or printable(f"{name}: {value}") != f"{name}: {value}":
            raise ValueError(f"the header {name} has a secret; name an environment variable with it in headers_env.{name}")
    for name, source in from_environment.items():
        if not _variables(source):
            raise ValueError(
                f"headers_env.{name} names no environment variable, as in MY_KEY or 'Bearer {{MY_KEY}}'; never write a key here"
            )


def read_headers(headers: Mapping[str, str], from_environment: Mapping[str, str], what: str) -> RequestHeaders:
    """Return the headers with the values of environment variables. Raises InputError for a variable that is missing, or cannot be sent."""
    values, secrets = dict(headers), list[str]()
    for name, source in from_environment.items():
        for variable in _variables(source):
            secret = os.environ.get(variable, "").strip()
            if not secret:
                raise InputError(
                    f"{what} needs the environment variable {variable}, which is not set", f"set {variable}, or change headers_env.{name}"
                )
            if not _sendable(secret):
                raise InputError(
                    f"the environment variable {variable} of {what} has characters that cannot be sent in a header", f"set {variable}"
                )
            secrets += [secret, *secrets_in(secret)]
        template = source if "{" in source else f"{{{source}}}"
        values[name] = _NAMED.sub(lambda match: os.environ[match[1]].strip(), template)
    return RequestHeaders(values, tuple(secrets))


def _variables(source: str) -> list[str]:
    """Return the variables that a header names: `NAME`, or `{NAME}` within a text such as `Bearer {NAME}`."""
    return [source] if _VARIABLE.fullmatch(source) else _NAMED.findall(source)


def _sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()
