"""Phrases of the decision: how configurations, settings, differences and numbers are named."""

import math
from dataclasses import replace

from workbench.core.text.formatting import count, listed, plural
from workbench.measures.statistics.comparison import Comparison
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.parts import PartEffect
from workbench.report.analysis.setting_names import setting_columns, short_name
from workbench.report.analysis.standings import COVERAGE, Standing

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MOST_NAMED = 3


def called(findings: Findings, standing: Standing | str) -> str:
    """A configuration as people say it, with its name in brackets if that is another."""
    name = standing if isinstance(standing, str) else standing.name
    short = short_name(findings, name)
    return short if short == name else f"{short} ({name})"


def in_words(number: int) -> str:
    """A small number as a word."""
    return _NUMBERS[number] if number < len(_NUMBERS) else count(number)


def questions_of(findings: Findings) -> str:
    """The number of questions that the verdict is about."""
    return plural(findings.verdict.n, "question") if findings.verdict else ""


def quantity_of(findings: Findings) -> str:
    """The quantity of the metric in `more of the evidence`. Empty for metrics without such words."""
    quantity = findings.primary.quantity
    return quantity.removeprefix("share ").removesuffix(" found") if quantity.endswith(" found") else ""


def gains(findings: Findings) -> str:
    """Say that a configuration is better, before "than"."""
    if of := quantity_of(findings):
        return f"finds more {of}"
    return f"has a {'higher' if findings.primary.higher_is_better else 'lower'} {findings.primary}"


def changed(findings: Findings, difference: float) -> str:
    """Say what a difference is of, before "than"."""
    up = difference >= 0
    if of := quantity_of(findings):
        return f"{'more' if up else 'less'} {of}"
    better = "" if findings.primary.higher_is_better else ", and lower is better,"
    return f"{'higher' if up else 'lower'} {findings.primary}{better}"


def scope(findings: Findings) -> str:
    """Limit a claim to the documents of the run if their questions share too many of them."""
    return ", for other questions about these documents" if findings.verdict and findings.verdict.conditional else ""


def part_text(findings: Findings, part: PartEffect, *, reference: bool = False) -> str:
    """An alternative of a part, or its reference, as people say it."""
    name = part.pairs[0].reference if reference else part.pairs[0].configuration
    column = next((column for column in setting_columns(findings) if column.stage == part.stage), None)
    return column.texts[name] if column else part.reference if reference else part.alternative


def things(causes: int) -> str:
    """A number of things."""
    return "one thing" if causes == 1 else f"{in_words(causes)} things"


def unranked_reason(findings: Findings) -> str:
    """Say why configurations are not ranked."""
    windows = sorted({standing.facts["window"] for standing in findings.standings.windowed if standing.facts["window"]})
    parts = []
    if findings.standings.windowed:
        tokens = f" of {listed([count(window) for window in windows])} tokens" if windows else ""
        parts.append(f"their chunks are longer than the embedder's window{tokens}, so part of each is ignored")
    if findings.standings.uncovered:
        parts.append(f"fewer than {round(100 * COVERAGE)} % of their questions have a value")
    if any(not each.means[str(findings.primary)].n for each in findings.standings.ranked):
        parts.append(f"no question has a score by {findings.primary}")
    return ", or ".join(parts) or "no configuration was run"


def bounds(comparison: Comparison) -> str:
    """The simultaneous interval of a difference in brackets. Empty if nothing was tested."""
    known = not math.isnan(comparison.low_adjusted) and not math.isnan(comparison.p)
    return replace(comparison.simultaneous, conditional="").bounds() if known else ""
