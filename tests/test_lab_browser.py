"""The browser harness sees what a person sees: results, errors, changes that were saved, and requests that leave the machine."""

from pathlib import Path

import psutil
import pytest

from tests.lab_browser import write_notebook

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    write_notebook(folder / "good.ipynb", "name = 'ferry'  # type: str", "import os\nprint(name, os.path.basename(os.getcwd()))")
    write_notebook(folder / "bad.ipynb", "x = 1", "1 / 0", "x")
    leaving = "<img src='http://192.0.2.1/x.png'><img src='/missing.png'>"
    write_notebook(folder / "leaving.ipynb", "x = 1", f'from IPython.display import HTML\nHTML("{leaving}")')
    return folder


def test_a_notebook_runs_with_other_parameters_and_a_reload_finds_what_was_saved(start_lab, open_notebook, root):
    page = open_notebook(start_lab(root), "good.ipynb")
    page.set_parameters(name="tram")
    page.run_all()
    (output,) = page.outputs()
    assert output.text == f"tram {root.name}\n"
    assert page.save() == root / "good.ipynb"
    page.reload()
    assert page.cells()[0].source == "name = 'tram'  # type: str"
    assert page.outputs() == [output]
    assert page.screenshot("good").stat().st_size > 10_000
    assert page.traffic.complaints == []


def test_the_first_error_of_a_cell_fails_the_run(start_lab, open_notebook, root):
    page = open_notebook(start_lab(root), "bad.ipynb")
    with pytest.raises(AssertionError, match=r"bad\.ipynb: \['ZeroDivisionError: division by zero'\]"):
        page.run_all()


def test_requests_that_fail_or_leave_the_machine_are_noticed(start_lab, open_notebook, root):
    page = open_notebook(start_lab(root), "leaving.ipynb")
    page.run_all()
    page.page.wait_for_load_state("networkidle")
    assert set(page.traffic.elsewhere) == {"http://192.0.2.1/x.png"}
    assert {url.rpartition("/")[2] for url in page.traffic.failed} == {"x.png", "missing.png"}
    assert page.traffic.errors


def test_a_closed_notebook_has_no_kernel_and_an_ended_lab_no_process(start_lab, open_notebook, root):
    lab = start_lab(root)
    page = open_notebook(lab, "good.ipynb")
    page.close()
    assert lab.get("kernels") == []
    lab.end()
    assert not psutil.pid_exists(lab.process.pid)
