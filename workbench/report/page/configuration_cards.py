"""A short section for each configuration: what it is, what it misses, the faults of its chunks, its worst questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.analysis.failure_summary import counted_causes
from workbench.analysis.findings import Findings
from workbench.analysis.pairwise import Examined
from workbench.analysis.standings import Standing
from workbench.attribution.chunk_faults import diagnose
from workbench.attribution.evidence_causes import CAUSES, DOCUMENT_CAUSES
from workbench.core.formatting import count, number, plural, share
from workbench.pipeline.context import RunContext
from workbench.report.page.table import Cell, Column, Row, Table, value_cell

_WORST = 5


@dataclass(frozen=True)
class Worst:
    """A question that a configuration serves badly."""

    query_id: str
    text: str
    value: str


@dataclass(frozen=True)
class ConfigurationCard:
    """One configuration in short."""

    name: str
    value: str
    settings: Sequence[tuple[str, str]]
    misses: Table | None
    faults: Table
    metrics: Table
    worst: Sequence[Worst]
    notebook: str


def portraits(bench: RunContext, found: Findings, looked: Mapping[str, Examined]) -> list[ConfigurationCard]:
    """Those of all finished configurations, the ranked ones first; `looked` holds them by name."""
    standings = [*found.standings.ranked, *found.standings.windowed]
    return [_portrait(number, bench, found, standing, looked[standing.name]) for number, standing in enumerate(standings, 1)]


def _portrait(number_: int, bench: RunContext, found: Findings, standing: Standing, looked: Examined) -> ConfigurationCard:
    return ConfigurationCard(
        standing.name,
        f"{found.primary} {standing.means[str(found.primary)].text()}",
        _settings(standing),
        _misses(number_, bench, found, looked),
        _faults(number_, bench, standing),
        _metrics(number_, standing),
        _worst(bench, found, looked),
        f"notebooks/{standing.name}.ipynb",
    )


def _settings(standing: Standing) -> list[tuple[str, str]]:
    chosen, summary = standing.result.configuration, standing.result.summary
    # The chunking's model is that of the embedding; it only counts.
    stages = {"chunking": chosen.chunking.model_dump(exclude={"model"})}
    stages |= {"embedding": chosen.embedding.model_dump()} if chosen.embedding else {}
    stages |= {"retrieval": chosen.retrieval.model_dump()}
    rows = []
    for stage, values in stages.items():
        kept = [f"{field} {value}" for field, value in values.items() if value is not None and value is not False and field != "kind"]
        rows.append((stage, ", ".join([str(values["kind"]), *kept])))
    made = f"{plural(summary['chunks'], 'chunk')}, {count(summary['delivered_tokens'])} tokens delivered a question"
    window = f"{count(summary['window'])} tokens, {count(summary['truncated_tokens'])} cut off" if summary["window"] else "none"
    return [*rows, ("made of it", made), ("window", window)]


def _misses(number_: int, bench: RunContext, found: Findings, looked: Examined) -> Table | None:
    of, causes = counted_causes(looked)
    if not causes:
        return None
    of_text = found.primary.family in ("spans", "chunks") and bool(bench.dataset.needs)
    told = CAUSES if of_text else CAUSES | DOCUMENT_CAUSES
    rows = [
        Row([Cell(cause), value_cell(many, 0), Cell(share(many, of), sort=part), Cell(told[cause])])
        for cause, (many, part) in causes.items()
    ]
    headings = [Column("cause", "word"), Column("questions"), Column("share"), Column("which means", "text", sorts=False)]
    return Table(f"misses-{number_}", f"Why questions miss something, of {plural(of, 'question')}", headings, rows)


def _faults(number_: int, bench: RunContext, standing: Standing) -> Table:
    rows = [
        Row(
            [
                Cell(one.name),
                value_cell(one.found, 0),
                Cell(f"{share(one.found, one.of)} of {count(one.of)} {one.unit}", sort=one.found / one.of if one.of else 0.0),
                Cell(one.definition),
            ]
        )
        for one in diagnose(bench, standing.result)
    ]
    headings = [Column("fault", "word"), Column("found"), Column("share"), Column("which means", "text", sorts=False)]
    return Table(f"faults-{number_}", "Faults of the chunks", headings, rows)


def _metrics(number_: int, standing: Standing) -> Table:
    headings = [
        Column("metric", "word"),
        Column("mean"),
        Column("95 % interval", sorts=False),
        Column("attainable"),
        Column("questions"),
        Column("unscored"),
    ]
    rows = []
    for mean in standing.means.values():
        bounds = mean.text().partition(" ")[2]
        rows.append(
            Row(
                [
                    Cell(mean.metric),
                    value_cell(mean.value),
                    Cell(bounds),
                    value_cell(mean.attainable),
                    value_cell(mean.n, 0),
                    value_cell(mean.unscored, 0),
                ]
            )
        )
    return Table(f"metrics-{number_}", "Every metric", headings, rows)


def _worst(bench: RunContext, found: Findings, looked: Examined) -> list[Worst]:
    scored = np.flatnonzero(~np.isnan(looked.values))
    sign = 1 if found.primary.higher_is_better else -1
    first = scored[np.argsort(sign * looked.values[scored], kind="stable")][:_WORST].tolist()
    queries = bench.dataset.queries
    return [Worst(queries[at].query_id, queries[at].text, number(looked.values[at])) for at in first]
