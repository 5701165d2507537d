import numpy as np
import pytest

from workbench.core.records import Document
from workbench.core.storage.vector_cache import VectorCache
from workbench.people.generation.passages import PassageIndex, cosines

LONG = "The apple trees of this garden are old, and each of them has a name of its own. " * 3
PAGES = [Document(f"d{page}", "\n\n".join(f"# Part {part} of {page}\n\n{LONG}" for part in range(3))) for page in range(3)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> PassageIndex:
    return PassageIndex.of(PAGES, 128, VectorCache(tmp_path_factory.mktemp("vectors") / "vectors.sqlite"))


def test_passages_are_spread_over_the_documents_in_an_order_of_the_seed(index: PassageIndex) -> None:
    first = list(index.spread(0))
    assert len(first) == len(index.passages) == 9
    assert {passage.doc_id for passage in first[:3]} == {passage.doc_id for passage in first[3:6]} == {"d0", "d1", "d2"}
    assert first == list(index.spread(0))
    assert first != list(index.spread(1))


def test_a_document_more_leaves_the_order_of_the_others(index: PassageIndex) -> None:
    fewer = PassageIndex.of(PAGES[:2], 128, index.cache)
    of_first = [passage.chunk_id for passage in index.spread(0) if passage.doc_id == "d0"]
    assert [passage.chunk_id for passage in fewer.spread(0) if passage.doc_id == "d0"] == of_first


def test_short_passages_are_asked_about_only_without_long_ones(index: PassageIndex) -> None:
    short = Document("short", "One line.")
    assert "short" not in {passage.doc_id for passage in PassageIndex.of([*PAGES, short], 128, index.cache).spread(0)}
    assert [passage.doc_id for passage in PassageIndex.of([short], 128, index.cache).spread(0)] == ["short"]


def test_neighbours_are_of_the_same_document(index: PassageIndex) -> None:
    beside = [[other.chunk_id for other in index.beside(passage)] for passage in index.passages[:4]]
    ids = [passage.chunk_id for passage in index.passages]
    assert beside == [[ids[1]], [ids[0], ids[2]], [ids[1]], [ids[4]]]


def test_the_partner_is_of_another_document(index: PassageIndex) -> None:
    assert all((partner := index.partner(passage)) and partner.doc_id != passage.doc_id for passage in index.passages)
    assert PassageIndex.of(PAGES[:1], 128, index.cache).partner(index.passages[0]) is None


def test_a_search_returns_all_passages_by_cosine(index: PassageIndex) -> None:
    found = index.search("Part 1 of 2")
    scores = [score for _, score in found]
    assert len(found) == 9
    assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score <= 1 for score in scores)


def test_without_texts_there_are_no_cosines(index: PassageIndex) -> None:
    assert cosines([], ["a"], index.cache).shape == (0, 1)
    assert cosines(["a", "b"], [], index.cache).shape == (2, 0)
    np.testing.assert_allclose(cosines(["a lamp"], ["a lamp"], index.cache), [[1]], atol=1e-4)
