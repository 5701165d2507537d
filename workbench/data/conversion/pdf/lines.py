"""The printed lines of a PDF's page, with their places and type, in the order of the page's content, the characters without text, and hyphens at line ends."""

import ctypes
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from math import isclose
from typing import Any

from workbench.data.conversion.equations import raised

# Marks a hyphen at the end of a line in a text. A soft hyphen inside of a line has another character by then.
LINE_END_HYPHEN = "\u00ad"
_DIVIDED = re.compile(rf"(?<![^\s{LINE_END_HYPHEN}])[^\s{LINE_END_HYPHEN}]*(?:{LINE_END_HYPHEN}[^\s{LINE_END_HYPHEN}]*)+")
_WORD = re.compile(r"[^\W\d_]+")
_COMPOUND = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)+")
_HYPHENS = ("-", "\u2010", "\u2011")
_LAST_LETTERS = re.compile(r"(?<!\w)[^\W\d_]+$")
_FIRST_LETTERS = re.compile(r"[^\W\d_]++(?![\d_])")
_ADDRESS = re.compile(r"[/\\@=]|www\.")
# Follow a suspended hyphen: "Ein- und Ausfuhr", "pre- and post-war".
_CONJUNCTIONS = "and or to und oder bzw sowie bis et ou y o e en of och eller og lub a ja tai"
# The first language is that of texts without any of the words.
_FUNCTION_WORDS = {
    "en": "the of and is to with",
    "de": "der die und ist nicht mit",
    "fr": "le les des est une dans",
    "es": "el los las una del por",
    "it": "il della che sono per gli",
    "nl": "het een van niet zijn voor",
    "pt": "os uma não dos para com",
    "pl": "w z na się jest do",
    "sv": "och att det är som för",
    "da": "og det er til af ikke",
    "cs": "je na se že které pro",
    "fi": "ja on ei että se oli",
    "hu": "az és hogy nem egy is",
    "ru": "и в на не что с",
}
# A text is also in a language with this share of the function words of its first one.
_SECOND_LANGUAGE = 0.33
# German nouns have capitals also inside of a compound, so that a hyphen before a small letter divides a word. Loans such as "Know-how" end shortly.
_GERMAN_NOUN, _LOANS = re.compile("[A-ZÄÖÜ][a-zäöüß]+"), 3


class LineEndHyphens:
    """Decide on the hyphens at line ends by the other words of a document, then by dictionaries of its languages.

    A hyphen is removed only between two small letters (the first word may begin with a capital) if the joined word is known: it occurs elsewhere, more
    often than with its hyphen, or is in a dictionary that does not have it with its hyphen too. Hyphens before digits and capitals, in addresses and in
    part numbers always stay, and so do those behind one letter ("X-ray") and between two words of a longer compound ("mother-in-law").
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words, self._compounds = Counter[str](), Counter[str]()
        for text in texts:
            whole = _DIVIDED.sub(" ", text) if LINE_END_HYPHEN in text else text
            self._words.update(word.casefold() for word in _WORD.findall(whole))
            for compound in _COMPOUND.findall(whole):
                parts = _WORD.findall(compound.casefold())
                self._compounds.update(f"{before}-{after}" for before, after in pairwise(parts))

    def resolved(self, text: str) -> str:
        """Return a text with each marked hyphen removed, or as a hyphen."""
        return _DIVIDED.sub(lambda found: self._whole(found[0]), text) if LINE_END_HYPHEN in text else text

    def _whole(self, token: str) -> str:
        whole, *parts = token.split(LINE_END_HYPHEN)
        for number, part in enumerate(parts):
            # A word of three lines is divided twice.
            rest = "".join(parts[number:])
            whole += ("-" if _ADDRESS.search(token) else self._between(whole, rest) and self._between(whole, part)) + part
        return whole

    def _between(self, before: str, after: str) -> str:
        left, right = _LAST_LETTERS.search(before), _FIRST_LETTERS.match(after)
        if not left or not right or not right[0][0].islower():
            return "-"
        joined = left[0] + right[0]
        closed, hyphenated = self._words[joined.casefold()], self._compounds[f"{left[0]}-{right[0]}".casefold()]
        if closed or hyphenated:
            return "" if closed > hyphenated else "-"
        compound = before[: left.start()].endswith(_HYPHENS) or after[right.end() :].startswith(_HYPHENS)
        if len(left[0]) == 1 or self._is_word(f"{left[0]}-{right[0]}") or (compound and self._is_word(left[0]) and self._is_word(right[0])):
            return "-"
        if self._is_word(joined):
            return ""
        if right[0] in _CONJUNCTIONS.split():
            return "- "
        german_noun = self._languages == ("de",) and _GERMAN_NOUN.fullmatch(left[0]) and len(right[0]) > _LOANS
        return "" if german_noun else "-"

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        found = {name: sum(self._words[word] for word in words.split()) for name, words in _FUNCTION_WORDS.items()}
        most = max(found.values())
        return tuple(name for name, times in found.items() if times >= _SECOND_LANGUAGE * most and times) or ("en",)

    def _is_word(self, word: str) -> bool:
        import simplemma

        # A capital begins a sentence, or is a German noun's.
        return any(simplemma.is_known(form, self._languages) for form in {word, word.lower()})


# Characters of a line whose size and weight are read.
_SAMPLED = 8
# What PDFium returns for a hyphen at the end of a line, and a character that is printed as a hyphen, or not at all.
_LINE_END_HYPHENS, _SOFT_HYPHEN = (0x02, 0xFFFE), 0xAD
# From this share on, characters that cannot be a text show that the codes of a font without a Unicode map are no letters.
_MOST_ODD = 0.02
_BOLD = 600
# Of a font's flags in a PDF; and names of fonts whose flags are wrong.
_FIXED_PITCH = 1
_FIXED_NAMES = ("mono", "courier", "consol", "menlo", "typewriter", "cmtt")
# A line with a gap of this many heights between two parts of this many characters may be a line of two columns.
_GAP, _PART = 1.5, 20
# Raised numbers, such as exponents and marks of notes, are smaller than the character before them, and stand above its baseline by these parts of it.
_SMALLER, _RAISED = 0.85, (0.15, 1.0)
_RAISABLE = frozenset(map(ord, "0123456789+-−,"))


@dataclass(frozen=True)
class PrintedLine:
    """A line of a page: its text, its height and the edges of its box, in points.

    `fixed` says that all of its characters are as wide, as those of code, `turned` that it is not horizontal, and `across` that it has a wide gap
    between two long parts, as lines of two columns that were written as one. `numbered` says that a wide gap sets apart a number at one of its ends.
    """

    text: str
    page: int
    height: float
    bottom: float
    bold: bool
    left: float = 0.0
    right: float = 0.0
    fixed: bool = False
    turned: bool = False
    across: bool = False
    numbered: bool = False

    @property
    def middle(self) -> float:
        """Return the height of its middle above the page's end."""
        return self.bottom + self.height / 2

    @property
    def size(self) -> float:
        """Return its height to half a point."""
        return round(self.height * 2) / 2


