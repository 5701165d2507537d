import pickle

import pytest

import workbench as wb


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: wb.FixedChunker(size=4), "FixedChunker size is 4, smaller than 8"),
        (lambda: wb.FixedChunker(size="x"), "FixedChunker size is 'x', not a whole number"),
        (lambda: wb.FixedChunker(sise=64), "FixedChunker needs 'size'; FixedChunker has no parameter 'sise' (did you mean 'size'?)"),
        (lambda: wb.FixedChunker(64), "FixedChunker takes its settings by name; they are kind, "),
        (lambda: wb.FixedChunker(size=64, overlap=64), "FixedChunker: overlap 64 is not smaller than size 64; lower overlap"),
        (lambda: wb.DenseRetriever(search="knn"), "DenseRetriever search is 'knn', not 'exact' or 'ann'"),
        (lambda: wb.SemanticChunker(size=64, enrich="maybe"), "SemanticChunker enrich is 'maybe', neither true nor false"),
    ],
)
def test_wrong_settings_are_one_line_with_what_was_meant(make, says: str) -> None:
    with pytest.raises(wb.InputError) as caught:
        make()
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


def test_a_component_survives_pickling_and_shows_its_settings() -> None:
    chunker = wb.FixedChunker(size=64, overlap=16)
    assert pickle.loads(pickle.dumps(chunker)) == chunker == wb.FixedChunker.model_validate(chunker.settings())
    assert chunker.settings() == {"kind": "fixed", "size": 64, "overlap": 16}
    assert "overlap" in chunker._repr_html_()
