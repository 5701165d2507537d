"""Read a server's error: what it says, which parameter it does not know, and what kind of fault it is."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from workbench.llm.models.server import TOO_LONG
from workbench.llm.replies.answers import json_reply

Rejection = Literal["model", "credit", "refusal", "window", "request"]
_GONE = re.compile(
    r"model.{0,120}(not found|not exist|unknown|deprecated|decommissioned|retired|no longer|not available|removed)"
    r"|(unknown|invalid|no such) model|model_not_found|try pulling",
    re.IGNORECASE | re.DOTALL,
)
_CREDIT = re.compile(r"insufficient_quota|exceeded your current quota|credit balance", re.IGNORECASE)
# How far from its beginning a text can have the brace of a JSON object in a block of code, and the words of an error.
_FENCE, _WORDED = 20, 2000
_FILTERED = re.compile(
    r"content_filter|(input|output) (new_)?sensitive|content management policy|content_policy|safety (system|filter)|usage policies",
    re.IGNORECASE,
)
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
# Fields that have an error, the words of one, and flags or words that say that a request failed.
_ERRORS = ("error", "error_message", "errorMessage", "error_msg", "errmsg", "error_code", "errcode", "exception", "fault")
_MESSAGES = ("message", "detail", "msg", "error_message", "error_msg", "errmsg", "status_msg", "reason")
_NO_ERRORS = frozenset({"", "0", "none", "null", "false", "no", "no error", "ok", "success"})
_FLAGS: Mapping[str, bool] = {"success": False, "ok": False, "is_error": True, "isError": True}
_FAILED = frozenset(
    {"error", "err", "fail", "failed", "failure", "timeout", "timed_out", "unavailable", "exception", "aborted", "cancelled", "canceled"}
    | {"rate_limited", "rate_limit", "overloaded", "internal_error", "server_error"}
)
# The fields of an object that can declare an error.
DECLARING = (*_ERRORS, *_MESSAGES, *_FLAGS, *_NUMBERS, "errors", "state", "timed_out")
# Where a reply has its content, which can be the error.
_AROUND = ("data", "result", "response", "output", "outputs")
# Words of a message beside an empty list, which otherwise says that nothing was found.
_TELLING = re.compile(
    r"rate.?limit|too.many.requests|throttl|exhausted|overload|unavailable|time[d -]*out|unauthori[sz]ed|bad.gateway|upstream|exception|went wrong"
    r"|\berrors?\b|\bfail(ed|ure)?\b|\bcould not (connect|reach)",
    re.IGNORECASE,
)
# Statuses of HTTP that the codes of MiniMax stand for.
_BASE_CODES: Mapping[Any, int] = {1000: 500, 1001: 504, 1002: 429, 1004: 401, 1013: 500, 1024: 500, 1033: 500, 1039: 429}
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
        return content[:_WORDED].decode("utf-8", "replace")
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return str(error)
    parts = [error.get(name) for name in ("message", "msg", "detail", "type", "code", "param")]
    # A number is the status, which the error line names too.
    parts = [part for part in parts if not str(part).isdigit()]
    return " ".join(str(part) for part in parts if part) or str(error)


def reported_error(answer: Any, nothing: bool = True) -> tuple[int, bytes] | None:
    """Return the error that a reply without a status of failure declares, as its own status and JSON, or None.

    It is in a field of that name, in `success`, `status`, `code` and the like, or in those of its choice, data or output. `nothing` says that
    nothing else was found in the reply: then its message is the error, beside an empty list only if its words say so. The status is the number
    that the error names, else that of its words, else 400.
    """
    if not isinstance(answer, Mapping):
        return None
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    places = [place for place in (answer, choice, *(answer.get(name) for name in _AROUND)) if isinstance(place, Mapping)]
    errors = (_declared(place, nothing) for place in places)
    error = next((error for error in errors if error), None)
    if not error and nothing:
        error = next((error for place in places if (error := _suggested(place))), None)
    if not error:
        return None
    content = json.dumps({"error": error}, default=str).encode()
    numbers = [value for part in (error, *places) if isinstance(part, Mapping) for name in _NUMBERS if (value := _status(part.get(name)))]
    words = error_text(content)[:_WORDED]
    return next((number for number in [*numbers, *(status for status, said in _WORDS if said.search(words))]), 400), content


def error_in_text(text: str) -> tuple[int, bytes] | None:
    """Return the error that a text is, which was to be an answer: a JSON object with a field of that name. None for any other text."""
    value = json_reply(text) if "{" in text[:_FENCE] else None
    return reported_error(value, nothing=False) if value and "error" in value else None


def _declared(place: Mapping[str, Any], nothing: bool) -> Any:
    """Return the error that a part of a reply declares, or None. A `code` like a status says nothing beside an answer: it can be a part of it."""
    for name in _ERRORS:
        value = place.get(name)
        value = value[0] if isinstance(value, list) and value else value
        if _says(value):
            return _about(place, name) if isinstance(value, bool | int) else value
    if "error" in (place.get("object"), place.get("type")):
        return _about(place, "type")
    base = place.get("base_resp")
    if isinstance(base, Mapping) and (code := base.get("status_code")):
        return {**_about(base, "status_code"), "code": _BASE_CODES.get(code, code)}
    flagged = [name for name, bad in _FLAGS.items() if place.get(name) is bad or str(place.get(name)).lower() == str(bad).lower()]
    failed = [
        name for name in ("status", "state") if isinstance(word := place.get(name), str) and word.lower().replace(" ", "_") in _FAILED
    ]
    numbered = [name for name in _NUMBERS if (nothing or name != "code") and _status(place.get(name))]
    return next((_about(place, name) for name in (*flagged, *failed, *numbered)), None)


def _says(value: Any) -> bool:
    """Return True if the value of a field for errors is one."""
    if isinstance(value, Mapping):
        return any(map(_says, value.values()))
    return bool(value) and str(value).strip().lower() not in _NO_ERRORS


def _about(place: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the first of the errors that a part of a reply lists, its message, or the name and value that make it an error."""
    errors = place.get("errors")
    if isinstance(errors, list) and errors:
        return errors[0] if isinstance(errors[0], dict) else {"message": str(errors[0])}
    message = next((text for key in _MESSAGES if isinstance(text := place.get(key), str) and text.strip()), "")
    return {"message": message or f"{name} is {json.dumps(place.get(name), default=str)}"}


def _suggested(place: Mapping[str, Any]) -> Any:
    """Return the error that a part of a reply suggests if nothing else was found in it, or None."""
    if place.get("errors"):
        return _about(place, "errors")
    if place.get("timed_out") is True:
        return _about(place, "timed_out") | {"code": 504}
    code = place.get("code")
    if isinstance(code, int) and code and not str(code).startswith("20"):
        return _about(place, "code")
    if place.get("choices") or place.get("content") or not (said := _about(place, "")["message"]) or said.startswith(" is "):
        return None
    listed = any(isinstance(value, list) for value in place.values())
    null = None in place.values() and not isinstance(place.get("detail"), str)
    return {"message": said} if not (listed or null) or _TELLING.search(said[:_WORDED]) else None


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
