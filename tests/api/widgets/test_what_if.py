"""The what-if panel without a browser."""

import re
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from workbench.api.widgets.what_if import WhatIfPanel
from workbench.core.errors import InputError
from workbench.report.analysis.setting_names import short_names
from workbench.runner.execution.local import Outcome


@pytest.fixture
def panel(few: Outcome) -> WhatIfPanel:
    return wb.what_if(wb.load(few.folder), "recall@3")


def controls(panel: WhatIfPanel) -> dict[str, object]:
    rows = [child for box in panel.widget.children if hasattr(box, "children") for child in box.children]
    return {child.description: child for child in rows}


def test_the_panel_shows_the_table_of_the_run(panel: WhatIfPanel, few: Outcome) -> None:
    pd.testing.assert_frame_equal(panel.table, wb.load(few.folder).what_if("recall@3"))
    assert panel.table.attrs["claim"] in panel.static_html
    for name in short_names(wb.load(few.folder)).values():
        assert name in panel.static_html
    assert repr(panel) == "WhatIfPanel('few', 'recall@3', within='all')"


def test_metric_cut_and_slice_are_chosen_by_controls(panel: WhatIfPanel, few: Outcome) -> None:
    chosen = controls(panel)
    chosen["Metric"].value = "complete"
    assert str(panel.metric) == "complete@3"
    chosen["Cut at"].value = "tokens"
    assert str(panel.metric) == "complete@2000t"
    chosen["Cut"].value = 400
    assert str(panel.metric) == "complete@400t"
    chosen["Metric"].value = "margin"
    assert str(panel.metric) == "margin"
    assert chosen["Cut"].layout.display == "none"
    slices = [value for _, value in chosen["Slice"].options if value.startswith("type=")]
    chosen["Slice"].value = slices[0]
    assert panel.slice == slices[0]
    pd.testing.assert_frame_equal(panel.table, wb.load(few.folder).what_if("margin", slices[0]))


@pytest.mark.parametrize("name", ["success", "mrr", "ndcg", "margin"])
def test_a_metric_without_a_cut_in_tokens_does_not_take_the_tokens_as_chunks(panel: WhatIfPanel, name: str) -> None:
    chosen = controls(panel)
    chosen["Metric"].value, chosen["Cut at"].value = "complete", "tokens"
    assert str(panel.metric) == "complete@2000t"
    chosen["Metric"].value = name
    assert str(panel.metric) == (name if name == "margin" else f"{name}@5")
    assert [child.value for child in panel.widget.children[3:4]] == [""]
    if name != "margin":
        assert (chosen["Cut"].value, chosen["Cut"].max) == (5, 1_000)


def test_an_empty_slice_is_a_line_and_the_table_stays(panel: WhatIfPanel) -> None:
    chosen = controls(panel)
    slices = [value for _, value in chosen["Slice"].options if value.startswith("type=")]
    chosen["Slice"].value = slices[0]
    before = panel.static_html
    chosen["and"].value = slices[1]
    assert panel.slice == slices[0]
    assert panel.static_html == before
    assert "no question is in the slice" in "".join(getattr(child, "value", "") for child in panel.widget.children)


def test_a_configuration_without_a_value_says_why(panel: WhatIfPanel) -> None:
    panel.choose("span_recall@9000t")
    missing = panel.table[panel.table["source"] == "none"]
    assert len(missing)
    assert re.search(r"\d configurations? without a value", panel.static_html)
    with pytest.raises(InputError, match="there is no metric"):
        panel.choose("recal@3")
    assert str(panel.metric) == "span_recall@9000t"


def test_a_panel_of_no_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A checkout in which the quickstart has run has its run.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="does not exist; give the folder outputs/<name>"):
        wb.what_if("outputs/quickstart")


def test_a_slice_or_a_dataset_of_another_type_is_one_line(few: Outcome) -> None:
    results = wb.load(few.folder)
    for call in (lambda: wb.what_if(results, within=None), lambda: results.what_if(within=None)):
        with pytest.raises(InputError, match="within is of type NoneType; give a text"):
            call()
    with pytest.raises(InputError, match="dataset is of type int; give a Dataset"):
        results.what_if("recall@3", dataset=5)


def test_the_panel_says_how_far_it_is(panel: WhatIfPanel) -> None:
    heard: list[str] = []
    progress = next(child for child in panel.widget.children if type(child).__name__ == "Label")
    progress.observe(lambda change: heard.append(change["new"]), "value")
    controls(panel)["Cut"].value = 2
    every = len(panel.table)
    assert heard == [*(f"scoring configuration {number} of {every}" for number in range(1, every + 1)), ""]
