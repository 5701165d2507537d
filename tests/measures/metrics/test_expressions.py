import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.measures.metrics import expressions
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS


@pytest.mark.parametrize("name", ["recall", "map", "hit_precision", "span_recall", "complete"])
def test_an_expression_is_the_metric_that_its_text_names(name: str) -> None:
    assert getattr(expressions, name) @ 5 == Metric.parse(f"{name}@5")
    assert str(getattr(expressions, name) @ 5) == f"{name}@5"


def test_a_token_cut_is_the_cut_with_a_t() -> None:
    assert wb.span_recall @ wb.tokens(2000) == Metric.parse("span_recall@2000t")
    assert wb.margin == Metric.parse("margin")
    assert wb.recall @ np.int64(5) == Metric.parse("recall@5")
    with pytest.raises(InputError, match=r"tokens is 1\.5"):
        wb.tokens(1.5)  # type: ignore[arg-type]  # the fault


def test_a_metric_needs_a_cut_in_an_expression_exactly_if_it_does_in_text() -> None:
    for name in expressions.__dict__:
        if name in METRICS:
            assert getattr(expressions, name).needs_cut == (METRICS[name].cut != "none")


def test_a_cut_that_does_not_exist_is_an_input_error(wording) -> None:
    wording(
        lambda cut: Metric("recall") @ cut,
        [
            0,
            -1,
            1001,
            True,
            "5",
            wb.tokens(9),
        ],
    )
