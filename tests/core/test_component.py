import pickle
from typing import Literal

import pytest

import workbench as wb
from workbench.core.component import Component


def test_wrong_settings_are_one_line_with_what_was_meant(wording) -> None:
    calls = {
        "a size below the smallest": lambda: wb.FixedChunker(size=4),
        "a size as text": lambda: wb.FixedChunker(size="x"),
        "a misspelt name": lambda: wb.FixedChunker(sise=64),
        "a setting without its name": lambda: wb.FixedChunker(64),
        "an overlap of the whole size": lambda: wb.FixedChunker(size=64, overlap=64),
        "an unknown kind of search": lambda: wb.DenseRetriever(search="knn"),
        "neither true nor false": lambda: wb.SemanticChunker(size=64, enrich="maybe"),
    }
    wording(lambda make: make(), calls)


@pytest.mark.parametrize("number", ["inf", "nan", "1e999", "9" * 400, float("inf")])
@pytest.mark.parametrize(("component", "field"), [(wb.BM25Retriever, "k1"), (wb.BM25Retriever, "b"), (wb.HttpTarget, "timeout")])
def test_no_setting_is_infinite_also_as_a_text(component: type[Component], field: str, number: object) -> None:
    with pytest.raises(wb.InputError, match=f"{field} is .*, not finite"):
        component(**{field: number})


def test_a_component_survives_pickling_and_shows_its_settings() -> None:
    chunker = wb.FixedChunker(size=64, overlap=16)
    assert pickle.loads(pickle.dumps(chunker)) == chunker == wb.FixedChunker.model_validate(chunker.settings())
    assert chunker.settings() == {"kind": "fixed", "size": 64, "overlap": 16}
    assert "overlap" in chunker._repr_html_()


class Naming(Component):
    kind: Literal["naming"] = "naming"
    function: str

    @property
    def named_code(self) -> tuple[str, ...]:
        return (self.function,)

    def load_code(self) -> None:
        raise wb.InputError(f"{self.function} is missing")


class Containing(Component):
    kind: Literal["containing"] = "containing"
    within: Component | tuple[tuple[str, Component], ...] | dict[str, Component]


@pytest.mark.parametrize("nest", [lambda part: part, lambda part: (("a", part),), lambda part: {"a": part}])
def test_a_function_that_a_component_inside_another_names_needs_permission_too(nest) -> None:
    outer = Containing(within=nest(Containing(within=nest(Naming(function="os:system")))))
    assert outer.named_code == ("os:system",)
    with pytest.raises(wb.InputError, match="os:system is missing"):
        outer.load_code()