def body_height(lines: Iterable[PrintedLine]) -> float:
    """Return the height of most of a text, or 0 without one."""
    weights = Counter[float]()
    for line in lines:
        weights[line.size] += len(line.text)
    return weights.most_common(1)[0][0] if weights else 0.0


@dataclass(frozen=True)
class PrintedPage:
    """The lines of a page that are not blank, with its edges in points and counts of its characters.

    `unread` have no text: their font has no Unicode map, or maps them to no character. `unsure` have the text that their codes would be in ASCII.
    """

    lines: tuple[PrintedLine, ...]
    bottom: float
    top: float
    characters: int
    unread: int = 0
    unsure: int = 0


def printed_page(page: Any, number: int) -> PrintedPage:
    """Read the lines of a page in the order of its content."""
    from pypdfium2 import raw

    text = page.get_textpage()
    codes = [raw.FPDFText_GetUnicode(text.raw, index) for index in range(text.count_chars())]
    unmapped = [index for index in range(len(codes)) if raw.FPDFText_HasUnicodeMapError(text.raw, index) == 1]
    mapped = set(range(len(codes))).difference(unmapped)
    unread = [index for index in mapped if _is_no_character(codes[index])]
    odd = sum(_is_odd(text, index, codes[index]) for index in unmapped)
    if odd > _MOST_ODD * len(unmapped):
        unread += unmapped
    else:
        unread += [index for index in unmapped if codes[index] < 32]
    characters = sum(code > 32 for code in codes) + sum(codes[index] <= 32 for index in unread)
    for index in unread:
        codes[index] = 0
    unsure = sum(codes[index] > 32 for index in unmapped)
    _, bottom, _, top = page.get_bbox()
    return PrintedPage(tuple(_lines(text, codes, number)), bottom, top, characters, len(unread), unsure)


def _is_no_character(code: int) -> bool:
    return (code < 32 and code not in (*_LINE_END_HYPHENS, 9, 10, 13)) or code == 0xFFFD


def _is_odd(text: Any, index: int, code: int) -> bool:
    """Return True if a code without a Unicode map is no letter: numbers of glyphs begin with 1, and reach far in an embedded font."""
    from pypdfium2 import raw

    if code < 32 or 0x7F <= code < 0xA0:
        return True
    return code > 0xFF and raw.FPDFFont_GetIsEmbedded(raw.FPDFTextObj_GetFont(raw.FPDFText_GetTextObject(text.raw, index))) == 1


