"""Read the answer in a model's reply: without its reasoning, from the parts of a message, as JSON, or the reason why it has no answer."""

import bisect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from workbench.core.files import json_value
from workbench.llm.base import CallFailure, Reply

_CODE_FENCE = re.compile(r"^[^\S\n]*(?:(?:[-*+>]|\d+[.)])[^\S\n]+)*(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)(`+)(?=[^\s`])[^`\n]*(?<=[^\s`])\1(?!`)")


class _Fence(NamedTuple):
    start: int
    end: int
    mark: str
    info: bool


class TextCode:
    """The code in a text: blocks and inline."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = [
            _Fence(found.start(), found.end(), found[1] or found[3], bool((found[2] or found[4] or "").strip()))
            for found in _CODE_FENCE.finditer(text)
        ]
        blocks, self._flaws = _blocks(self._fences)
        starts = [start for start, _ in blocks]
        inline = (found.span() for found in _INLINE.finditer(text))
        outside = (span for span in inline if not (place := bisect.bisect_right(starts, span[0])) or blocks[place - 1][1] <= span[0])
        self._spans = sorted([*blocks, *outside])
        self._starts = [start for start, _ in self._spans]

    def around(self, mark: re.Match[str]) -> tuple[int, int] | None:
        """Return the code that a mark is in."""
        place = bisect.bisect_right(self._starts, mark.start())
        return self._spans[place - 1] if place and self._spans[place - 1][1] > mark.start() else None

    def hides(self, end: re.Match[str]) -> bool:
        """Return True if the end of a thought is in code, and not behind code of the thought that was never closed.

        It is behind such code if the marks of code before it and those after it pair no worse apart than together.
        """
        span = self.around(end)
        if span is None:
            return False
        if self._text[span[0] : span[0] + 1] == "`" and "\n" not in self._text[slice(*span)]:
            line = self._text.rfind("\n", 0, span[0]) + 1, self._text.find("\n", span[1])
            parts = self._text[line[0] : end.start()], self._text[end.end() : line[1] if line[1] >= 0 else None]
            before, after = (len(re.findall("`+", part)) for part in parts)
            return before % 2 + after % 2 > (before + after) % 2
        place = bisect.bisect_left(self._fences, end.start(), key=lambda fence: fence.start)
        return sum(_blocks(part)[1] for part in (self._fences[:place], self._fences[place:])) > self._flaws


def _blocks(fences: Sequence[_Fence]) -> tuple[list[tuple[int, int]], int]:
    """Return the blocks between fences, and the number of fences that do not pair: open ones, and those that open a block within a block."""
    opened: _Fence | None = None
    blocks, flaws = list[tuple[int, int]](), 0
    for fence in fences:
        if opened is None:
            opened = fence
        elif fence.mark.startswith(opened.mark):
            flaws += fence.info
            if not fence.info:
                blocks.append((opened.start, fence.end))
                opened = None
    return blocks, flaws + (opened is not None)


# Part of the keys of results that depend on it. Raise it when equal replies begin to be read differently.
VERSION = 2

_THOUGHT = r"(?:\w+[:_-])?(?:(?:ant)?think\w*|thought\w*|reasoning\w*)"
_NAME = rf"(?:{_THOUGHT}|(?:\w+[:_-])?(?:reason|analysis|reflection|scratchpad|cot|plan|(?:inner_)?monologue))"
_CHANNEL = r"<\|channel\|>final\b[^<\n]*(?:<\|constrain\|>\w+\s*)?(?:<\|message\|>)?"
_SUMMARY = r"(?:Thinking|Thoughts?|Reasoning)(?: process)?(?:\.\.\.|…)?|(?:Thought|Reasoned|Thinking) for [^<]*"
# How reasoning begins and ends. A group is a name, which the end has, too.
_FORMS: Sequence[tuple[str, str]] = (
    (rf"<({_NAME})(?:\s[^<>]*)?>", r"</{}\s*>"),
    (rf"\*\*<({_NAME})>\*\*(?![ .,;:)])", r"\*\*</{}\s*>\*\*"),
    (r"(?-i:\[(THINK)\])", r"(?-i:\[/{}\])"),
    (rf"◁({_NAME})▷", r"◁/{}▷"),
    (rf"<\|(?:begin|start)(?:_of)?_({_NAME})\|>", r"<\|end(?:_of)?_{}\|>"),
    (rf"<[|｜]({_NAME})[|｜]>", r"<[|｜]/{}[|｜]>|<\|end\|>"),
    (r"<\|channel>thought\b", r"<channel\|>"),
    (r"<unused94>", r"<unused95>"),
    # Open WebUI and Dify, LibreChat, and the command line of Ollama.
    (rf"<details\s[^<>]*type=.?reasoning[^<>]*>|<details\b[^<>]*>\s*<summary>\s*(?:{_SUMMARY})\s*</summary>", r"</details>"),
    (r":::thinking[^\S\n]*(?=\n)", r"(?m:^[^\S\n]*:::[^\S\n]*$)"),
    (r"(?-i:Thinking\.\.\.)[^\S\n]*(?=\n)", r"\.\.\.done thinking\."),
    # GPT-OSS, also where the server has removed the special tokens.
    (r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b", rf"{_CHANNEL}|(?-i:assistantfinal)"),
    (r"(?-i:analysis(?=[A-Z]|(?:the|we|i|user|question|need|let|this|there)\b))", r"(?-i:assistantfinal)"),
    # Granite and Apriel.
    (r"(?:\*\*)?Here(?: is|['’]s) my thought process:(?:\*\*)?", r"(?:\*\*)?Here(?: is|['’]s) my response:(?:\*\*)?"),
    (r"Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),
)
_OPENINGS = [(re.compile(opening, re.IGNORECASE), closing) for opening, closing in _FORMS]
# The first two are of tags, which can also come after a few words.
_LATE = [re.compile(rf"^[^\S\n]*(?={opening})", re.IGNORECASE | re.MULTILINE) for opening, _ in _FORMS[:2]]
_FAMILY = re.compile(rf"</({_NAME})\s*>", re.IGNORECASE)
# Of a text with more marks, which was written by a program gone wrong, only what follows the last one is read.
_MOST_THOUGHTS = 50
_BLANKS = "\ufeff \t\r\n"
# Templates write the beginning of the reasoning into the prompt, so that only its end is in the reply.
_UNOPENED = re.compile(
    rf"</({_THOUGHT})\s*>|(?-i:\[/(THINK)\])|◁/({_THOUGHT})▷|<[|｜]/({_THOUGHT})[|｜]>|<\|end(?:_of)?_({_THOUGHT})\|>|<channel\|>|<unused95>"
    # A word in a sentence has blanks or marks around it.
    rf"|{_CHANNEL}|(?-i:(?<![\"'])assistantfinal(?![ \t.,;:!?)]))|(?-i:\[BEGIN FINAL RESPONSE\])",
    re.IGNORECASE,
)
_QUOTES = tuple("\"'“”‘’„")
_AFTER_WORD = re.compile(r"[.,;:)](?=\s|$)")
# Special tokens and the role of the speaker, which a server did not remove.
_TOKEN = (
    rf"(?:<\|(?!channel\||/|(?:begin|start|end)(?:_of)?_{_NAME}\|)[^|<>\s]{{1,40}}\|>|<｜(?!/)[^｜<>\s]{{1,40}}｜>|</s>|<[be]os>|<\w{{1,9}}:[be]os>"
    r"|<(?:start|end)_of_turn>|<turn\|>|<SPECIAL_\d+>|\[/?INST\]|\[END FINAL RESPONSE\])"
)
_FIRST_TOKENS = re.compile(rf"\A\s*(?:{_TOKEN}\s*(?:(?:assistant|model)[^\S\n]*(?:\n\s*|(?={_TOKEN}|<\|)))?)+", re.IGNORECASE)
# After a blank or a colon a token is a word in a sentence, and `</s>` after `<s>` ends struck text.
_LAST_TOKEN = re.compile(rf"(?<![:\s])(?:\s*\n\s*)?{_TOKEN}\s*\Z", re.IGNORECASE)
_LONGEST_TOKEN = 60
_BOX = re.compile(r"<\|begin_of_box\|>((?:(?!<\|begin_of_box\|>).)*?)<\|end_of_box\|>", re.DOTALL)
# Marks around an answer.
_ANSWER = re.compile(
    r"\s*<(?P<name>s|answer|response|output|solution|conclusion|final[ _-]?answer)(?:\s[^<>]*)?>(?P<text>(?:(?!</(?P=name)>).)*?)(?P<end></(?P=name)>)?\s*",
    re.IGNORECASE | re.DOTALL,
)
# Words before a thought, such as "Sure!", and a mark of reasoning that is a word in a sentence.
_FEW_WORDS = 100
_MENTION = re.compile(r"[\w,;] \Z")
# A block of code, also without its end: the name of a language is on the line of its beginning, or precedes the value on one line.
_FENCE = re.compile(r"(`{3,}|~{3,})(?:[^\n`{\[\"]*\n|[^\S\n]*\{\.?[\w+#-]*\}[^\S\n]*\n|[^\S\n]*(?:[A-Za-z][\w+.#-]*(?=[\s{\[]))?)")
_FENCE_END = re.compile(r"\s*(?:`{3,}|~{3,})\s*$")
# Parts of a message that have no words of the answer.
_BESIDE = frozenset({"reference", "citation"})
_REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True)
class Separated:
    """A text without the reasoning before it. `reasoned` says whether there was any, `unopened` whether only its end was marked."""

    answer: str
    reasoned: bool = False
    unopened: bool = False

    def failure(self, truncated: bool | None) -> str:
        """Return why the text has no answer, or an empty text if it has one or is empty without any reasoning."""
        if self.answer.strip() or not self.reasoned:
            return ""
        return CUT_REASONING.reason if truncated else REASONING_ALONE


REASONING_ALONE = "the reply is reasoning without an answer"


class UnreadableContentError(ValueError):
    """A message has a part that is no text."""


@dataclass(frozen=True)
class _Marks:
    """The beginning and the end of reasoning in a text. Tags have a `family`: other names that some models end with."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]
    family: bool = False

    def end(self, text: str, start: int) -> re.Match[str] | None:
        """Return the end of the reasoning that begins in a text, if it has one."""
        code = TextCode(text)
        own = next((end for end in self.closing.finditer(text, start) if not code.hides(end)), None)
        if own or not self.family:
            return own
        others = itertools.islice((end for end in _FAMILY.finditer(text, start) if not code.hides(end)), _MOST_THOUGHTS)
        return next((end for end in others if not re.search(rf"<{re.escape(end[1])}\b", text[start : end.start()], re.IGNORECASE)), None)

    def left_out(self, text: str) -> str:
        """Return a text without later thoughts. One without an end shows that what was before it was no answer yet."""
        for _ in range(_MOST_THOUGHTS):
            start = (
                next((found for found in _outside_code(self.opening, text) if not _is_word(text, found)), None)
                if self.opening.groups
                else None
            )
            if start is None:
                return text
            end = self.end(text, start.end())
            text = "" if end is None else f"{text[: start.start()].rstrip()}\n\n{text[end.end() :].lstrip()}"
        return _after_all(text)


