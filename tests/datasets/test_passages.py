import unicodedata

import pytest

from workbench.datasets.passages import PassageFinder, differences
from workbench.records import Document

TRAVEL = "# Travel\n\nThe firm pays for a taxi after ten at night.\n\nTrains are booked in second class — “always”. Un café."
DOCUMENTS = (Document("travel", TRAVEL), Document("leave", "Everybody has thirty days of leave."))


@pytest.mark.parametrize(
    ("text", "doc_id", "expected"),
    [
        ("thirty days", "travel", "it is in document 'leave' at [14, 25)"),
        ("the FIRM pays", None, "'The firm pays' in document 'travel' at [10, 23) differs only in upper and lower case"),
        (
            'class - "always"',
            None,
            "'class — “always”' in document 'travel' at [84, 100) differs only in quotation marks, apostrophes or dashes",
        ),
        (
            "trains  are\nbooked",
            None,
            "'Trains are booked' in document 'travel' at [56, 73) differs only in white space and upper and lower case",
        ),
        (
            unicodedata.normalize("NFD", "Un café"),
            None,
            "'Un café' in document 'travel' at [102, 109) differs only in Unicode form (NFC or NFD)",
        ),
        (
            "The firm pays for a taxi after eleven at night.",
            None,
            "the nearest passage is in document 'travel' at [10, 54): 'The firm pays for a taxi after ten at night.'",
        ),
        (
            "Everybody gets thirty days of leave.",
            "leave",
            "the nearest passage is in document 'leave' at [0, 35): 'Everybody has thirty days of leave.'",
        ),
        ("Penguins eat krill.", None, ""),
        (" ", None, ""),
        ("x" * 3000, None, ""),
    ],
)
def test_a_text_is_described_by_the_passage_that_is_most_like_it(text: str, doc_id: str | None, expected: str) -> None:
    assert PassageFinder(DOCUMENTS).describe(text, doc_id) == expected


def test_only_the_forms_that_matter_are_named() -> None:
    assert differences("a - B", "A  – b") == ["white space", "upper and lower case", "quotation marks, apostrophes or dashes"]
    assert differences("a", "a") == []


def test_a_search_of_much_text_ends() -> None:
    large = PassageFinder((Document("large", "word " * 2_500_000),))
    assert large.describe("The firm pays.") == ""
    many = PassageFinder((Document("d", "Ada wrote it. " * 100_000),))
    said = [many.describe(f"Ada wrote all {number}.") for number in range(100)]
    assert said[0].startswith("the nearest passage is in document 'd'")
    assert said[-1] == ""
