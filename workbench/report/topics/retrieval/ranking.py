"""The ranking of all configurations: those that may be best and those behind, then those that are not ranked, by cause, and the failed ones."""

import math
import shutil
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.core.text.formatting import aligned, capitalised, count, listed, number, p_value, plural, shortened, signed
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.intervals import THIS_CORPUS
from workbench.measures.statistics.verdict import Reason
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.ranking import RankingRow, RankStatus, ScoreAxis, Unranked, best_unranked, grouped, ranking_rows, score_axis
from workbench.report.analysis.setting_names import NONE, SettingColumn, setting_columns
from workbench.report.analysis.standings import COVERAGE, Mean
from workbench.report.analysis.values import unscored_reasons
from workbench.report.cells import UNKNOWN, value_cell, words
from workbench.report.model import Block, Cell, Chip, Column, Prose, RankingLine, RankingTable, Row, Section, Table, Term, Terms
from workbench.report.results.run_tables import TRACEBACKS, RunTables
from workbench.report.sentences import difference_text, folder_of, screened_sentence, time_text
from workbench.report.topics.topic import COMPARED, Topic, same

_TELLING = ("recall", "precision", "irrelevant", "ndcg", "complete", "success")
# Columns of settings, and of further metrics by the number of these, so that the table is not wider than a page.
_MOST_SETTINGS, _MOST_METRICS = 4, {1: 3, 2: 2, 3: 0, 4: 0}
_MOST_REASONS = 3
_NAME_LENGTH = 40
# Values are filters in tables that are long enough, of columns with few values.
_FILTERED, _MOST_VALUES = 8, 4
# Scripts read what is not shown on a terminal: its rows are whole.
_TERMINAL = 1_000
SYMBOLS = {
    RankStatus.WINNER: "●",
    RankStatus.EQUIVALENT: "●",
    RankStatus.BEST: "●",
    RankStatus.BEHIND: "○",
    RankStatus.OUTSIDE: "○",
    RankStatus.UNTESTED: "◇",
    RankStatus.UNRANKED: "△",
    RankStatus.SCREENED: "△",
    RankStatus.FAILED: "✕",
}
_STATUSES = {status: str(status) for status in RankStatus} | {RankStatus.OUTSIDE: "not in the tie set"}
_TAGS = {"http": "service", "callable": "function", "mcp": "MCP server", "recorded": "recorded"}


def render(findings: Findings) -> list[Block]:
    """Show the ranking of all configurations, and name a score above the leader's that is not ranked."""
    rows = ranking_rows(findings)
    none = [] if any(row.place for row in rows) else [Prose("No configuration can be ranked.")]
    hidden = best_unranked(findings)
    above = [Prose(_hidden_sentence(findings, hidden))] if hidden and not none else []
    return [*none, *above, *([ranking_block(findings)] if rows else [])]


def failed(findings: Findings) -> Section | None:
    """Name the failed configurations of each cause. Returns None without any."""
    broken = [row for row in ranking_rows(findings) if row.status is RankStatus.FAILED]
    terms = [Term(listed([row.name for row in group]), group[0].error) for group in grouped(broken)]
    return Section("Failed", "failed", [Terms(terms)]) if terms else None


def lines(findings: Findings) -> list[str]:
    """Show the ranking in the terminal, no wider than it, then the configurations that are not ranked."""
    width = shutil.get_terminal_size((_TERMINAL, 24)).columns
    terminal: list[str] = []
    for group in grouped(ranking_rows(findings)):
        title = group_title(findings, group) or f"By {findings.primary}, with 95 % intervals and numbers of questions"
        terminal += ["", *textwrap.wrap(title, width), *_terminal_rows(findings, group, width)]
    return terminal


def _terminal_rows(findings: Findings, group: Sequence[RankingRow], width: int) -> list[str]:
    """Align the rows of a group. Full names, which commands take, come first. A row that is wider than the terminal is broken behind its name."""
    rows = []
    for row in group:
        status = "" if row.status is RankStatus.FAILED else status_text(findings, row, against_baseline=False)
        scored = ["", ""] if row.mean is None else [" ".join(filter(None, _score(row))) or "–", count(row.mean.n)]
        rows.append([row.name, *scored, f"{SYMBOLS[row.status]} {row.place or '–'}  {status}"])
    if sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) - 2 <= width:
        return aligned(rows, width)
    return [line.rstrip() for name, *rest in rows for line in (name, f"  {'  '.join(filter(None, rest))}")]


def _score(row: RankingRow) -> tuple[str, str]:
    if row.screened is not None:
        return number(row.screened.value), ""
    return (number(row.mean.value), row.mean.bounds()) if row.mean and row.mean.n else ("", "")


