"""Read the answer in a model's reply: without its reasoning, from the parts of a message, as JSON, or the reason why there is none."""

import bisect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.llm.base import CallFailure, Reply

_NAME = r"(?:\w+[:_-])?(?:think\w*|thought\w*|reason(?:ing\w*)?|analysis|reflection|scratchpad|cot)"
_RESPONSE = r"<\|channel\|>final\b[^<\n]*(?:<\|constrain\|>\w+\s*)?(?:<\|message\|>)?|(?-i:assistantfinal)"
# How reasoning begins and ends. A group is a name, which the end has, too.
_FORMS: Sequence[tuple[str, str]] = (
    (rf"<({_NAME})(?:\s[^<>]*)?>", r"</{}\s*>"),
    (r"(?-i:\[(THINK)\])", r"(?-i:\[/{}\])"),
    (rf"◁({_NAME})▷", r"◁/{}▷"),
    (rf"<\|(?:begin|start)(?:_of)?_({_NAME})\|>", r"<\|end(?:_of)?_{}\|>"),
    (rf"<\|({_NAME})\|>", r"<\|/{}\|>|<\|end\|>"),
    (r"<\|channel>thought\b", r"<channel\|>"),
    (r"<unused94>", r"<unused95>"),
    (r"<details\s[^<>]*type=.?reasoning[^<>]*>", r"</details>"),
    # GPT-OSS, also where the server has removed the special tokens.
    (r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b", _RESPONSE),
    (r"(?-i:analysis(?=[A-Z]))", r"(?-i:assistantfinal)"),
    # Granite and Apriel.
    (r"Here(?: is|['’]s) my thought process:", r"Here(?: is|['’]s) my response:"),
    (r"Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),
)
_OPENINGS = [(re.compile(opening, re.IGNORECASE), closing) for opening, closing in _FORMS]
# A text with more was written by a program gone wrong.
_MOST_THOUGHTS = 50
_BLANKS = "\ufeff \t\r\n"
# Templates write the beginning of the reasoning into the prompt, so that only its end is in the reply.
_UNOPENED = re.compile(
    rf"</({_NAME})\s*>|(?-i:\[/(THINK)\])|◁/({_NAME})▷|<\|/({_NAME})\|>|<\|end(?:_of)?_({_NAME})\|>|<channel\|>|<unused95>|{_RESPONSE}",
    re.IGNORECASE,
)
_CODE = re.compile(r"^[^\S\n]*(```|~~~).*?^[^\S\n]*\1|(`+)[^`\n]+\2", re.MULTILINE | re.DOTALL)
# Marks around the answer that follows reasoning.
_ANSWER = re.compile(
    r"\s*(?:<\|(?:start|begin)\|>assistant\s*)?(?:<(?P<name>answer|response|output|solution|final_answer)>|<\|(?:begin_of_solution|start_response|content)\|>)"
    r"(?P<text>(?:(?!</(?P=name)>).)*?)(?:</(?P=name)>)?\s*",
    re.IGNORECASE | re.DOTALL,
)
_LAST_MARKS = re.compile(
    r"(?:\s*(?:<\|(?:return|end|call|im_end|end_of_solution|end_response|end_of_text)\|>|\[END FINAL RESPONSE\]))+\s*$", re.IGNORECASE
)
_FENCED = re.compile(r"(```|~~~)[^\S\n]*(?:jsonc?|json5)?\s*(.*?)\s*\1", re.DOTALL | re.IGNORECASE)
_LENGTH = frozenset({"length", "max_tokens", "model_length", "max_output_tokens", "max_completion_tokens", "model_context_window_exceeded"})
_STOP = frozenset({"", "stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed"})
FILTERED = frozenset({"content_filter", "content_filtered", "safety", "refusal", "prohibited_content", "blocklist", "guardrail_intervened"})
# Parts of a message that have no words of the answer.
_BESIDE = frozenset({"reference", "citation"})
_REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True)
class Separated:
    """A text without the reasoning before it. `reasoned` says whether there was any, `unopened` whether only its end was marked."""

    answer: str
    reasoned: bool = False
    unopened: bool = False


REASONING_ALONE = "the reply is reasoning without an answer"


class UnreadableContentError(ValueError):
    """A message has a part that is no text."""


@dataclass(frozen=True)
class _Marks:
    """How the reasoning in a text begins and ends."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]

    def after(self, text: str, start: int) -> str | None:
        """Return what follows the reasoning that begins in a text, or None if it has no end."""
        end = next((end for end in _outside_code(self.closing, text) if end.start() >= start), None)
        return None if end is None else text[end.end() :]

    def left_out(self, text: str) -> str:
        """Return a text without later thoughts. One without an end shows that what was before it was no answer yet."""
        for _ in range(_MOST_THOUGHTS):
            start = next(_outside_code(self.opening, text), None) if self.opening.groups else None
            if start is None:
                return text
            after = self.after(text, start.end())
            text = "" if after is None else f"{text[: start.start()].rstrip()}\n\n{after.lstrip()}"
        return ""


def separated(text: str) -> Separated:
    """Separate the answer in a model's text from the reasoning at its beginning. Reasoning without an end leaves an empty answer.

    Several thoughts may follow one another. In a text that begins with reasoning, later thoughts in the same marks are left out, too.
    Any other text stays as it is, also if it names such marks in code or within its sentences.

    Examples
    --------
    >>> separated("<think>One or two?</think>\\n\\nTwo.").answer
    'Two.'
    >>> separated("The tag `<think>` begins a thought, and `</think>` ends it.").reasoned
    False
    """
    rest, reasoned, unopened = text, False, False
    marks = dict[str, _Marks]()
    for _ in range(_MOST_THOUGHTS):
        rest = rest.lstrip(_BLANKS)
        if begun := _begun(rest):
            found, start = begun
            marks[found.opening.pattern] = found
            rest = found.after(rest, start) or ""
        elif end := _unopened_end(rest):
            unopened = unopened or (not reasoned and bool(rest[: end.start()].strip()))
            rest = rest[end.end() :]
        else:
            break
        reasoned = True
    else:
        rest = ""
    if not reasoned:
        return Separated(text)
    for later in marks.values():
        rest = later.left_out(rest)
    return Separated(_unwrapped(rest), True, unopened)


def answered(reply: Reply | CallFailure) -> Reply | CallFailure:
    """Return a reply with its answer alone as text, or why it has none."""
    if isinstance(reply, CallFailure):
        return reply
    read = separated(reply.text)
    reasoned = reply.reasoned or read.reasoned
    if read.answer.strip():
        return replace(reply, text=read.answer, reasoned=reasoned, unopened=read.unopened)
    return _no_answer(reply.finish_reason, reasoned)


def _no_answer(finish: str, reasoned: bool) -> CallFailure:
    why = {"length": " because it used all of its tokens", "stop": ""}.get(finish, f" ({finish})")
    if reasoned:
        return CallFailure(f"{REASONING_ALONE}{why}", "reply")
    if finish in ("tool_calls", "tool_use", "function_call"):
        return CallFailure("the model called a tool in place of an answer", "reply")
    return CallFailure(f"the answer is empty{why}", "reply")


CUT_REASONING = _no_answer("length", reasoned=True)


def finish_of(value: Any) -> str:
    """Return why a reply ended: `stop`, `length` for every provider's name of it, or another reason in small letters."""
    name = str(value or "").lower()
    return "stop" if name in _STOP else "length" if name in _LENGTH else name


def has_reasoning(message: Mapping[str, Any]) -> bool:
    """Return whether a message has reasoning in a field or in a part of its own."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return any(message.get(name) for name in _REASONING) or any(isinstance(part, dict) and _is_reasoning(part) for part in parts)


def content_text(content: Any) -> str:
    """Return the text of a message, which can be a list of parts: those of text are joined, and reasoning and references left out.

    Raises UnreadableContentError with the type of a part that is anything else.
    """
    if isinstance(content, str) or content is None:
        return content or ""
    if not isinstance(content, list):
        raise TypeError("a content that is no text")
    return "".join(map(_part_text, content))


def json_reply(text: str) -> Mapping[str, Any] | None:
    """Return a reply that is one JSON object, also in a block of code and after reasoning, or None for any other.

    An object with a repeated key or with NaN is none.
    """
    text = separated(text).answer.strip()
    block = _FENCED.fullmatch(text)
    value = _json(block[2] if block else text)
    return value if isinstance(value, dict) else None


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _begun(text: str) -> tuple[_Marks, int] | None:
    """Return the marks of the reasoning that a text begins with, and where the first of them ends."""
    for opening, closing in _OPENINGS:
        if match := opening.match(text):
            name = re.escape(match[1]) if opening.groups else ""
            named = opening.pattern.replace(_NAME, name) if name else opening.pattern
            return _Marks(re.compile(named, re.IGNORECASE), re.compile(closing.replace("{}", name), re.IGNORECASE)), match.end()
    return None


def _unopened_end(text: str) -> re.Match[str] | None:
    """Return the end of reasoning whose beginning is not in the text, outside of code and of JSON."""
    ends = [*_outside_code(_UNOPENED, text)]
    # The last one: reasoning can name the marks of its end.
    end = next((end for end in reversed(ends[-_MOST_THOUGHTS:]) if not _tells_of(text[: end.start()], end)), None)
    return None if end is None or isinstance(_json(text), dict) else end


def _tells_of(before: str, end: re.Match[str]) -> bool:
    """Return whether the beginning of reasoning is before its end, in the midst of a text that only tells of such marks."""
    name = next((group for group in end.groups() if group), "")
    return bool(name) and any(_outside_code(re.compile(rf"[<\[◁_|]{re.escape(name)}\b", re.IGNORECASE), before))


def _outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    found = list(pattern.finditer(text))
    code = [match.span() for match in _CODE.finditer(text)] if found else []
    starts = [start for start, _ in code]
    before = (bisect.bisect_right(starts, match.start()) for match in found)
    return (match for match, place in zip(found, before, strict=True) if not place or code[place - 1][1] <= match.start())


def _unwrapped(text: str) -> str:
    """Return an answer without the marks around it."""
    text = _LAST_MARKS.sub("", text)
    wrapped = _ANSWER.fullmatch(text)
    return (wrapped["text"] if wrapped else text).strip()


def _is_reasoning(part: Mapping[str, Any]) -> bool:
    return bool(re.search(r"think|reason|thought", str(part.get("type")))) or bool(part.get("thought"))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise TypeError("a part that is no text")
    text, kind = part.get("text"), str(part.get("type") or "text")
    if _is_reasoning(part) or kind in _BESIDE:
        return ""
    if isinstance(text, dict):
        text = text.get("value")
    if isinstance(text, str):
        return text
    raise UnreadableContentError(f"the answer has a part of type {kind!r}, which is no text")
