import numpy as np
import pandas as pd

from workbench.measures.statistics.summary import pooled

NAN = float("nan")


def scores(*rows: tuple[int, str, int, float, str, str]) -> pd.DataFrame:
    columns = ["query", "variant", "repeat", "value", "state", "reason"]
    return pd.DataFrame(list(rows), columns=columns).assign(metric="m")


def test_repeats_are_averaged_before_perturbations() -> None:
    table = pooled(
        scores(
            (0, "before", 0, 1.0, "scored", ""),
            (0, "before", 1, 0.0, "scored", ""),
            (0, "after", 0, 1.0, "scored", ""),
            (0, "after", 1, NAN, "unscored", "failed"),
        )
    )
    assert table[["value", "state", "reason"]].iloc[0].tolist() == [0.75, "scored", ""]
    assert np.isnan(table["attainable"][0])


def test_a_question_without_a_value_keeps_the_reason_that_counts() -> None:
    table = pooled(
        scores(
            (0, "a", 0, NAN, "not_applicable", "no date"),
            (0, "b", 0, NAN, "unscored", "failed"),
            (1, "a", 0, NAN, "not_applicable", "no date"),
            (1, "b", 0, NAN, "not_applicable", "no name"),
        )
    )
    assert table["state"].tolist() == ["unscored", "not_applicable"]
    assert table["reason"].tolist() == ["failed", "no date"]


def test_metrics_and_questions_keep_their_order() -> None:
    both = pd.concat([scores((2, "", 0, 1.0, "scored", ""), (1, "", 0, 0.0, "scored", "")).assign(metric=name) for name in ("z", "a")])
    assert pooled(both)[["metric", "query"]].to_numpy().tolist() == [["z", 2], ["z", 1], ["a", 2], ["a", 1]]
