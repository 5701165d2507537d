"""Tables of how configurations differ: from a reference, by cause and slice, and by the metrics that decide nothing."""

from collections.abc import Sequence

from workbench.analysis.findings import ALPHA, Findings
from workbench.analysis.pairwise import OTHER, OTHER_TOLD, Contrast, Part
from workbench.analysis.standings import Standing, difference
from workbench.attribution.evidence_causes import CAUSES, DOCUMENT_CAUSES
from workbench.core.formatting import count, interval, number, p_value, plural, signed
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.report.render.display import NOTHING, Fragment, prose
from workbench.report.tables.fragments import Column, table, text, words
from workbench.statistics.comparison import Comparison

_BARE = "p ", "= "


def differences_table(found: Findings) -> Fragment:
    """Every configuration against the baseline, or against the first, with all that was tested."""
    base, verdict = found.standings.baseline, found.verdict
    if base is None or verdict is None:
        return NOTHING
    pairs = [(one, found.against(one.name, base.name)) for one in found.standings.ranked]
    tested = [apart for _, apart in pairs if apart is not None]
    if not tested:
        return NOTHING
    rows = [_difference(apart) for apart in tested]
    titles = ("difference", "95 % interval", "paired t p", "randomisation p", "corrected p", "Holm p", "questions")
    caption = (
        f"{found.primary} minus that of {base.name}, question by question; corrected for {plural(len(verdict.comparisons), 'comparison')} "
        f"({verdict.family})"
    )
    return table(caption, [words("configuration"), *map(Column, titles), words("reading")], rows) + _outside(found, tested)


def sources_table(found: Findings) -> Fragment:
    """Where the first and the other differ: by the cause of the miss, and by slices that are large enough."""
    where = found.contrast
    if where is None:
        return prose("There is no second configuration to compare.")
    a, b = where.a, where.b
    causes = [cause for cause in (*CAUSES, OTHER) if cause in a.causes or cause in b.causes]
    counts = f"Of {plural(a.queries + b.queries + where.ties, 'question')}, {a.winner} is ahead on {count(a.queries)}, {b.winner} on "
    told = prose(f"{counts}{count(b.queries)}; on {count(where.ties)} they are equal.")
    if not causes:
        return told
    meanings = (CAUSES if found.dataset.needs else CAUSES | DOCUMENT_CAUSES) | {OTHER: OTHER_TOLD}
    rows = [[cause, count(len(a.causes.get(cause, ()))), count(len(b.causes.get(cause, ()))), meanings[cause]] for cause in causes]
    columns = [words("what the other misses by"), Column(f"{a.winner} ahead"), Column(f"{b.winner} ahead"), text("which means")]
    return told + table("Questions by the cause of the miss", columns, rows) + _slices(where)


def exploratory_table(bench: RunContext, found: Findings) -> Fragment:
    """The first and the other by every metric but the primary one, which are untested."""
    first, other = found.first, found.other
    metrics = [metric for metric in bench.metrics if metric != found.primary]
    if first is None or other is None or not metrics:
        return prose("There is no second configuration, or no other metric, to look at.")
    rows = [_explored(bench, metric, first, other) for metric in metrics]
    columns = [words("metric"), Column(first.name), Column(other.name), Column("difference"), Column("95 % interval"), Column("questions")]
    return table("Exploratory: intervals are of each difference by itself, nothing is tested or corrected", columns, rows)


def _outside(found: Findings, tested: Sequence[Comparison]) -> Fragment:
    """Why a pair need not be told apart though one of the two is outside the set."""
    best = found.verdict.best if found.verdict and found.told else ()
    if not any(apart.p_adjusted > ALPHA and (apart.a in best) != (apart.b in best) for apart in tested):
        return NOTHING
    return prose(
        "Some pairs are not told apart though one of the two is outside the set: a configuration is outside where some other one has "
        "more, whichever that is; a pair asks whether just these two differ, in either direction and among all the pairs tested."
    )


def _difference(apart: Comparison) -> list[str]:
    ps = (apart.p, apart.p_random, apart.p_adjusted, apart.p_holm)
    same = apart.difference.low == apart.difference.high == 0
    reading = "the same" if same else "told apart" if apart.p_adjusted <= ALPHA else "not told apart"
    bounds = interval(apart.difference.low, apart.difference.high)
    return [apart.a, signed(apart.difference.value), bounds, *(_bare(p) for p in ps), count(apart.difference.n), reading]


def _bare(p: float) -> str:
    text = p_value(p)
    for prefix in _BARE:
        text = text.removeprefix(prefix)
    return text


def _slices(where: Contrast) -> Fragment:
    shown = [part for part in where.parts[1:] if not part.small]
    left = len(where.parts) - 1 - len(shown)
    lines = prose(f"{plural(left, 'slice')} with fewer than 20 questions or 5 documents left out.") if left else NOTHING
    if not shown:
        return lines
    rows = [_slice(part) for part in shown]
    columns = [
        words("slice"),
        Column(f"{where.a.winner} ahead"),
        Column(f"{where.b.winner} ahead"),
        Column("the same"),
        Column("difference"),
    ]
    caption = f"{where.metric}: {where.a.winner} minus {where.b.winner} by slice; exploratory, nothing is tested or corrected"
    return table(caption, [*columns, Column("95 % interval"), Column("questions")], rows) + lines


def _slice(part: Part) -> list[str]:
    ahead, apart = (sum(part.won_by_a.values()), sum(part.won_by_b.values()), part.ties), part.difference
    return [part.name, *map(count, ahead), signed(apart.value), interval(apart.low, apart.high), count(apart.n)]


def _explored(bench: RunContext, metric: Metric, first: Standing, other: Standing) -> list[str]:
    apart, name = difference(bench, metric, first, other), str(metric)
    values = [number(first.means[name].value), number(other.means[name].value)]
    if apart is None:
        return [name, *values, number(None), interval(None, None), "0"]
    return [name, *values, signed(apart.value), interval(apart.low, apart.high), count(apart.n)]