def separated(text: str) -> Separated:
    """Separate the answer in a model's text from the reasoning at its beginning. Reasoning without an end leaves an empty answer.

    Several thoughts may follow one another. In a text that begins with reasoning, later thoughts in the same marks are left out, too. Reasoning in tags
    on lines of their own can come after words, of which a few such as "Sure!" are left out with it. Special tokens and tags around the answer are
    removed. Any other text stays as it is, also if it names such marks in code or within its sentences.

    Examples
    --------
    >>> separated("<think>One or two?</think>\\n\\nTwo.").answer
    'Two.'
    >>> separated("The tag `<think>` begins a thought, and `</think>` ends it.").reasoned
    False
    """
    read = Separated(text)
    # What is in a frame can have another one.
    while (inner := _read_once(read.answer)).answer != read.answer:
        read = Separated(inner.answer, read.reasoned or inner.reasoned, read.unopened or (inner.unopened and not read.reasoned))
    return read


def _read_once(text: str) -> Separated:
    block = unfenced(text)
    if block != text.strip(_BLANKS) and _begun(block):
        inner = separated(block)
        if inner.answer and inner.reasoned:
            return inner
    rest, reasoned, unopened = _without_last_tokens(text), False, False
    marks = dict[str, _Marks]()
    for _ in range(_MOST_THOUGHTS):
        rest = rest.lstrip(_BLANKS)
        if begun := _begun(rest):
            found, start = begun
            marks[found.opening.pattern] = found
            closed = found.end(rest, start)
            rest = rest[closed.end() :] if closed else ""
        elif first := _FIRST_TOKENS.match(rest):
            rest = rest[first.end() :]
            continue
        elif (later := _without_late(rest)) is not None:
            rest = later
        elif end := _unopened_end(rest):
            unopened = unopened or (not reasoned and bool(rest[: end.start()].strip()))
            rest = rest[end.end() :]
        else:
            break
        reasoned = True
    else:
        rest = _after_all(rest)
    for later_marks in marks.values():
        rest = later_marks.left_out(rest)
    answer = _unwrapped(rest, reasoned)
    return Separated(answer, reasoned, unopened) if reasoned or (answer and answer != text.strip(_BLANKS).strip()) else Separated(text)


