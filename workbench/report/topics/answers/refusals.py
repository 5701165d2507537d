"""Refusals of questions with and without evidence in the context, and the risk of answers by confidence."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.components.context.conditions import GOLD, GOLD_DISTRACTORS, IRRELEVANT_ONLY, MISSING_GOLD, RETRIEVED
from workbench.core.errors import InputError
from workbench.core.text.formatting import count, shortened
from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.summary import RiskCoverage, risk_coverage
from workbench.report.analysis.answer_values import answer_measure, answer_score, answering, condition_mean
from workbench.report.analysis.findings import Findings
from workbench.report.canvas import FAINT, LINES, MUTED, End, canvas, name_ends, own_style, plain, spanned
from workbench.report.cells import NAME_LENGTH, UNKNOWN, count_cell, described, key_of, opened, value_cell, words
from workbench.report.model import Block, Cell, Column, Figure, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_DASHES = ("-", "--", "-.", ":")
# By caption the columns: metric, condition and title.
_TABLES = {
    "Refused questions whose context does not answer them: higher is better": (
        ("refusal_rate", RETRIEVED, "unanswerable"),
        ("refusal_rate", MISSING_GOLD, "evidence removed"),
        ("refusal_rate", IRRELEVANT_ONLY, "irrelevant context"),
        ("refusal_rate_without_gold", RETRIEVED, "nothing retrieved"),
    ),
    "Over-refusal, refused questions whose context contains all evidence: lower is better": (
        ("over_refusal_rate", GOLD, "evidence alone"),
        ("over_refusal_rate", GOLD_DISTRACTORS, "with distractors"),
        ("over_refusal_rate", RETRIEVED, "retrieved"),
    ),
}
_READING = (
    "A refusal is right if the context does not contain the evidence, or the documents have no answer; it is an over-refusal if the context contains all "
    "evidence of the question. Both rates count only questions of their kind, so that a configuration that retrieves more is not rewarded for it here."
)
_NOTE = "Shares of refused questions with 95 % intervals clustered by source document, and the number of questions."
_RISK = (
    "Answers are given in the order of their confidence, the most confident first. Coverage is the share of all questions that are answered, risk is 1 minus "
    "the mean answer score of these. If the curve rises, the less confident answers are worse, and a threshold would pay."
)
_AREAS = "The area under risk against coverage: of this confidence, of one that orders the same answers perfectly, and of one that knows nothing."
_MOST_CURVES = 4


def risk_of(run: RunTables, configuration: str, metric: str) -> RiskCoverage | None:
    """Return the curve of a metric that is a proportion, None if the generator reports no confidence.

    All questions that were asked and did not fail count for the coverage, refused ones as not answered. An answer to an unanswerable question
    scores 0. An answer without a score otherwise, such as one without an expected answer, is left out with its question.
    """
    measure = answer_measure(run, metric)
    if not (measure.proportion and measure.higher_is_better):
        raise InputError(f"{metric} is no share of right answers", "choose a metric such as token_f1")
    rows = _scored(run, configuration, metric)
    rows = rows[rows["score"].notna() | rows["refused"]]
    answered = rows[~rows["refused"] & rows["confidence"].notna()]
    if answered.empty:
        return None
    return risk_coverage(answered["confidence"].to_numpy(np.float64), answered["score"].to_numpy(np.float64), len(rows))


def _scored(run: RunTables, configuration: str, metric: str) -> pd.DataFrame:
    """The answers to retrieved contexts that were given or refused, with their `score`: 0 for unanswerable questions, NaN if unknown."""
    keys, answers, scores = ["variant", "repeat", "query_id"], run.of("answers", configuration), run.of("queries", configuration)
    answers = answers[(answers["condition"] == RETRIEVED) & (answers["error"] == "") & (answers["reason"] == "")]
    scores = scores[(scores["condition"] == RETRIEVED) & (scores["metric"] == metric)][[*keys, "value"]]
    rows = answers.merge(scores, how="left", on=keys).merge(run.questions[["query_id", "answerable"]], on="query_id")
    return rows.assign(score=rows["value"].where(rows["answerable"], 0.0))


@own_style()
def risk_drawing(curves: Sequence[tuple[str, Floats, Floats]], title: str) -> "Drawing":
    """Plot the risk against the coverage of each curve (label, coverage, risk). Curves without a label are faint."""
    figure, (axes,) = canvas(2.9)
    ends = []
    for index, (label, coverage, risks) in reversed(list(enumerate(curves))):
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1, "zorder": 1}
        if label:
            look = {"color": LINES[index % len(LINES)], "linestyle": _DASHES[index % len(_DASHES)], "linewidth": 1.6}
        # A single threshold is a point.
        axes.plot(coverage, risks, marker="o" if len(coverage) == 1 else "", markersize=4.5, **look)
        ends.append(End(label, float(coverage[-1]), float(risks[-1]), LINES[index % len(LINES)] if label else MUTED))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(*spanned(axes.get_ylim(), axes.dataLim.y1))
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_xlabel("coverage: share of questions answered")
    axes.set_ylabel(plain(title))
    name_ends(axes, ends)
    return figure


def compute(findings: Findings) -> tuple[RunTables, tuple[str, ...]] | None:
    """Return the configurations that answer. None for a run without answers, metrics of refusals and confidences."""
    run, names = findings, answering(findings)
    return (run, names) if any(map(partial(_shown, run, names), _TABLES.values())) or _curves(run, names) else None


def render(values: tuple[RunTables, tuple[str, ...]]) -> list[Block]:
    """Tabulate refusals and over-refusals, and plot risk against coverage."""
    run, names = values
    tables = [table for caption, columns in _TABLES.items() if (table := _table(run, names, caption, columns))]
    blocks: list[Block] = [Prose(_READING), *(block for table in tables for block in opened(table))] if tables else []
    figure = risk_figure(run, names)
    return blocks + ([figure] if figure else [])


def risk_figure(run: RunTables, names: Sequence[str]) -> Figure | None:
    """Plot risk against coverage of the configurations with a confidence. Returns None if none has one."""
    curves = _curves(run, names)
    if not curves:
        return None
    short = shortened(curves, NAME_LENGTH)
    lines = [
        (short[name] if index < _MOST_CURVES else "", curve.coverage, curve.risk) for index, (name, curve) in enumerate(curves.items())
    ]
    columns = [words("configuration"), Column("area", note="mean risk"), Column("best order"), Column("random order")]
    columns += [Column("answered", note="coverage"), Column("questions")]
    rows = []
    for name, curve in curves.items():
        areas = [value_cell(value) for value in (curve.area, curve.best_area, curve.random_area)]
        rows.append(Row([Cell(name), *areas, value_cell(float(curve.coverage[-1])), count_cell(curve.n)]))
    table = Table("Risk against coverage", columns, rows, _AREAS)
    more = f" Only {_MOST_CURVES} of {len(curves)} are drawn strong; the table names all." if len(curves) > _MOST_CURVES else ""
    named = {name: short[name] for name in list(curves)[:_MOST_CURVES]}
    drawing = risk_drawing(lines, f"risk: 1 − {answer_score(run)}")
    return Figure("risk", described(table), f"{_RISK}{more}", drawing, table, key_of(named))


def _curves(run: RunTables, names: Sequence[str]) -> dict[str, RiskCoverage]:
    measure = answer_score(run)
    if measure is None or not measure.proportion:
        return {}
    return {name: curve for name in names if (curve := risk_of(run, name, str(measure)))}


def _shown(run: RunTables, names: Sequence[str], columns: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The columns in which a configuration has a value."""
    return [each for each in columns if any((mean := condition_mean(run, name, *each[:2])) and mean.n for name in names)]


def _table(run: RunTables, names: Sequence[str], caption: str, columns: Sequence[tuple[str, str, str]]) -> Table | None:
    shown = _shown(run, names, columns)
    titles = [words("configuration"), *(Column(title, note=condition) for _, condition, title in shown)]
    rows = []
    for name in names:
        means = [condition_mean(run, name, metric, condition) for metric, condition, _ in shown]
        cells = [value_cell(mean.value, note=f"{mean.bounds()}, n = {count(mean.n)}") if mean and mean.n else UNKNOWN for mean in means]
        rows.append(Row([Cell(name), *cells]))
    return Table(caption, titles, rows, _NOTE) if shown else None


refusals = Topic(
    "refusals",
    "Refusals",
    "Refusals",
    compute,
    render,
    views=("page", "answers"),
    missing="The run has no metric of refusals and no confidence.",
)
