"""The summary in the terminal after a sweep."""

from workbench.analysis.findings import findings
from workbench.core.formatting import aligned
from workbench.report.model import Table
from workbench.report.sections.ranking import short_table
from workbench.report.text.answers import answer_lines
from workbench.report.text.delivery import delivery_notes
from workbench.report.text.drafts import beside_verdict
from workbench.report.text.parts import part_answers
from workbench.report.text.sentences import screened_sentence
from workbench.report.text.summary import answers
from workbench.results.run_tables import RunTables


def summary_lines(run: RunTables) -> list[str]:
    """Summarise a run: configurations by the primary metric with the tie set marked, then the verdict."""
    conclusions = findings(run)
    ranked, cut = conclusions.standings.ranked, conclusions.standings.windowed
    lines = ["", *table_lines(short_table(conclusions, ranked))] if ranked else []
    if cut:
        caption = "not ranked: their chunks are longer than the embedder's window"
        lines += ["", caption, *table_lines(short_table(conclusions, cut))[1:]]
    if few := conclusions.standings.uncovered:
        lines += ["", "not ranked: too few of their questions have a value", *table_lines(short_table(conclusions, few))[1:]]
    lines += [f"{configuration}: FAILED, {error}" for configuration, error in conclusions.failures.items()]
    answer = answers(conclusions)
    tested = [answer.certainty.sentence, answer.more.sentence] if conclusions.margin else []
    aside = [screened_sentence(conclusions.screening)] if conclusions.screening else []
    return [
        *lines,
        "",
        *aside,
        *delivery_notes(run),
        *beside_verdict(run, conclusions.verdict),
        answer.won.sentence,
        *([answer.margin.sentence] if conclusions.first else []),
        *tested,
        *(each.sentence for each in part_answers(conclusions)),
        *answer_lines(conclusions),
    ]


def table_lines(table: Table) -> list[str]:
    """Render a table as aligned columns of text between the titles and the note."""
    rows = [[column.title for column in table.columns], *([cell.text for cell in row.cells] for row in table.rows)]
    return [*aligned(rows), *([table.note] if table.note else [])]