def _without_late(text: str) -> str | None:
    """Return a text without reasoning in tags that begins a line after other words, or None without any.

    Tags on one line after a colon are an example, and those before a blank or a comma are words of a sentence.
    """
    starts = (found for pattern in _LATE for found in itertools.islice(_outside_code(pattern, text), 1))
    for found in starts:
        begun = _begun(text, found.end())
        assert begun
        words, (marks, start) = text[: found.start()].strip(), begun
        end, few = marks.end(text, start), found.start() <= _FEW_WORDS
        if end is None:
            alone = _on_own_line(text, found.end(), start)
            return None if _ends_word(text, start) else "" if few else words if alone else None
        after, one_line = text[end.end() :].strip(), "\n" not in text[start : end.start()]
        if one_line and (words.endswith(":") or _ends_word(text, end.end())):
            return None
        return (after or words) if few else f"{words}\n\n{after}".strip()
    return None


def _on_own_line(text: str, start: int, end: int) -> bool:
    before, after = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    return not (text[before:start] + text[end : after if after >= 0 else None]).strip()


def _after_all(text: str) -> str:
    """Return the text after the last mark of a text with too many of them."""
    ends = [found.end() for found in (*_UNOPENED.finditer(text), *_FAMILY.finditer(text))]
    return text[max(ends, default=0) :]


