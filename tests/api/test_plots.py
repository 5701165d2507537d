import json
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import workbench as wb
from tests.forked import Forked
from workbench.runner.execution.local import Outcome

DISPLAYED = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import workbench as wb
figure = wb.load(sys.argv[1]).plot.leaderboard()
data, _ = shell.display_formatter.format(figure)
print(json.dumps([sorted(data), len(data["image/png"]), "matplotlib.pyplot" in sys.modules]))
"""


@pytest.fixture(scope="module")
def results(few: Outcome) -> wb.Results:
    return wb.load(few.folder)


@pytest.mark.parametrize("name", ["leaderboard", "differences", "frontier", "curves"])
def test_a_plot_is_a_figure_that_can_be_restyled_and_saved(results: wb.Results, name: str, tmp_path: Path) -> None:
    figure = getattr(results.plot, name)()
    assert isinstance(figure, Figure)
    figure.axes[0].set_title("Mine")
    figure.set_size_inches(8, 5)
    figure.savefig(tmp_path / "figure.svg")
    assert "svg" in (tmp_path / "figure.svg").read_text()[:200]


def test_the_leaderboard_is_plotted_in_the_order_and_with_the_values_of_the_table(results: wb.Results) -> None:
    axes = results.plot.leaderboard().axes[0]
    board = results.leaderboard().dropna(subset="place")
    assert [label.get_text() for label in axes.get_yticklabels()] == list(board.index)
    points = [line.get_xdata()[0] for line in axes.get_lines() if line.get_marker() == "o"]
    assert points == pytest.approx(board["span_recall@500t"].tolist())
    ends = [tuple(line.get_xdata()) for line in axes.get_lines() if len(line.get_xdata()) == 2]
    assert ends == [tuple(row) for row in board[["low", "high"]].to_numpy().tolist()]


def test_every_configuration_has_its_lengths(results: wb.Results) -> None:
    for name in results.leaderboard().index:
        assert results.plot.lengths(name).axes[0].get_ylabel() == "number of chunks"


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda results: results.plot.frontier("delivred"), r"there is no cost 'delivred' \(did you mean 'delivered'\?\)"),
        (lambda results: results.plot.lengths("fixed-128-1"), "did you mean 'fixed-128-"),
    ],
)
def test_a_wrong_name_is_an_input_error(results: wb.Results, draw: Callable[[wb.Results], Figure], says: str) -> None:
    with pytest.raises(wb.InputError, match=says):
        draw(results)


def test_ipython_displays_a_plot_although_pyplot_is_not_imported(few: Outcome, fork: Callable[..., Forked]) -> None:
    kinds, size, pyplot = json.loads(fork(DISPLAYED, few.folder).output().splitlines()[-1])
    assert kinds == ["image/png", "text/plain"]
    assert size > 5_000
    assert not pyplot
