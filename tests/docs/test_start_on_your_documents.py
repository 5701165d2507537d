"""The page on one's own documents, followed from its files to the experiment that it shows."""

from tests.docs.conftest import DOCS
from tests.docs.lesson import Reader, lesson_blocks
from workbench.data.conversion.registry import BY_SUFFIX
from workbench.data.sources import GoldenSource

PAGE = DOCS / "how-to" / "start_on_your_documents.md"


def test_the_page_leads_from_its_files_to_an_experiment(tmp_path):
    Reader(tmp_path).follow(lesson_blocks(PAGE.read_text("utf-8")))
    questions = GoldenSource(path=str(tmp_path / "experiments" / "guide")).load().queries
    assert {"Bike library: Lending a bike", "Energy: What a heat pump is"} < {query.text for query in questions if query.is_placeholder}


def test_the_page_lists_every_format():
    text = PAGE.read_text("utf-8")
    assert all(f"`{suffix}`" in text for suffix in BY_SUFFIX)
