"""Format numbers and names for people, with fixed digits, thousands separators and a dash for a missing number."""

import difflib
import itertools
import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from shutil import get_terminal_size

NONE = "–"
# Between the columns of a table in a terminal, and the widths to which columns of words and of names can shrink.
_GAP, _NARROW, _NARROW_NAME = "  ", 14, 24
# Half a surrogate pair is a character that UTF-8 cannot encode.
_LONE = re.compile("[\ud800-\udfff]")


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with `digits` digits after the point."""
    # `z` drops the sign of a number that rounds to zero.
    return NONE if value is None or math.isnan(value) else f"{value:z,.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """Format a difference with its sign."""
    text = number(value, digits)
    return f"+{text}" if value and value > 0 and text.strip("0.,") else text


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Format an interval in brackets."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return "[no interval]"
    return f"[{number(low, digits)}, {number(high, digits)}]"


def count(value: float | None) -> str:
    """Format a whole number with thousands separators."""
    return number(value, 0)


def share(part: float, whole: float) -> str:
    """Format a part of a whole in per cent, or as a dash if the whole is 0."""
    if not whole:
        return NONE
    # Means of ones and zeros have errors of rounding.
    per_cent = round(100 * part / whole, 9)
    # 0 % and 100 % mean exactly none and all.
    if 0 < per_cent < 0.1 or 99.9 < per_cent < 100:
        return "<0.1 %" if per_cent < 1 else ">99.9 %"
    return f"{per_cent:.1f} %"


def plural(how_many: int, noun: str, several: str = "") -> str:
    """Format a number with its noun in the singular or plural."""
    return f"{count(how_many)} {noun if how_many == 1 else several or noun + 's'}"


def ordinal(value: int) -> str:
    """Format a place in English: 1st, 2nd, 11th."""
    return f"{value}{'th' if value % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def setting(value: object) -> str:
    """Format the value of a setting: `{"tokens": 2000}` as `2,000 tokens`, settings by name as `dense (kind dense, k 10), bm25 (kind bm25)`."""
    return ", ".join(_named_setting(str(name), part) for name, part in value.items()) if isinstance(value, Mapping) else str(value)


def _named_setting(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return f"{name} ({', '.join(f'{field} {setting(part)}' for field, part in value.items() if part is not None)})"
    return f"{value:,} {name}" if isinstance(value, int | float) else f"{name} {value}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """List names in a sentence. Those beyond `most` are only counted."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def capitalised(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def p_value(value: float) -> str:
    """Format a p value, such as `p = 0.012`. Corrected values end at 1, so large ones are shown as `p > 0.99`."""
    if math.isnan(value):
        return "no p"
    return "p < 0.001" if value < 0.001 else "p > 0.99" if value > 0.99 else f"p = {value:.3f}"


def approximate(value: float) -> str:
    """Format an estimate of a whole number with three significant digits."""
    return count(rounded(value))


def rounded(value: float) -> int:
    """Round an estimate of a whole number to three significant digits."""
    return round(float(f"{value:.3g}"))


def amount(value: float) -> str:
    """Format a measured amount with no decimals from 100, one from 0.1 and two below."""
    return number(value, 0 if value >= 100 or value == 0 else 1 if value >= 0.1 else 2)


def two_digits(value: float) -> float:
    """Round a measured time to two significant digits."""
    return float(f"{value:.2g}")


def spread(low: float, high: float) -> str:
    """Format the range of a measured amount with two significant digits, such as `15 to 31`, or one number if both ends look equal."""
    ends = [number(rounded, max(0, 1 - math.floor(math.log10(rounded))) if rounded > 0 else 0) for rounded in map(two_digits, (low, high))]
    return " to ".join(dict.fromkeys(ends))


def fitting_digits(values: Iterable[float]) -> int:
    """Return two digits, or three if two different values would otherwise look equal."""
    known = {round(float(value), 3) for value in values if math.isfinite(value)}
    return 2 if len({number(value, 2) for value in known}) == len({number(value, 3) for value in known}) else 3


def shortened(names: Iterable[str], most: int = 28) -> dict[str, str]:
    """Shorten names to `most` characters by cutting their middle, or their end if it tells them apart, or else number them."""
    distinct = list(dict.fromkeys(names))
    for cut in (middle_cut, _end_cut):
        short = {name: cut(name, most) for name in distinct}
        if len(set(short.values())) == len(distinct):
            return short
    return {
        name: name if short[name] == name else f"{place}: {middle_cut(name, most - len(f'{place}: '))}"
        for place, name in enumerate(distinct, 1)
    }


# Names that no file has on Windows, also before a suffix.
RESERVED = r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)"


def name_pattern(most: int) -> str:
    """Return the regular expression of names of at most `most` characters that can be names of files on every system."""
    return rf"(?!{RESERVED})[a-z0-9](?:[a-z0-9._-]{{0,{most - 2}}}[a-z0-9_-])?"


