"""Parse the JSON of replies, with one line for what is no JSON."""

import json
import re

from pydantic import JsonValue

from workbench.core.display import excerpt
from workbench.targets.base import TargetError

_TITLE = re.compile(r"<title[^>]*>(.{0,500}?)</title>", re.IGNORECASE | re.DOTALL)


def parse_json(content: bytes | str) -> JsonValue:
    """Parse JSON. Raises TargetError for another text, and for one that is not valid UTF-8."""
    text = content if isinstance(content, str) else _decoded(content)
    if not text.strip():
        raise TargetError("the reply is empty")
    try:
        value: JsonValue = json.loads(text)
    except RecursionError:
        raise TargetError("the reply is nested too deeply") from None
    except ValueError:
        raise TargetError(f"the reply is {not_json(text)}") from None
    # Half of a surrogate pair can be written in JSON, but is no text.
    if "\\ud" in text.lower() and not _encodable(value):
        raise TargetError("the reply contains half of a surrogate pair, which is no text")
    return value


def not_json(text: str) -> str:
    """Describe a text that is no JSON: HTML by its title, others by their first characters."""
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        title = _TITLE.search(text)
        return f"HTML ({excerpt(title[1])!r}), not JSON" if title and title[1].strip() else "HTML, not JSON"
    return f"no valid JSON; it begins with {excerpt(text, 40)!r}"


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TargetError("the reply is not valid UTF-8") from None


def _encodable(value: JsonValue) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
