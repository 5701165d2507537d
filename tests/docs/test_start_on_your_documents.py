"""The page on one's own documents, followed from its files to the experiment that it shows."""

import pytest

from tests.docs.conftest import DOCS, ROOT
from tests.docs.lesson import checkout, lesson_blocks
from workbench.conversion.registry import BY_SUFFIX
from workbench.datasets.sources import GoldenSource

PAGE = DOCS / "how-to" / "start_on_your_documents.md"


@pytest.mark.slow
def test_the_page_leads_from_its_files_to_an_experiment(tmp_path):
    reader = checkout(tmp_path, ROOT)
    # A checkout has the experiments of the repository, in which nothing is written.
    (tmp_path / "experiments").unlink()
    reader.follow([block for block in lesson_blocks(PAGE.read_text("utf-8")) if block.language != "console"])
    questions = GoldenSource(path=str(tmp_path / "experiments" / "guide")).load().queries
    assert "How long can members borrow a cargo bike?" in {query.text for query in questions}


def test_the_page_lists_every_format():
    text = PAGE.read_text("utf-8")
    assert all(f"`{suffix}`" in text for suffix in BY_SUFFIX)