def plain_name(name: object, most: int) -> str:
    """Return a name like the given one of lower-case letters, digits, ".", "_" and "-", at most `most`. It can be empty."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", str(name).lower())[:most].strip("._-")
    return plain if not re.match(RESERVED, plain) else f"my-{plain}"[:most].rstrip(".")


def name_fault(name: object, most: int) -> str:
    """Describe the fault of an invalid name, with a valid one."""
    text = str(name)
    length = f"{len(text)} characters long, and a name has at most {most}" if len(text) > most else ""
    fault = "" if length and re.fullmatch(r"[a-z0-9][a-z0-9._-]*", text) else "not lower-case letters, digits, '.', '_' or '-'"
    if re.match(RESERVED, text) or re.fullmatch(r"[a-z0-9][a-z0-9._-]*\.", text):
        fault = "a name that no file has on Windows"
    return f"{' and '.join(filter(None, (fault, length)))}; write for example {plain_name(name, most) or 'current'!r}"


def aligned(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Align rows of cells as lines, with numeric columns (by their last cell) to the right and others to the left.

    The lines have at most `width` characters, by default those of the terminal (80 if it is not known): cells with spaces are wrapped, names are
    cut in their middle, and a key below has the whole names. Numbers are never cut.
    """
    columns = [*zip(*rows, strict=True)]
    right = [column[-1].replace(",", "").replace(".", "").isdigit() for column in columns]
    limit = width or get_terminal_size().columns
    widths = _widths(columns, right, limit)
    short = [_short_names(() if number else column[1:], most) for column, most, number in zip(columns, widths, right, strict=True)]
    lines = []
    for row in rows:
        wrapped = [_wrapped(names.get(cell, cell), most) for cell, names, most in zip(row, short, widths, strict=True)]
        for part in itertools.zip_longest(*wrapped, fillvalue=""):
            cells = [cell.rjust(most) if number else cell.ljust(most) for cell, most, number in zip(part, widths, right, strict=True)]
            lines.append(_GAP.join(cells).rstrip())
    for name, shown in dict.fromkeys(itertools.chain(*(names.items() for names in short))):
        lines += [f"{shown}:", *(f"  {name[start : start + limit - 2]}" for start in range(0, len(name), limit - 2))]
    return lines


def _widths(columns: Sequence[Sequence[str]], right: Sequence[bool], limit: int) -> list[int]:
    """Return the widths of columns. Until the rows fit, the last one of words shrinks, then the widest, each to its numbers or to a few words."""
    widths, least = [max(map(len, column)) for column in columns], []
    for (title, *cells), number in zip(columns, right, strict=True):
        names = [cell for cell in cells if " " not in cell]
        words = [word for cell in cells if " " in cell for word in cell.split()]
        few = max(map(len, [_NARROW * " ", *words, *(name[:_NARROW_NAME] for name in names)]))
        least.append(max(map(len, [*title.split(), *cells])) if number else few)
    while sum(widths) + len(_GAP) * (len(widths) - 1) > limit:
        able = [place for place, (wide, few) in enumerate(zip(widths, least, strict=True)) if wide > few]
        if not able:
            break
        last = len(widths) - 1
        widths[last if last in able and not right[last] else max(able, key=widths.__getitem__)] -= 1
    return widths


def _short_names(cells: Iterable[str], most: int) -> dict[str, str]:
    """Map the names among cells that are wider than their column to short ones. A cell with spaces is no name."""
    short = shortened((cell for cell in cells if " " not in cell), most)
    return {name: shown for name, shown in short.items() if shown != name}


def _wrapped(cell: str, most: int) -> list[str]:
    return textwrap.wrap(cell, most, break_on_hyphens=False) if len(cell) > most else [cell]


def nearest_word(word: str, known: Iterable[str], likeness: float = 0.65) -> str | None:
    """Find the known word most similar to `word`, whatever its case, or None if no similarity reaches `likeness` (0 to 1).

    At 0.65, 95 % of names with two wrong letters are found, and 1 % of other words are taken for a misspelt name (by the ratio of `difflib`,
    on names of components, metrics, documents and configurations).
    """
    plain = {same_letters(name): name for name in reversed(list(known))}
    close = difflib.get_close_matches(same_letters(word), plain, n=1, cutoff=likeness)
    return plain[close[0]] if close else None


def same_letters(word: str) -> str:
    """Return a word for comparison: in lower case and in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", word).casefold()


def encodable(text: str) -> str:
    """Replace characters that UTF-8 cannot encode by U+FFFD."""
    return text if text.isascii() else _LONE.sub("\ufffd", text)


def in_words(name: str) -> str:
    """Return a name of the code, such as that of a stage, as words: `chunk_faults` is `chunk faults`."""
    return name.replace("_", " ")


def _longer(name: str, known: Iterable[str]) -> str | None:
    """Find the known name with the fewest parts that has all parts of a name in their order, as `fixed-256-0-torch` those of `fixed-256-0`."""
    parts = name.split("-")

    def has_all(other: str) -> bool:
        rest = iter(other.split("-"))
        return all(part in rest for part in parts)

    return min((other for other in known if has_all(other)), key=lambda other: other.count("-"), default=None) if len(parts) > 1 else None


def meant(word: str, known: Iterable[str]) -> str:
    """Suggest the nearest known word, or one that is a part of `word` (`k` of `top_k`) or has it as a part, in brackets, or return an empty text."""
    names = list(known)
    close = (
        _longer(word, names)
        or nearest_word(word, names)
        or next((part for part in reversed(word.lower().split("_")) if part in names), None)
    )
    if close is None and len(word) > 3:
        close = next((name for name in names if same_letters(word) in same_letters(name)), None)
    return f" (did you mean {close!r}?)" if close else ""


def middle_cut(text: str, most: int) -> str:
    """Cut the middle of a text of more than `most` characters. A message often begins with the place and ends with the reason."""
    tail = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - tail]}…{text[-tail:]}"


def _end_cut(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
