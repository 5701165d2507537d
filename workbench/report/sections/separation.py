"""Margins and ties of a configuration's rankings, latency, and the gap of an approximate index."""

from collections.abc import Mapping

import numpy as np

from workbench.analysis.frontier import passes_of, timings_of
from workbench.analysis.values import detail
from workbench.core.formatting import count, listed, number, plural, share, signed
from workbench.report.cells import question_row, text, value_cell, words
from workbench.report.model import Block, Cell, Column, Lines, Prose, Row, Table
from workbench.report.text.sentences import time_text
from workbench.results.run_tables import RunTables

# A correct ranking is weak if its margin is below this many standard deviations of the question's scores.
WEAK = 0.25
_MOST_ROWS = 100
_STEPS = {
    "rewrite the question": "rewrite",
    "embed the question": "embed",
    "search exactly": "exact",
    "search in Chroma's index": "chroma",
    "rerank": "rerank",
    "the whole question": "question",
}
_COLD = "latency_cold"
# The smallest change of a metric that three decimals show.
_SHOWN = 5e-4


def separation(run: RunTables, configuration: str) -> list[Block]:
    """Count correct rankings with a small margin and those decided by the tie breaker, and tabulate the former."""
    margins, spreads = detail(run, configuration, "margin"), detail(run, configuration, "margin_spread")
    known, right = ~np.isnan(spreads), np.flatnonzero(spreads > 0)
    weak = right[spreads[right] < WEAK]
    weak = weak[np.argsort(spreads[weak], kind="stable")]
    tied = run.of("query_details", configuration)["tied"]
    lines = Lines(
        [
            f"A relevant document is ranked first for {plural(len(right), 'question')} of {count(int(known.sum()))}; for {count(len(weak))} "
            f"of them its score is less than {WEAK} standard deviations above that of the next document: weak separation.",
            f"{plural(int(tied.sum()), 'question has', 'questions have')} equal scores among the first k chunks, which only the tie breaker "
            f"orders: {share(float(tied.sum()), len(tied))} of {count(len(tied))}.",
        ]
    )
    if not len(weak):
        return [lines, Prose("No weak separation.")]
    columns = [words("question"), Column("margin"), Column("in standard deviations"), text("text")]
    questions = run.questions.iloc[weak[:_MOST_ROWS]]
    values = zip(margins[weak], spreads[weak], strict=True)
    rows = [question_row(*row) for row in zip(questions["query_id"], values, questions["text"], strict=False)]
    return [lines, Table("Weak separation, the smallest margin first", columns, rows)]


def latency(run: RunTables, configuration: str) -> Table:
    """Tabulate milliseconds per question for each step."""
    timings = timings_of(run, configuration)
    rows = [
        Row([Cell(step), *(_range_cell(timings, f"latency_{name}_{percentile}") for percentile in ("p50", "p95"))])
        for step, name in _STEPS.items()
        if f"latency_{name}_p50" in timings
    ]
    if _COLD in timings:
        rows.append(Row([Cell("cold start", note="open the index and answer one question"), _range_cell(timings, _COLD), Cell("–")]))
    title = "Milliseconds per question on a warm system, one at a time, lowest to highest of several rounds"
    return Table(title, [words("step"), Column("median"), Column("p95")], rows)


def _range_cell(timings: Mapping[str, float], name: str) -> Cell:
    return Cell(time_text(timings[name], passes_of(timings, name)), sort=timings[name])


def index_gap(run: RunTables, configuration: str) -> list[Block]:
    """Compare Chroma's approximate index with exact search."""
    timings = timings_of(run, configuration)
    overlaps = [(name.partition("@")[2], value) for name, value in timings.items() if name.startswith("chroma_overlap@")]
    if not overlaps:
        return [Prose("Nothing is embedded, so no index of vectors exists.")]
    ((k, overlap),) = overlaps
    changes = {name.removeprefix("chroma_change_"): value for name, value in timings.items() if name.startswith("chroma_change_")}
    sentence = f"Chroma's index returns {share(overlap, 1)} of the exact top {plural(int(k), 'chunk')} (overlap@{k})."
    if all(abs(change) < _SHOWN for change in changes.values()):
        return [Prose(f"{sentence} No metric changes by {number(2 * _SHOWN)} or more: {listed(list(changes), 99)}.")]
    rows = [Row([Cell(metric), value_cell(change, shown=signed(change))]) for metric, change in changes.items()]
    table = Table("Change of each metric's mean under the index", [words("metric"), Column("change")], rows)
    return [Prose(sentence), table]
