"""One configuration: its settings, its metrics, why it misses what it misses, and a card that holds all of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.questions.failure_summary import faults_of
from workbench.analysis.questions.miss_causes import cause_meanings
from workbench.analysis.standings import Standing
from workbench.analysis.values import per_query
from workbench.core.formatting import interval, number, plural, share
from workbench.report.cells import count_cell, text, value_cell, words
from workbench.report.model import Block, Cell, Column, Fold, Prose, QuestionLinks, Row, Section, Table, Term, Terms
from workbench.report.sections.chunks import faults_table, lengths_sentence
from workbench.report.sections.separation import index_gap, latency
from workbench.results.run_tables import RunTables

_WORST = 5


def cards(found: Findings, folder: str) -> Section | None:
    """A card for each finished configuration, the ranked ones first; None where none was finished."""
    standings = [*found.standings.ranked, *found.standings.windowed]
    told = "What it is, why it misses what it misses, the faults of its chunks, and its worst questions. The executed notebook of each says more."
    folds = [_card(number, found, one, folder) for number, one in enumerate(standings, 1)]
    return Section("Each configuration", "configurations", [Prose(told), *folds], "Configurations") if folds else None


def settings(run: RunTables, standing: Standing) -> list[Term]:
    """The settings of each stage, and what they make."""
    facts, entries = standing.facts, []
    for stage, values in run.configurations_settings[standing.name].items():
        if values is not None:
            entries.append(Term(stage, _stage(stage, values)))
    embedded = f", {plural(facts['tokens'], 'token')} to embed" if facts["tokens"] else ""
    made = f"{plural(facts['chunks'], 'chunk')}{embedded}; {plural(round(facts['delivered_tokens']), 'token')} delivered a question"
    cut = (
        f", {plural(facts['truncated_tokens'], 'token')} of {plural(facts['truncated_chunks'], 'chunk')} cut off" if facts["window"] else ""
    )
    window = f"{plural(facts['window'], 'token')}{cut}" if facts["window"] else "none"
    return [*entries, Term("made of it", made), Term("window", window), Term("lengths", f"{lengths_sentence(run, standing)}.")]


def metrics_table(standing: Standing, number_: int = 1) -> Table:
    """Every metric with its interval, what it is a mean of, and what is attainable."""
    columns = [words("metric"), Column("mean"), Column("95 % interval", sorts=False), Column("attainable"), Column("questions")]
    rows = []
    for mean in standing.means.values():
        counts = [count_cell(mean.n), count_cell(mean.clusters), count_cell(mean.unscored)]
        rows.append(
            Row([Cell(mean.metric), value_cell(mean.value), Cell(interval(mean.low, mean.high)), value_cell(mean.attainable), *counts])
        )
    caption = "Every metric: means over scored questions, intervals clustered by document"
    return Table(f"metrics-{number_}", caption, [*columns, Column("clusters"), Column("unscored")], rows)


def misses_table(run: RunTables, configuration: str, number_: int = 1) -> Table | None:
    """How many questions miss something by which cause; None where none does."""
    found = faults_of(run, configuration)
    meanings = cause_meanings(run)
    rows = [
        Row([Cell(cause), count_cell(many), value_cell(part, shown=share(many, found.of)), Cell(meanings[cause])])
        for cause, (many, part) in found.causes.items()
    ]
    columns = [words("cause"), Column("questions"), Column("share"), text("which means")]
    return Table(f"misses-{number_}", f"Why questions miss something, of {plural(found.of, 'question')}", columns, rows) if rows else None


def worst_links(run: RunTables, configuration: str) -> QuestionLinks:
    """The questions with the worst values, each leading to its drill-down."""
    values = per_query(run, configuration, str(run.primary))
    scored = np.flatnonzero(~np.isnan(values))
    sign = 1 if run.primary.higher_is_better else -1
    first = scored[np.argsort(sign * values[scored], kind="stable")][:_WORST]
    rows = run.questions.iloc[first]
    items = [(number(value), query, asked) for value, query, asked in zip(values[first], rows["query_id"], rows["text"], strict=True)]
    return QuestionLinks("Worst questions", items)


def _card(number_: int, found: Findings, standing: Standing, folder: str) -> Fold:
    run, name = found.run, standing.name
    notebook = Term("notebook", f"{folder}/notebooks/{name}.ipynb", code=True)
    misses, worst = misses_table(run, name, number_), worst_links(run, name)
    blocks: list[Block] = [Terms([*settings(run, standing), notebook])]
    blocks += [misses] if misses else []
    blocks += [faults_table(run, name, number_), *([worst] if worst.items else []), metrics_table(standing, number_)]
    blocks += [latency(run, name, number_), *index_gap(run, name, number_)]
    return Fold(name, blocks, f"{found.primary} {standing.means[str(found.primary)].text()}", "portrait")


def _stage(stage: str, values: Mapping[str, Any]) -> str:
    # The chunking's model is that of the embedding; it only counts.
    hidden = ("kind", "model") if stage == "chunking" else ("kind",)
    kept = [f"{field} {value}" for field, value in values.items() if value is not None and value is not False and field not in hidden]
    return ", ".join([str(values["kind"]), *kept])
