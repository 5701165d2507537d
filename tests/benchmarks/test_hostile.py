import pytest

from benchmarks.hostile import measured


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fixed", "markdown"])
def test_the_memory_for_one_document_grows_by_at_most_twelve_times_its_size(kind: str) -> None:
    (_, small), (_, large) = measured(kind, "book", 5), measured(kind, "book", 25)
    assert 0 < large - small <= 12 * 20
