"""README.md and docs/tutorial.md, followed from the first block to the last in a fresh folder."""

import pytest

from tests.docs.conftest import README, TUTORIAL
from tests.docs.lesson import Reader, check_printed, checkout, lesson_blocks

RANKING = """
…
name    recall  95 % interval
first    0.897  [0.800, 0.900]  =
second   0.891  [0.800, 0.900]  =
third    0.852  [0.800, 0.900]
…
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """A reader in a checkout, whose quickstart runs once: the second page that begins with it repeats it, and its results are stored."""
    return checkout(tmp_path_factory.mktemp("checkout"))


@pytest.mark.slow
def test_the_readme_leads_from_the_quickstart_to_a_report_on_its_own_files(reader):
    # `make test` runs this test.
    reader.follow([block for block in lesson_blocks(README.read_text("utf-8")) if block.text != "make test\n"])
    for name in ("quickstart", "mine"):
        assert (reader.folder / "outputs" / name / "report.html").is_file()


@pytest.mark.slow
def test_the_tutorial_leads_from_the_quickstart_to_an_exported_configuration(reader):
    reader.follow(lesson_blocks(TUTORIAL.read_text("utf-8")))
    for name in ("quickstart", "bees"):
        assert (reader.folder / "outputs" / name / "report.html").is_file()


@pytest.mark.parametrize("printed", ["a 0.90 b 3 s\n", "a  0.89\nb 12 files\n"])
def test_printed_text_may_differ_in_blanks_in_the_last_digits_and_where_the_page_leaves_out(printed):
    check_printed(printed, "a 0.90\nb …\n")


@pytest.mark.parametrize("printed", ["a 0.88 b", "a 0.90 b c", "0.90 b", "a x b"])
def test_other_printed_text_is_an_error(printed):
    with pytest.raises(AssertionError):
        check_printed(printed, "a 0.90\nb\n")


def test_a_long_text_that_differs_is_found_in_time():
    with pytest.raises(AssertionError):
        check_printed("a b c d e\n" * 1_000, "… a … b … c … d … e … f")


HEAD, FIRST, SECOND, THIRD = "name recall 95 % interval", "first 0.897 [0.8, 0.9] =", "second 0.891 [0.8, 0.9] =", "third 0.852 [0.8, 0.9]"
BETTER_SECOND, NOT_SHOWN = "second 0.899 [0.8, 0.9] =", "other 0.860 [0.8, 0.9]"


@pytest.mark.parametrize("rows", [(FIRST, SECOND, THIRD), (BETTER_SECOND, FIRST, THIRD), (FIRST, SECOND, NOT_SHOWN, THIRD)])
def test_rows_with_close_values_may_change_places(rows):
    check_printed("\n".join([HEAD, *rows, "end"]), RANKING)


@pytest.mark.parametrize(
    "rows",
    [
        (SECOND, FIRST, THIRD),
        (FIRST, THIRD, SECOND),
        (FIRST, SECOND),
        (FIRST, NOT_SHOWN, SECOND, THIRD),
        (BETTER_SECOND.replace("=", ""), FIRST, THIRD),
        ("other 0.908 [0.8, 0.9]", FIRST, SECOND, THIRD),
    ],
)
def test_rows_that_are_not_sorted_or_marked_or_close_are_an_error(rows):
    with pytest.raises(AssertionError):
        check_printed("\n".join([HEAD, *rows, "end"]), RANKING)
