"""Every picture of a page is made by `make picture`, is small, and has a text for those who do not see it."""

import re
import xml.etree.ElementTree as ET
from itertools import accumulate
from pathlib import Path

import pytest

from docs.evidence import Slice, drawing, example
from docs.pictures import IMAGES, MOST_BYTES, PICTURES
from tests.docs.conftest import PAGES, ROOT, name_of
from tests.made_runs import Made

SHOWN = [
    pytest.param(page, alt, target, id=f"{name_of(page)}-{Path(target).name}")
    for page in PAGES
    for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8"))
]


@pytest.mark.parametrize(("page", "alt", "target"), SHOWN)
def test_a_picture_is_made_by_the_target_and_says_in_words_what_it_shows(page: Path, alt: str, target: str) -> None:
    picture = (page.parent / target).resolve()
    assert picture.parent == IMAGES
    assert picture.name in PICTURES
    assert len(alt.split()) >= 8


def test_every_picture_is_there_small_and_on_a_page() -> None:
    assert {path.name for path in IMAGES.iterdir()} == set(PICTURES)
    assert {Path(target).name for _, _, target in (each.values for each in SHOWN)} == set(PICTURES)
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > MOST_BYTES] == []
    assert "python -m docs.pictures" in (ROOT / "Makefile").read_text("utf-8").partition("\npicture:")[2].partition("\n\n")[0]


def test_the_drawing_of_evidence_counts_as_the_metrics_do(made: Made) -> None:
    run = made.valued([[0.5] * 120], name="drawn", metrics=["span_recall@60t", "span_recall@5", "span_recall@1000t"])
    shown = example(run, "q3-4", run.names[0])
    assert shown.text[slice(*shown.evidence)].startswith("The lamp of room 3-4")
    found = [each.place.within(shown.evidence) * (each.document == shown.document) for each in shown.ranking]
    assert (
        list(accumulate(found))[min(4, len(found) - 1)] / Slice(*shown.evidence).within(shown.evidence)
        == dict(shown.recall)["span_recall@5"]
    )
    texts = [element.text for element in ET.fromstring(drawing(shown)).iter() if element.text and element.text.strip()]
    assert texts[0] == f"“{shown.question}”"
    assert sum(text.startswith("span_recall@") for text in texts) == 2
