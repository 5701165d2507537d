"""What the page may do: run its one script, look as its one sheet says, and load nothing."""

import base64
import hashlib
import json
import zlib
from typing import Any


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy that allows exactly this script and this style sheet."""
    directives = ("default-src 'none'", f"script-src '{_digest(script)}'", f"style-src '{_digest(style)}'", "img-src data:")
    return "; ".join([*directives, "base-uri 'none'", "form-action 'none'"])


def packed(value: Any) -> str:
    """A value as JSON, deflated, in base 64: what `DecompressionStream("deflate")` reads."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair is no UTF-8, and a document may hold one.
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
