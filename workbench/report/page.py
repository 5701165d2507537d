"""Everything that is shown of a run, in the order in which it is read."""

from workbench.analysis.findings import findings
from workbench.report.model import Report, Section
from workbench.report.sections.budgets import curves, sizes
from workbench.report.sections.cards import cards
from workbench.report.sections.costs import costs
from workbench.report.sections.differences import differences
from workbench.report.sections.drill import drill_section
from workbench.report.sections.exploratory import exploratory
from workbench.report.sections.method import method, provenance
from workbench.report.sections.pairs import pairs
from workbench.report.sections.ranking import ranking
from workbench.report.sections.slices import slices
from workbench.report.text.summary import answered, headline, opening
from workbench.results.run_tables import RunTables


def document_of(run: RunTables) -> Report:
    """The document of a finished run; a section that has nothing to say is left out."""
    found = findings(run)
    folder = f"outputs/{run.name}"
    sections: tuple[Section | None, ...] = (
        ranking(found),
        differences(found),
        curves(found),
        sizes(found),
        costs(found),
        slices(found),
        pairs(found),
        drill_section(found, folder),
        exploratory(found),
        cards(found, folder),
        method(found),
        provenance(found, folder),
    )
    names = [*run.names, *run.failures]
    return Report(run.name, folder, names, headline(found), opening(found), answered(found), [one for one in sections if one])