def _is_word(text: str, mark: re.Match[str]) -> bool:
    return bool(_MENTION.search(text[max(0, mark.start() - 2) : mark.start()])) and (
        _ends_word(text, mark.end()) or mark.end() == len(text)
    )


def _ends_word(text: str, place: int) -> bool:
    return text[place : place + 1] in tuple(" \t.,;:)")


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


def has_reasoning(message: Mapping[str, Any]) -> bool:
    """Return True if a message has reasoning in a separate field or part."""
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


def unfenced(text: str) -> str:
    """Return the content of a reply that is one block of code of any kind, also an unclosed one, or else the reply without blanks around it.

    Examples
    --------
    >>> unfenced("```javascript\\n7\\n```"), unfenced("Yes: ```7```")
    ('7', 'Yes: ```7```')
    """
    text = text.strip(_BLANKS)
    if not (start := _FENCE.match(text)):
        return text
    inner = _FENCE_END.sub("", text[start.end() :]).strip(_BLANKS)
    return text if re.search(rf"^\s*{start[1]}", inner, re.MULTILINE) else inner


def json_reply(text: str) -> Mapping[str, Any] | None:
    """Return a reply that is one JSON object, also in a block of code and after reasoning, or None for any other.

    An object with a repeated key or with NaN is refused.
    """
    value = _json(unfenced(separated(text).answer))
    return value if isinstance(value, dict) else None


def _json(text: str) -> Any:
    try:
        return json_value(text)
    except ValueError:
        return None


def _begun(text: str, start: int = 0) -> tuple[_Marks, int] | None:
    """Return the marks of the reasoning that a text begins with at a place, and where the first of them ends."""
    for number, (opening, closing) in enumerate(_OPENINGS):
        if match := opening.match(text, start):
            name = re.escape(match[1]) if opening.groups else ""
            named = opening.pattern.replace(_NAME, name) if name else opening.pattern
            marks = _Marks(re.compile(named, re.IGNORECASE), re.compile(closing.replace("{}", name), re.IGNORECASE), number == 0)
            return marks, match.end()
    return None


def _unopened_end(text: str) -> re.Match[str] | None:
    """Return the end of reasoning whose beginning is not in the text, outside of code and of JSON."""
    found = [*_UNOPENED.finditer(text)]
    code = TextCode(text) if found else None
    # The last one: reasoning can name the marks of its end.
    ends = (end for end in reversed(found[-_MOST_THOUGHTS:]) if code and not code.hides(end))
    end = next((end for end in ends if not _tells_of(text, end)), None)
    return None if end is None or isinstance(_json(_unwrapped(text, False)), dict) else end


def _tells_of(text: str, end: re.Match[str]) -> bool:
    """Return True if the end of reasoning is a word in a text that only tells of such marks, as does their beginning before it."""
    name = next((group for group in end.groups() if group), "")
    if not name or _on_own_line(text, *end.span()):
        return False
    # A mark in quotation marks, or before a comma or the like, is a word in a sentence.
    quoted = text[: end.start()].endswith(_QUOTES) and text.startswith(_QUOTES, end.end())
    if quoted or _AFTER_WORD.match(text, end.end()):
        return True
    return any(_outside_code(re.compile(rf"[<\[◁_|]{re.escape(name)}\b", re.IGNORECASE), text[: end.start()]))


def _outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    found = pattern.search(text)
    code = TextCode(text) if found else None
    return (match for match in pattern.finditer(text) if code and code.around(match) is None)


def _without_last_tokens(text: str) -> str:
    text = text.rstrip()
    while found := _LAST_TOKEN.search(text, max(0, len(text) - _LONGEST_TOKEN)):
        if found[0].strip() == "</s>" and "<s>" in text:
            break
        text = text[: found.start()]
    return text


def _unwrapped(text: str, reasoned: bool) -> str:
    """Return an answer without the tokens and tags around it, unless it has nothing else."""
    bare = _BOX.sub(r"\1", _without_last_tokens(_FIRST_TOKENS.sub("", text)))
    wrapped = _ANSWER.fullmatch(bare)
    inner = wrapped["text"] if wrapped and (reasoned or wrapped["end"]) else bare
    return inner.strip() if reasoned or inner.strip() else text.strip()


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
