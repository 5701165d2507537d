"""The sections of the report, in the order in which they are read."""

from workbench.analysis.findings import findings
from workbench.report.model import Report
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
from workbench.report.text.sentences import folder_of
from workbench.report.text.summary import answered, headline, opening
from workbench.results.run_tables import RunTables

_SECTIONS = (ranking, differences, curves, sizes, costs, slices, pairs, drill_section, exploratory, cards, method, provenance)


def document_of(run: RunTables) -> Report:
    """Build the report of a finished run; a section that has nothing to say is left out."""
    found = findings(run)
    sections = [section for build in _SECTIONS if (section := build(found))]
    return Report(run.name, folder_of(run), [*run.names, *run.failures], headline(found), opening(found), answered(found), sections)
