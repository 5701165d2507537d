"""The figures of a run, for a notebook or a paper."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.components.judging.base import TASKS, Task
from workbench.core.errors import InputError
from workbench.core.text.formatting import meant, shortened
from workbench.core.text.guessed_names import AdvisedNames
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import COSTS, Cost
from workbench.report.canvas import NAME_LENGTH, IntervalRow, means_drawing
from workbench.report.cells import digits_for
from workbench.report.model import Figure as FigureBlock
from workbench.report.model import Section
from workbench.report.topics.answers.calibration import calibration_figure, calibrations
from workbench.report.topics.answers.causes import causes_plot
from workbench.report.topics.retrieval.costs import frontier_plot
from workbench.report.topics.retrieval.curves import curves_plot
from workbench.report.topics.retrieval.differences import differences
from workbench.report.topics.run.configurations import lengths_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plots(AdvisedNames):
    """The figures of a run, each a matplotlib figure that a caller can restyle and save."""

    guesses: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("bar", "metrics", "ranking", "scores", "box", "best"), "results.plot.leaderboard()"),
        **dict.fromkeys(("scatter", "cost", "costs", "pareto"), "results.plot.frontier()"),
        **dict.fromkeys(("comparison", "comparisons", "compare"), "results.plot.differences()"),
        **dict.fromkeys(("hist", "histogram", "sizes"), "results.plot.lengths(configuration)"),
    }
    findings: Findings

    def __call__(self) -> "Figure":
        """Return `leaderboard()`."""
        return self.leaderboard()

    def leaderboard(self) -> "Figure":
        """Plot the primary metric of every ranked configuration with its 95 % interval. Solid points are in the tie set.

        Raises
        ------
        InputError: no configuration can be ranked.

        Examples
        --------
        >>> figure = results.plot.leaderboard()
        >>> figure.axes[0].set_title("Handbook").get_text()
        'Handbook'
        """
        findings, metric = self.findings, str(self.findings.primary)
        ranked = findings.standings.ranked
        if not ranked:
            raise InputError("no configuration can be ranked", "look at results.failures")
        short = shortened([standing.name for standing in ranked], NAME_LENGTH)
        means = [standing.means[metric] for standing in ranked]
        digits = digits_for(bound for mean in means for bound in (mean.value, mean.low, mean.high))
        rows = [
            IntervalRow(short[standing.name], mean, bool(findings.mark(standing.name)))
            for standing, mean in zip(ranked, means, strict=True)
        ]
        return _displayed(means_drawing(rows, metric, digits))

    def differences(self) -> "Figure":
        """Plot the difference of every configuration from the baseline or the leader, on the same questions.

        Solid points differ after correction for all comparisons; with too few questions for a claim there are none. Raises InputError if there is nothing to compare.

        Examples
        --------
        >>> results.plot.differences().axes[0].get_xlabel().startswith("span_recall@2000t minus")
        True
        """
        return _drawing(differences(self.findings), "there is no second configuration to compare")

    def frontier(self, cost: Cost = "delivered") -> "Figure":
        """Plot the primary metric against a cost. Solid points are those that no other configuration beats in both.

        Parameters
        ----------
        cost: `delivered` tokens per question, `encoded` tokens, `index` megabytes, `p50` or `p95` milliseconds per question. Times that
            are not shown to differ count as equal.

        Raises
        ------
        InputError: the cost does not exist, or fewer than two configurations have it.

        Examples
        --------
        >>> results.plot.frontier("encoded").axes[0].get_ylabel()
        'span_recall@2000t'
        """
        if cost not in COSTS:
            raise InputError(f"there is no cost {cost!r}{meant(cost, COSTS)}", f"the costs are {', '.join(COSTS)}")
        figure = frontier_plot(self.findings, cost)
        if figure is None:
            raise InputError(f"fewer than two configurations have the cost {cost}", f"choose another of {', '.join(COSTS)}")
        return _displayed(figure)

    def curves(self) -> "Figure":
        """Plot the share of the evidence delivered against the tokens delivered. Raises InputError if the data have no evidence.

        Examples
        --------
        >>> results.plot.curves().axes[0].get_xlabel()
        'tokens of delivered text'
        """
        return _found(curves_plot(self.findings), "the data have no evidence")

    def lengths(self, configuration: str) -> "Figure":
        """Plot the lengths of a configuration's chunks with the embedder's window. Raises InputError for an unknown name.

        Examples
        --------
        >>> results.plot.lengths("fixed-128-0-bm25").axes[0].get_ylabel()
        'number of chunks'
        """
        standings = {standing.name: standing for standing in self.findings.standings.finished}
        if configuration not in standings:
            raise InputError(
                f"there is no configuration {configuration!r}{meant(configuration, standings)}", f"they are {', '.join(standings)}"
            )
        return _displayed(lengths_figure(self.findings, standings[configuration]).drawing)

    def causes(self) -> "Figure":
        """Plot the shares of failed answers by cause of every configuration. Raises InputError if no answer was judged.

        Examples
        --------
        >>> results.plot.causes()
        Traceback (most recent call last):
        workbench.core.errors.InputError: no failed answer of the run has a cause
        """
        return _found(causes_plot(self.findings), "no failed answer of the run has a cause")

    def calibration(self, task: Task = "support") -> "Figure":
        """Plot the share of items that people labelled as good against the score of a task's judge.

        Parameters
        ----------
        task: `support` of claims, `context_relevance`, `answer_relevance`, `correctness` or `rubric`.

        Raises
        ------
        InputError: the run has no labels for this task.

        Examples
        --------
        >>> results.plot.calibration()
        Traceback (most recent call last):
        workbench.core.errors.InputError: the run has no labels for support; draw items with workbench judge sample, and give the labels to workbench judge calibrate
        """
        if task not in TASKS:
            raise InputError(f"there is no task {task!r}{meant(task, TASKS)}", f"the tasks are {', '.join(TASKS)}")
        found = [figure for each in calibrations(self.findings) if each.task == task and (figure := calibration_figure(each))]
        if not found:
            fix = "draw items with workbench judge sample, and give the labels to workbench judge calibrate"
            raise InputError(f"the run has no labels for {task}", fix)
        return _displayed(found[0].drawing)

    def __repr__(self) -> str:
        return "Plots: leaderboard(), differences(), frontier(cost), curves(), lengths(configuration), causes(), calibration(task)"


def _drawing(section: Section | None, missing: str) -> "Figure":
    figures = [block for block in section.blocks if isinstance(block, FigureBlock)] if section else []
    if not figures:
        raise InputError(missing)
    return _displayed(figures[0].drawing)


def _found(figure: "Figure | None", missing: str) -> "Figure":
    if figure is None:
        raise InputError(missing)
    return _displayed(figure)


def _displayed(figure: "Figure") -> "Figure":
    """Return a figure that IPython displays. It knows how to display figures only once pyplot is imported, which these do not need."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell:
        from IPython.core.pylabtools import print_figure

        formatter = shell.display_formatter.formatters["image/png"]
        try:
            formatter.lookup(figure)
        except KeyError:
            formatter.for_type_by_name("matplotlib.figure", "Figure", print_figure)
    return figure
