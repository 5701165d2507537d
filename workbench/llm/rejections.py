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

_NUMBERS = ("code", "status", "status_code", "statusCode", "http_code")
# How errors that name no status say what they are.
_WORDS = [
    (status, re.compile(words, re.IGNORECASE))
    for status, words in (
        (429, r"rate.?limit|too.many.requests|throttl|resource.?exhausted|quota"),
        (503, r"overload|unavailable|capacity|\bbusy\b|try again|still loading|being loaded"),
        (504, r"time[d -]*out"),
        (401, r"(invalid|incorrect|missing|no|wrong).{0,20}(api.?key|token|credential)|unauthori[sz]ed|authentication|permission"),
        (500, r"internal|server.?error|upstream|bad.gateway|provider returned"),
    )
]


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
    # A number is the status, which is said beside it.
    parts = [part for part in parts if not str(part).isdigit()]
    return " ".join(str(part) for part in parts if part) or str(error)


def reported_error(answer: Any) -> tuple[int, bytes] | None:
    """Return the error that a reply with the status 200 reports in place of an answer, as its own status and JSON, or None.

    The status is the number that the error names, else that of its words, else 400.
    """
    if not isinstance(answer, dict):
        return None
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    error = answer.get("error") or choice.get("error") or answer.get("errors")
    if isinstance(error, list) and error:
        error = error[0]
    said = isinstance(answer.get("message") or answer.get("detail"), str) and not {"choices", "content"} & answer.keys()
    if not error and (said or "error" in (answer.get("object"), answer.get("type"))):
        error = answer
    if not error:
        return None
    if isinstance(error, bool):
        error = {name: value for name, value in answer.items() if name != "error"}
    content = json.dumps({"error": error}).encode()
    numbers = [value for part in (error, answer) if isinstance(part, dict) for name in _NUMBERS if (value := _status(part.get(name)))]
    words = error_text(content)
    return next((number for number in [*numbers, *(status for status, said in _WORDS if said.search(words))]), 400), content


def _status(value: Any) -> int | None:
    """Return a status of HTTP that says that a request failed, or None."""
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
    return number if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600 else None


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
