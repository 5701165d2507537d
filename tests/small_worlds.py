"""Small worlds: labels and results that a test writes down by position, and a strategy that draws them."""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.testing.small_results import labels_of, retrieved_of

Place = tuple[int, int, int]
World = tuple[list[str], list[list[list[Place]]], list[tuple[int, int, int, int, int]], list[list[int]]]


@pytest.fixture(scope="session")
def make_labels() -> Callable[..., Labels]:
    return labels_of


@pytest.fixture(scope="session")
def make_retrieved() -> Callable[..., Retrieved]:
    return retrieved_of


@st.composite
def places(draw: st.DrawFn, texts: list[str]) -> Place:
    """A document's number with the start and the end of a part of its text."""
    doc = draw(st.integers(0, len(texts) - 1))
    start = draw(st.integers(0, len(texts[doc]) - 1))
    return doc, start, draw(st.integers(start + 1, len(texts[doc])))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Texts, each query's needs with their alternatives, chunks with or without parents, each query's hits."""
    texts = draw(st.lists(st.text("ab \n.é", min_size=1, max_size=24), min_size=1, max_size=3))
    visible = places(texts).filter(lambda span: texts[span[0]][span[1] : span[2]].strip())
    needs = draw(st.lists(st.lists(st.lists(visible, min_size=1, max_size=3), max_size=3), min_size=1, max_size=3))
    own = draw(st.lists(places(texts), min_size=1, max_size=7, unique=True))
    chunks = [(doc, s, e, *draw(st.sampled_from([(s, e), (0, e), (0, len(texts[doc]))]))) for doc, s, e in own]
    order = st.permutations(range(len(chunks))).flatmap(lambda rows: st.integers(0, len(rows)).map(lambda depth: rows[:depth]))
    return texts, needs, chunks, [draw(order) for _ in needs]