def status_text(findings: Findings, row: RankingRow, *, against_baseline: bool = True) -> str:
    """The status of a configuration in words: `behind #2, p = 0.027`. Optionally with the result against the baseline."""
    match row.status:
        case RankStatus.BEHIND if row.ahead is not None:
            return f"behind #{row.ahead.place}, {p_value(row.ahead.p)}"
        case RankStatus.WINNER | RankStatus.EQUIVALENT | RankStatus.BEST:
            return f"{_STATUSES[row.status]}{_against_baseline(findings, row) if against_baseline else ''}"
        case RankStatus.UNTESTED if findings.verdict is not None and findings.verdict.reason is Reason.ALONE:
            return "nothing to compare it with"
        case RankStatus.UNRANKED:
            return _unranked_text(row)
        case RankStatus.SCREENED if row.screened is not None:
            return f"{difference_text(row.screened)} by proxy"
    return _STATUSES[row.status]


def _against_baseline(findings: Findings, row: RankingRow) -> str:
    if row.pair is None or findings.reference is findings.first or not row.pair.simultaneous.excludes_zero:
        return ""
    # That a member of the tie set is worse than another is not claimed.
    better = (row.pair.difference.value > 0) == findings.primary.higher_is_better
    return ", better than the baseline" if better else ""


def _unranked_text(row: RankingRow) -> str:
    if row.standing is not None and row.cause is Unranked.WINDOW:
        return f"{count(row.standing.facts['truncated_chunks'])} of {plural(row.standing.facts['chunks'], 'chunk')} are cut"
    if row.mean is not None and row.cause is Unranked.COVERAGE:
        return f"{count(row.mean.n)} of {plural(row.mean.n + row.mean.unscored, 'question')} have a value"
    return "no question has a value"


def group_title(findings: Findings, group: Sequence[RankingRow]) -> str:
    """The heading of rows that share a cause, empty for the ranked ones."""
    row = group[0]
    if row.status is RankStatus.FAILED:
        return f"Failed: {plural(len(group), 'configuration')}, one cause: {row.error}" if len(group) > 1 else f"Failed: {row.error}"
    if row.status is RankStatus.SCREENED and findings.screened is not None:
        return f"Not run in full: {screened_sentence(findings.screened)}"
    match row.cause:
        case Unranked.WINDOW:
            window = plural(row.window, "token")
            return f"Not ranked: chunks longer than the embedder's window of {window}, so part of each is ignored"
        case Unranked.COVERAGE:
            share = round(100 * COVERAGE)
            return f"Not ranked: fewer than {share} % of the questions have a value, so the score is of other questions than the others"
        case Unranked.VALUES:
            return f"Not ranked: no question has a value of {findings.primary}"
    return ""


def _hidden_sentence(findings: Findings, row: RankingRow) -> str:
    value = row.mean.value if row.mean else math.nan
    return f"The best score, {number(value)}, is not ranked: {row.name}, {status_text(findings, row)}."


def ranking_table(findings: Findings) -> Table | None:
    """Tabulate all configurations for a notebook. Returns None if none can be ranked."""
    return ranking_block(findings).table if any(row.place for row in ranking_rows(findings)) else None


def ranking_block(findings: Findings) -> RankingTable:
    """The ranking as a table with interval plots, filters, and a legend."""
    rows, settings = ranking_rows(findings), setting_columns(findings)
    titles = [column.title for column in settings[:_MOST_SETTINGS]] or ["configuration"]
    if len(settings) > _MOST_SETTINGS:
        titles[-1] = "other settings"
    metrics, tracebacks = _further(findings, len(titles)), _tracebacks(findings)
    axis = score_axis(findings, rows)
    ticks = [(axis.at(tick), number(tick, axis.digits)) for tick in axis.ticks]
    columns, reference = _columns(findings, metrics), next((row for row in rows if row.reference), None)
    position = axis.at(reference.mean.value) if reference and reference.mean and len(rows) > 1 else None
    groups = [(group_title(findings, group), [_line(findings, row, metrics, axis, tracebacks) for row in group]) for group in grouped(rows)]
    note = _note(findings, rows, [line for _, group in groups for line in group])
    bounded = any(row.mean is not None and math.isfinite(row.mean.low) for row in rows)
    interval, table = "95 % interval" if bounded else "score", _plain_table(columns, groups, note)
    return RankingTable(titles, interval, columns, groups, ticks, position, _status_chips(rows), _value_chips(rows, settings), note, table)


def _columns(findings: Findings, metrics: Sequence[Metric]) -> list[Column]:
    """The columns behind the interval."""
    others = [Column(str(metric)) for metric in metrics]
    tested = any(math.isfinite(pair.low_adjusted) for pair in (findings.verdict.comparisons if findings.verdict else ()))
    difference = (
        [Column("against the baseline" if reference_words(findings) == "baseline" else "minus #1", note="simultaneous" if tested else "")]
        if _compared(findings)
        else []
    )
    return [
        Column("score", note=str(findings.primary)),
        *difference,
        *others,
        Column("status", "text", sorts=False),
        Column("time", note="per question"),
    ]


