import unicodedata

from workbench.core.records import Document
from workbench.data.passages import PassageFinder, differences

TRAVEL = "# Travel\n\nThe firm pays for a taxi after ten at night.\n\nTrains are booked in second class — “always”. Un café."
DOCUMENTS = (Document("travel", TRAVEL), Document("leave", "Everybody has thirty days of leave."))


def test_a_text_is_described_by_the_passage_that_is_most_like_it(wording) -> None:
    finder = PassageFinder(DOCUMENTS)
    wording(
        lambda case: finder.describe(*case),
        [
            ("thirty days", "travel"),
            ("the FIRM pays", None),
            ('class - "always"', None),
            ("trains  are\nbooked", None),
            (unicodedata.normalize("NFD", "Un café"), None),
            ("The firm pays for a taxi after eleven at night.", None),
            ("Everybody gets thirty days of leave.", "leave"),
            ("Penguins eat krill.", None),
            (" ", None),
            ("x" * 3000, None),
        ],
        None,
    )


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
