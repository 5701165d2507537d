"""Read a server's error: what it says, which parameter it does not know, and what kind of fault it is."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from workbench.models.server import TOO_LONG

Rejection = Literal["model", "credit", "refusal", "window", "request"]
_GONE = re.compile(
    r"model.{0,120}(not found|not exist|unknown|deprecated|decommissioned|retired|no longer|not available|removed)"
    r"|(unknown|invalid|no such) model|model_not_found|try pulling",
    re.IGNORECASE | re.DOTALL,
)
_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|credit balance", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content management policy|content_policy|safety (system|filter)|usage policies", re.IGNORECASE)
# A value out of range is a fault of the settings; the model knows the parameter.
_RANGE = re.compile(r"less than|greater than|at (most|least)|between|range|<=|>=|maximum|minimum|too (large|small|long)", re.IGNORECASE)
# The parameters of a call, by the words with which servers name them.
_NAMES: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b"),
    "seed": re.compile(r"\bseed\b"),
    "top_logprobs": re.compile(r"\b(top_)?logprobs\b"),
    "schema": re.compile(
        r"\b(response_format|json_schema|output_config|output_format|structured outputs?|guided|grammar)\b", re.IGNORECASE
    ),
    "max_tokens": re.compile(r"\bmax_completion_tokens\b"),
}


def error_text(content: bytes) -> str:
    """Return the message of an error with its type and code, from any provider's JSON, or the start of the text."""
    try:
        error: Any = json.loads(content)
    except (ValueError, RecursionError):
        return content[:2000].decode("utf-8", "replace")
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return str(error)
    parts = [error.get(name) for name in ("message", "detail", "type", "code", "param")]
    return " ".join(str(part) for part in parts if part) or str(error)


def refused_parameter(status: int, message: str, sent: set[str]) -> str | None:
    """Return the parameter among those sent that a 400 or 422 names as unknown, or None."""
    if status not in (400, 422):
        return None
    named = [name for name in _NAMES if name in sent and _NAMES[name].search(message)]
    # max_completion_tokens is named only to be used instead.
    return next((name for name in named if name == "max_tokens" or not _RANGE.search(message)), None)


def rejection(status: int, message: str) -> Rejection | None:
    """Return why a request cannot succeed unchanged, or None if another try may succeed."""
    if _CREDIT.search(message):
        return "credit"
    if 400 <= status < 500 and _GONE.search(message):
        return "model"
    if status in (400, 422) and _FILTERED.search(message):
        return "refusal"
    if status == 413 or (status != 429 and TOO_LONG.search(message)):
        return "window"
    return "request"