def _compared(findings: Findings) -> bool:
    return findings.verdict is not None and len(findings.verdict.ranked) > 1


def reference_words(findings: Findings) -> str:
    """The reference of the differences: the baseline, or else the best score."""
    return "baseline" if findings.reference is not None and findings.reference.name == findings.baseline else "best score"


def _further(findings: Findings, columns: int) -> list[Metric]:
    """The further metrics that the experiment names and that tell most, as many as fit beside the settings."""
    named = findings.manifest["experiment"].get("metrics", ())
    other = [metric for name, metric in findings.measures.items() if name in named and metric.name != findings.primary.name]
    order = {name: place for place, name in enumerate(_TELLING)}
    return sorted(other, key=lambda metric: order.get(metric.name, len(order)))[: _MOST_METRICS[columns]]


def _line(findings: Findings, row: RankingRow, metrics: Sequence[Metric], axis: ScoreAxis, tracebacks: Mapping[str, str]) -> RankingLine:
    texts = row.settings[:_MOST_SETTINGS]
    if len(row.settings) > _MOST_SETTINGS:
        rest = [text for text in row.settings[_MOST_SETTINGS - 1 :] if text not in ("", NONE)]
        texts = (*texts[:-1], " · ".join(rest))
    # A target has no settings, and a name that repeats another one's settings is the full name.
    label = "" if any(texts) and row.short != row.name else shortened([row.short], _NAME_LENGTH)[row.short]
    drawn = row.mean is not None and math.isfinite(row.mean.value)
    return RankingLine(
        name=row.name,
        place=str(row.place or "–"),
        status=row.status.name.lower(),
        said=_STATUSES[row.status],
        settings=texts,
        label=label,
        tag=_TAGS.get(row.target, row.target),
        mark=axis.mark(row.mean) if row.mean is not None and drawn else None,
        cells=_cells(findings, row, metrics),
        error=findings.failures[row.name] if row.error and row.error != findings.failures[row.name] else "",
        traceback=tracebacks.get(row.name, ""),
    )


def _tracebacks(run: RunTables) -> Mapping[str, str]:
    """The paths of the tracebacks that a sweep left, by configuration."""
    return {path.stem: f"{folder_of(run)}/{TRACEBACKS}/{path.name}" for path in (run.folder / TRACEBACKS).glob("*.txt")}


def _cells(findings: Findings, row: RankingRow, metrics: Sequence[Metric]) -> list[Cell]:
    """The cells of `_columns`. A failed configuration has none, since the heading tells the cause."""
    if row.status is RankStatus.FAILED:
        return []
    blank = Cell("", sort=math.nan)
    means = row.standing.means if row.standing else {}
    difference = [_difference_cell(findings, row)] if _compared(findings) else []
    others = [_metric_cell(means[str(metric)]) if means else blank for metric in metrics]
    status = Cell(status_text(findings, row), note=_unscored_text(findings, row))
    return [_score_cell(row), *difference, *others, status, _time_cell(row)]


def _unscored_text(findings: Findings, row: RankingRow) -> str:
    """The number of unscored questions of a ranked configuration, and the reasons if they are too many to rank it."""
    if row.mean is None or not row.mean.unscored or row.cause is Unranked.WINDOW:
        return ""
    if row.cause is None:
        return f"{plural(row.mean.unscored, 'question')} unscored"
    return listed(unscored_reasons(findings, row.name, str(findings.primary)), _MOST_REASONS)


def _score_cell(row: RankingRow) -> Cell:
    if row.screened is not None:
        return value_cell(row.screened.value, note="by proxy")
    if row.mean is None or not row.mean.n:
        return UNKNOWN
    return value_cell(row.mean.value, note=row.mean.bounds(), bounds=(row.mean.low, row.mean.high))


def _difference_cell(findings: Findings, row: RankingRow) -> Cell:
    if row.reference:
        return Cell(reference_words(findings), sort=0.0)
    if row.pair is None:
        return Cell("", sort=math.nan)
    pair = row.pair.simultaneous
    return value_cell(pair.value, shown=signed(pair.value), note=pair.bounds(), bounds=(pair.low, pair.high))


def _metric_cell(mean: Mean) -> Cell:
    notes = [f"of {number(mean.attainable)}"] if mean.attainable < 0.9995 else []
    notes += [f"over {count(mean.n)} of {count(mean.n + mean.unscored)}"] if mean.unscored else []
    return value_cell(mean.value, note=", ".join(notes))


