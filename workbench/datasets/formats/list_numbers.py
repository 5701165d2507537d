"""Numbers of list items as digits, letters and Roman numerals."""

_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}
_MOST_ROMAN, _LETTERS = 3_999, 26
# Office repeats a letter, so that a list cannot become longer than a few times its items.
_MOST_REPEATED = 30


def list_number(number: int, form: str, repeated: bool = False) -> str:
    """Return a number in a form of HTML's lists: `1`, `a`, `A`, `i` or `I`. In another form, and if a form has no such number, it has digits.

    After z come aa and ab, or aa and bb if letters are `repeated`, as in Word and PowerPoint.
    """
    text = str(number)
    if form in ("a", "A") and number > 0 and not (repeated and number > _MOST_REPEATED * _LETTERS):
        text = _repeated(number) if repeated else _counted(number)
    elif form in ("i", "I") and 0 < number <= _MOST_ROMAN:
        text = _roman(number)
    return text.upper() if form in ("A", "I") else text


def _repeated(number: int) -> str:
    times, letter = divmod(number - 1, _LETTERS)
    return chr(ord("a") + letter) * (times + 1)


def _counted(number: int) -> str:
    letters = ""
    while number:
        number, letter = divmod(number - 1, _LETTERS)
        letters = chr(ord("a") + letter) + letters
    return letters


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN.items():
        times, number = divmod(number, value)
        text += letters * times
    return text
