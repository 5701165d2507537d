"""What the page may do: run its one script, look as its one sheet says, and load nothing."""

import base64
import hashlib


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy that allows exactly this script and this style sheet."""
    directives = ("default-src 'none'", f"script-src '{_digest(script)}'", f"style-src '{_digest(style)}'", "img-src data:")
    return "; ".join([*directives, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