def _time_cell(row: RankingRow) -> Cell:
    if row.costed is None or math.isnan(row.costed.costs["p50"]):
        return Cell("", sort=math.nan)
    text, once, _ = time_text(row.costed.costs["p50"], row.costed.ranges["p50"]).partition(" (one measurement)")
    return Cell(f"{text.replace(' to ', '–')} ms", sort=row.costed.costs["p50"], note=once.strip(" ()"))


def _status_chips(rows: Sequence[RankingRow]) -> list[Chip]:
    """A filter for each status, with the number of configurations. None if all have the same."""
    counts = Counter(row.status for row in rows)
    chips = [Chip(f"{count(counts[status])} {_STATUSES[status]}", status.name.lower()) for status in RankStatus if counts[status]]
    return [Chip(f"All {count(len(rows))}", ""), *chips] if len(chips) > 1 else []


def _value_chips(rows: Sequence[RankingRow], settings: Sequence[SettingColumn]) -> list[Chip]:
    """A filter for each value of the settings that have few, in a ranking that is long."""
    if len(rows) < _FILTERED:
        return []
    chips = []
    for place, column in enumerate(settings[:_MOST_SETTINGS]):
        times = Counter(column.texts.values())
        values = [value for value in column.values if times[value] > 1]
        if len(values) > 1 and len(column.values) <= _MOST_VALUES:
            chips += [Chip(f"no {column.title}" if value == NONE else value, value, place) for value in values]
    tags = dict.fromkeys(_TAGS.get(row.target, row.target) for row in rows if row.target)
    systems = f"{next(iter(tags))}s" if len(tags) == 1 and "recorded" not in tags else "other systems"
    return [*chips, *([Chip(systems, "", -1)] if tags and any(row.settings and any(row.settings) for row in rows) else [])]


def _plain_table(columns: Sequence[Column], groups: Sequence[tuple[str, Sequence[RankingLine]]], note: str) -> Table:
    """The same for views without a style sheet: the names in one column, and a word instead of each heading of a cause."""
    rows = []
    for title, group in groups:
        for line in group:
            symbol = SYMBOLS[RankStatus[line.status.upper()]]
            cells = list(line.cells) or [*[UNKNOWN] * (len(columns) - 2), Cell(title), UNKNOWN]
            if title and line.cells:
                cells[-2] = replace(cells[-2], note=title)
            rows.append(Row([Cell(line.name), Cell(f"{symbol} {line.place}"), *cells]))
    return Table(f"By {columns[0].note}", [words("configuration"), Column("#"), *columns], rows, note)


def legend(findings: Findings, rows: Sequence[RankingRow]) -> list[str]:
    """Explain the symbols, the line and the differences of rows of the ranking, each in a phrase."""
    statuses, verdict = {row.status for row in rows}, findings.verdict
    if verdict is None:
        return []
    tests, pairs = len(verdict.comparisons), len(verdict.pairs)
    corrected = f", corrected for all {count(pairs)} pairs" if pairs > 1 else ""
    meanings = {
        RankStatus.WINNER: f"● winner: better than each of the others{corrected}",
        RankStatus.BEST: f"● may be best: these contain the best with 95 % confidence{corrected}",
        RankStatus.EQUIVALENT: f"● equivalent: with 95 % confidence they differ by less than {number(verdict.smallest_difference)}",
        RankStatus.BEHIND: "○ behind: the one that is named is shown to be better",
        RankStatus.OUTSIDE: "○ not in the tie set: not the best with 95 % confidence, although no single comparison shows which one is better",
        RankStatus.UNTESTED: "" if verdict.reason is Reason.ALONE else f"◇ not tested ({verdict.reason}): the order is not a ranking",
    }
    phrases = [text for status, text in meanings.items() if status in statuses and text]
    if _compared(findings):
        phrases.append(f"dashed line: the {reference_words(findings).replace('best', 'best ranked')}")
    if any(row.pair is not None and math.isfinite(row.pair.simultaneous.low) for row in rows):
        phrases.append(f"intervals of differences hold for {f'all {tests} comparisons at once' if tests > 1 else 'this one comparison'}")
    return phrases


def _note(findings: Findings, rows: Sequence[RankingRow], shown: Sequence[RankingLine]) -> str:
    """Explain the ranking, as far as its rows need it."""
    sentences = [f"{capitalised(phrase)}." for phrase in legend(findings, rows)]
    if any(line.mark is not None and (line.mark.below or line.mark.above) for line in shown):
        sentences.append("An arrow points at what lies beyond the axis.")
    if any(mean.conditional for row in rows for mean in (row.mean, row.pair and row.pair.difference) if mean):
        sentences.append(THIS_CORPUS)
    return " ".join(sentences)


ranking = Topic("ranking", "Ranking", "Ranking", same, render, lines=lines, views=COMPARED)
