"""README.md and docs/tutorial.md, followed from the first block to the last in a fresh folder."""

import pytest

from tests.docs.conftest import README, ROOT, TUTORIAL
from tests.docs.lesson import check_printed, checkout, lesson_blocks


@pytest.mark.slow
def test_the_readme_leads_from_its_own_files_to_a_report(tmp_path):
    # The tutorial's test runs the quickstart; `make test` runs this one.
    blocks = [block for block in lesson_blocks(README.read_text("utf-8")) if not block.text.startswith("make ")]
    reader = checkout(tmp_path, ROOT)
    reader.follow(blocks)
    assert not any("handbook" in block.text or "quickstart" in block.text for block in blocks)
    assert (tmp_path / "outputs" / "mine" / "report.html").is_file()


@pytest.mark.slow
def test_the_tutorial_leads_from_the_quickstart_to_an_exported_configuration(tmp_path):
    checkout(tmp_path, ROOT).follow(lesson_blocks(TUTORIAL.read_text("utf-8")))
    assert (tmp_path / "outputs" / "quickstart" / "report.html").is_file()
    assert (tmp_path / "outputs" / "bees" / "report.html").is_file()


@pytest.mark.parametrize("printed", ["a 0.90 b 3 s\n", "a  0.89\nb 12 files\n"])
def test_printed_text_may_differ_in_blanks_in_the_last_digits_and_where_the_page_leaves_out(printed):
    check_printed(printed, "a 0.90\nb …\n")


@pytest.mark.parametrize("printed", ["a 0.80 b", "a 0.90 b c", "0.90 b", "a x b"])
def test_other_printed_text_is_an_error(printed):
    with pytest.raises(AssertionError):
        check_printed(printed, "a 0.90\nb\n")
