"""All that the page shows of a run, made from its findings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from workbench.analysis.findings import findings
from workbench.analysis.pairwise import examined
from workbench.execution.local import Outcome
from workbench.execution.outputs import manifest
from workbench.report.page import figures, method
from workbench.report.page.configuration_cards import ConfigurationCard, portraits
from workbench.report.page.figures import Drawing
from workbench.report.page.grids import grid_sheets
from workbench.report.page.pairs import Pair, pairs
from workbench.report.page.payload import Payload, payload
from workbench.report.page.ranking import ranking_sheet, screened_sheet, windowed_rows
from workbench.report.page.slices import slice_means, slices_map, slices_sheet
from workbench.report.page.table import Table
from workbench.report.text.sentences import about_primary
from workbench.report.text.summary import Answers, answers


@dataclass(frozen=True)
class Page:
    """The parts of the page in their order; a part that there is nothing to say in is None or empty."""

    title: str
    names: Sequence[str]
    folder: str
    primary: str
    answers: Answers
    ranking: Table | None
    windowed: Sequence[tuple[str, str]]
    failures: dict[str, str]
    screened: Table | None
    differences: Drawing | None
    curves: Drawing | None
    grids: Sequence[Table]
    frontiers: Sequence[Drawing]
    costs: Table | None
    slices: Table | None
    slices_map: Table | None
    pairs: Sequence[Pair]
    payload: Payload | None
    portraits: Sequence[ConfigurationCard]
    about_primary: str
    methods: Sequence[str]
    definitions: Sequence[tuple[str, str, str]]
    causes: Sequence[tuple[str, str]]
    provenance: Sequence[tuple[str, Sequence[tuple[str, str]]]]

    @property
    def headline(self) -> tuple[str, str]:
        """What won, and what the sentence puts in brackets."""
        told, bracket, aside = self.answers.won.sentence.partition(" (")
        return told, f"({aside}" if bracket else ""

    def named(self, text: str) -> Markup:
        """A sentence with the names of configurations set apart, so that none is broken at a hyphen."""
        names = sorted((re.escape(name) for name in self.names), key=len, reverse=True)
        if not names:
            return escape(text)
        text = re.sub(r"\bp ([=<]) ", "p\u00a0\\1\u00a0", text)
        parts = re.split(rf"(?<![\w.-])({'|'.join(names)})(?![\w-])", text)
        return Markup("").join(Markup('<span class="name">{}</span>').format(part) if at % 2 else part for at, part in enumerate(parts))

    @property
    def some_level(self) -> bool:
        """Whether some but not all of the ranked cannot be told from the best."""
        rows = self.ranking.rows if self.ranking else ()
        return 0 < sum(row.level for row in rows) < len(rows)

    @property
    def contents(self) -> list[tuple[str, str]]:
        """Anchor and name of every part that is there."""
        places = (
            ("ranking", "Order", True),
            ("differences", "Differences", self.differences),
            ("budgets", "Tokens", self.curves),
            ("sizes", "Sizes", self.grids),
            ("costs-section", "Cost", self.costs),
            ("slices", "Slices", self.slices),
            ("pairs", "Pairs", self.pairs),
            ("queries", "Questions", self.payload),
            ("configurations", "Configurations", self.portraits),
            ("method", "Method", True),
            ("provenance", "Provenance", True),
        )
        return [(anchor, name) for anchor, name, there in places if there]


def page_of(outcome: Outcome) -> Page:
    """The page of a finished run."""
    found, bench = findings(outcome), outcome.bench
    means = slice_means(bench, found)
    finished = [*found.standings.ranked, *found.standings.windowed]
    looked = {one.name: examined(bench, one.result, found.primary) for one in finished}
    return Page(
        title=outcome.experiment.name,
        names=[one.name for one in outcome.experiment.configurations],
        folder=f"outputs/{outcome.experiment.name}",
        primary=str(found.primary),
        answers=answers(found),
        ranking=ranking_sheet(found, bench.metrics),
        windowed=windowed_rows(found),
        failures=found.failures,
        screened=screened_sheet(found),
        differences=figures.differences(found),
        curves=figures.curves(found),
        grids=grid_sheets(found),
        frontiers=figures.costs(found),
        costs=figures.costs_sheet(found.priced) if found.priced else None,
        slices=slices_sheet(found, means),
        slices_map=slices_map(found, means),
        pairs=pairs(bench, found, looked) if len(found.standings.ranked) > 1 else (),
        payload=payload(bench, list(looked.values()), found.primary) if finished else None,
        portraits=portraits(bench, found, looked),
        about_primary=about_primary(found.primary, bench.dataset),
        methods=method.methods(found),
        definitions=method.metric_definitions(bench.metrics),
        causes=method.causes(found),
        provenance=method.provenance(manifest(outcome)),
    )
