"""Raised, lowered and struck text on a line: 10⁻³, x^max, ~~100~~."""

import re
from collections.abc import Sequence

SUPERSCRIPTS = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
SUBSCRIPTS = str.maketrans("0123456789+-−=()aeijkmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑᵢⱼₖₘₙₒₚᵣₛₜᵤᵥₓ")
# A raised number after a number or a unit, as in m².
_NUMBER = re.compile(r"[+−-]?\d+")
_EXPONENT = re.compile(r"(?=.*[^\W_])[\w+−*/.,()= -]+")
# Raised ends of ordinals, abbreviations and trademarks, which are no exponents: 2nd, 1er, Mme.
_ENDS = re.compile("st|nd|rd|th|er|re|ère|i?ème|eme|nde|os|as|te|me|mme|lles?|tm|sm|mc")
# Such ends after a number or a Roman numeral only: 3e, XIXe, 1º.
_NUMBER_ENDS = ("a", "e", "o")


def grouped(text: str) -> str:
    """Return a text in brackets, unless it is one number or name, or has brackets around it already."""
    whole = text.replace(".", "").replace(",", "").isalnum() or len(text) <= 1 or (text[0] + text[-1] == "()" and text.count("(") == 1)
    return text if whole else f"({text})"


def script(text: str, mark: str, letters: dict[int, int]) -> str:
    """Return a text in small `letters`, or behind the mark if some of it has none."""
    if not text:
        return ""
    return text.translate(letters) if all(ord(letter) in letters for letter in text) else f"{mark}{grouped(text)}"


def raised(text: str, before: str) -> str:
    """Return text that is raised behind the text `before`, so that 10 with a raised 6 does not become 106. Ordinals (2nd) and marks stay."""
    inside = text.strip()
    if _NUMBER.fullmatch(inside):
        return inside.translate(SUPERSCRIPTS)
    if not before or not (before[-1].isalnum() or before[-1] in ")]}") or not _EXPONENT.fullmatch(inside):
        return text
    if _ENDS.fullmatch(inside.lower()) or (inside.lower() in _NUMBER_ENDS and (before[-1].isdecimal() or before[-1] in "IVXLC")):
        return text
    return script(inside, "^", SUPERSCRIPTS)


def lowered(text: str, before: str) -> str:
    """Return text that is lowered behind the text `before`: 10₂ is not 102. Behind letters it stays, as in H2O."""
    inside = text.strip()
    return inside.translate(SUBSCRIPTS) if before[-1:].isdecimal() and inside.isdecimal() else text


def struck(texts: Sequence[str]) -> list[str]:
    """Return the nonblank texts of a line with the marks of Markdown around all of them, inside of the blanks around them."""
    marked = list(texts)
    if marked:
        last = marked[-1].rstrip()
        marked[-1] = f"{last}~~{marked[-1][len(last) :]}"
        first = marked[0].lstrip()
        marked[0] = f"{marked[0][: len(marked[0]) - len(first)]}~~{first}"
    return marked