def _lines(text: Any, codes: Sequence[int], number: int) -> Iterator[PrintedLine]:
    start = 0
    for index in (*(index for index, code in enumerate(codes) if code in (10, 13)), len(codes)):
        inked = [position for position in range(start, index) if codes[position] > 32]
        if inked:
            yield _line(text, inked, _text(text, codes, range(start, index), _raised(text, codes, inked)), number)
        start = index + 1


def _line(text: Any, inked: Sequence[int], words: str, number: int) -> PrintedLine:
    from pypdfium2 import raw

    sample = inked[:: max(1, len(inked) // _SAMPLED)][:_SAMPLED]
    boxes = [_box(text, index) for index in sample]
    height = sorted(box.top - box.bottom for box in boxes)[len(boxes) // 2]
    return PrintedLine(
        words,
        number,
        height,
        boxes[0].bottom,
        bold=all(raw.FPDFText_GetFontWeight(text.raw, index) >= _BOLD for index in sample),
        left=boxes[0].left,
        right=_box(text, inked[-1]).right,
        fixed=all(_is_fixed(text, index) for index in sample),
        turned=not all(_is_upright(text, index) for index in sample),
        across=_is_across(text, inked, _GAP * height),
        numbered=_is_numbered(text, inked, words, _GAP * height),
    )


def _is_upright(text: Any, index: int) -> bool:
    from pypdfium2 import raw

    angle = raw.FPDFText_GetCharAngle(text.raw, index)
    # -1 means that the angle is not known. Slightly turned pages of scanners are upright.
    return angle < 0 or isclose(angle, 0, abs_tol=0.1) or angle > 6.18


def _is_fixed(text: Any, index: int) -> bool:
    from pypdfium2 import raw

    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    raw.FPDFText_GetFontInfo(text.raw, index, name, len(name), ctypes.byref(flags))
    known = name.value.decode("utf-8", "replace").lower()
    return bool(flags.value & _FIXED_PITCH) or any(fixed in known for fixed in _FIXED_NAMES)


def _is_across(text: Any, inked: Sequence[int], gap: float) -> bool:
    # Only words are looked at: a call for each character would take most of the time.
    apart = ((before, after) for before, after in pairwise(inked[_PART - 1 : 1 - _PART]) if after - before > 1)
    return any(_box(text, after).left - _box(text, before).right > gap for before, after in apart)


def _is_numbered(text: Any, inked: Sequence[int], words: str, gap: float) -> bool:
    if not (words[0].isdigit() or words[-1].isdigit()):
        return False
    apart = [(before, after) for before, after in pairwise(inked) if after - before > 1]
    ends = (*(apart[:1] if words[0].isdigit() else ()), *(apart[-1:] if words[-1].isdigit() else ()))
    return any(_box(text, after).left - _box(text, before).right > gap for before, after in ends)


def _box(text: Any, index: int) -> Any:
    """Return the box of a character, `left`, `bottom`, `right` and `top`, which is as high as its font."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text.raw, index, ctypes.byref(box))
    return box


def _raised(text: Any, codes: Sequence[int], inked: Sequence[int]) -> frozenset[int]:
    """Return the places of raised digits, signs and commas in a line: behind another character, or at its beginning."""
    found = set[int]()
    # A mark at the beginning, as of a note, is compared with the text behind it.
    other = next((index for index in inked if codes[index] not in _RAISABLE), inked[0])
    before = inked[0] - 1
    for index in inked:
        if codes[index] in _RAISABLE and index == before + 1 and _is_raised(text, index, other):
            found.add(index)
        else:
            other = index
        before = index
    return frozenset(found)


def _is_raised(text: Any, place: int, other: int) -> bool:
    rise = _baseline(text, place) - _baseline(text, other)
    if rise < 0.1:
        return False
    own, box = _box(text, place), _box(text, other)
    height = box.top - box.bottom
    smaller = own.top - own.bottom <= _SMALLER * height
    return smaller and _RAISED[0] * height <= rise <= _RAISED[1] * height and _is_upright(text, place)


def _baseline(text: Any, index: int) -> float:
    from pypdfium2 import raw

    left, baseline = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text.raw, index, ctypes.byref(left), ctypes.byref(baseline))
    return baseline.value


def _text(text: Any, codes: Sequence[int], places: Iterable[int], high: Collection[int]) -> str:
    letters = ""
    for is_high, group in groupby(places, high.__contains__):
        part = "".join(_letter(text, index, codes[index]) for index in group if codes[index])
        letters += ",".join(raised(mark, "") for mark in part.split(",")) if is_high else part
    # Characters beyond the first plane come in two halves.
    return letters.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def _letter(text: Any, place: int, code: int) -> str:
    if code in _LINE_END_HYPHENS:
        return LINE_END_HYPHEN
    if code == _SOFT_HYPHEN:
        # Many fonts call their hyphen so. A browser's soft hyphen inside of a line has no width.
        left, right, *_ = text.get_charbox(place)
        return "-" if right > left else ""
    return chr(code)
