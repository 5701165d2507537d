"""Documents on which chunkers go wrong. Their ids name the cases, and the random ones come from a fixed seed."""

import random

from workbench.records import Document

SNIPPETS = (
    *("The mitochondrion is the powerhouse. ", "Why? ", "Unbelievable antidisestablishmentarianism! ", "e.g. 3.14 km", "a-b-c/d_e "),
    *("x" * 150, "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "   ", "\x0c", "\x00", "\u200b", "\u2028", "\u00a0"),
    *("😀👩‍👩‍👧 ", "e\u0301a\u0308 ", "日本語のテキスト。次の文。", "\u0301", "مرحبا بالعالم "),
    *(
        "# Heading\n",
        "## Part two\n\n",
        "Title\n=====\n",
        "- item one\n- item two\n",
        "1. first\n\n   more\n",
        "- \n",
        "> quoted\n> twice\n",
    ),
    *(
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```py\ncode = 1\n\nmore()\n```\n",
        "    indented code\n",
        "[link]: http://x.org\n",
        "---\n",
        "<div>\n",
    ),
)
_TITLES = ("", "Heading", "A title: with words")
_PROSE = "Boats wait for the tide. The pilot boards at noon! Who pays?\n\nThe harbour office pays, and sends a receipt.\n\n"

BLANK_DOCUMENTS = (Document("empty", "", "title"), Document("blank", " \r\n\t\n\u2003", "title"))
LONG_DOCUMENTS = (
    Document("20,000 letters", "x" * 20_000),
    Document("10,000 ideographs", "日" * 10_000),
    Document("20,000 blanks", " \n" * 10_000 + "x"),
)


def _joined(number: int) -> Document:
    chosen = random.Random(number)
    return Document(f"mixed {number}", "".join(chosen.choices(SNIPPETS, k=chosen.randint(2, 40))), chosen.choice(_TITLES))


DOCUMENTS = (
    Document("one character", "x"),
    Document("one character with a title", "日", "A title: with words"),
    Document("one sentence", "The ferry leaves at seven.", "Ferries"),
    Document("prose", _PROSE * 6, "Heading"),
    Document("repeated text", "The same words again.\n\n" * 30),
    Document("one long word", "antidisestablishmentarianism" * 40),
    Document("surrounded by blanks", f"\n\n  \t{_PROSE}\r\n \n\n"),
    Document(
        "Markdown",
        "# Harbour\n\nIntroduction.\n\n## Fees\n\n- berth\n- crane\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Hours\n\nDaily.\n" * 3,
        "Port",
    ),
    Document("Windows line ends", _PROSE.replace("\n", "\r\n") * 3),
    Document("other scripts", "日本語のテキスト。次の文。 مرحبا بالعالم 😀👩‍👩‍👧 e\u0301a\u0308 " * 8, "Größe"),
    Document("control characters", "a\x00b\x0cc\u2028d\u200be\u00a0f" * 10),
    *BLANK_DOCUMENTS,
    *map(_joined, range(12)),
)
