"""A person labels claims in JupyterLab: by keys after a click, by buttons, undone, and a calibration that reads them."""

from pathlib import Path

import pytest

from tests.commands import workbench
from tests.lab_browser import write_notebook
from tests.labelled_runs import with_claims
from workbench.report.results.judge_labels import read_labels

pytestmark = pytest.mark.browser


@pytest.fixture
def root(answered_run, tmp_path: Path) -> Path:
    (tmp_path / "made").mkdir()
    with_claims(answered_run).write(tmp_path / "made")
    write_notebook(
        tmp_path / "judge.ipynb", "name = 1", "import workbench as wb\nlabeller = wb.label_answers('made', annotator='Ada')\nlabeller", "1"
    )
    return tmp_path


def test_claims_are_labelled_in_the_notebook_and_the_judge_is_calibrated(start_lab, open_notebook, root) -> None:
    notebook = open_notebook(start_lab(root), "judge.ipynb", width=1366)
    notebook.run_all()
    page, path = notebook.page, root / "made" / "judge_labels.jsonl"

    def said(text: str) -> None:
        page.wait_for_function("text => document.querySelector('.wbl-status').textContent.includes(text)", arg=text, timeout=20_000)

    page.wait_for_selector(".wbl-claim")
    notebook.screenshot("answer-labeller")
    first = page.inner_text(".wbl-claim")
    page.locator(".wbl-asked").click()
    for key in ("x", "d", "d", "b", "Control+Enter", "1"):
        page.keyboard.press(key)
    said("Saved: 1 of ")
    assert len(notebook.cells()) == 3
    page.get_by_role("button", name="absent (3)").click()
    said("Saved: 2 of ")
    page.keyboard.press("2")
    said("Saved: 3 of ")
    page.keyboard.press("u")
    said("Saved: 2 of ")
    labelled = [(line.claim, line.label, line.annotator) for line in read_labels(path) if line.label]
    assert labelled[0] == (first, "supported", "Ada")
    assert [label for _, label, _ in labelled] == ["supported", "absent"]
    page.keyboard.press("k")
    page.wait_for_function("document.querySelector('[aria-pressed=true]')?.textContent === 'absent (3)'")
    notebook.screenshot("answer-labeller-labelled")
    assert notebook.serious() == []
    page.evaluate("jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.wait_for_timeout(500)
    notebook.screenshot("answer-labeller-dark")
    assert notebook.serious() == []
    assert notebook.traffic.complaints == []
    assert "on 2 labels of this run" in workbench("judge", "calibrate", root / "made").stdout
