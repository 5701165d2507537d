"""Render a run as text: lines for the terminal, and Markdown for a comment on a pull request."""

import re

from workbench.report.analysis.findings import findings
from workbench.report.model import Block, Lines, Prose, Section, Summary, Table, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.registry import TOPICS, answered, headline, opening

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")


def summary_lines(run: RunTables) -> list[str]:
    """Summarise a run: configurations by the primary metric with the tie set marked, then the verdict."""
    return [line for topic in TOPICS for line in topic.terminal_lines(findings(run))]


def summary_markdown(run: RunTables) -> str:
    """Summarise a run: headline, ranking, configurations that are not ranked, and answers."""
    conclusions = findings(run)
    lead = headline(conclusions)
    blocks = [
        *map(Prose, opening(conclusions)),
        *(block for topic in TOPICS for block in topic.markdown_blocks(conclusions)),
        answered(conclusions),
    ]
    title = f"### {escaped(run.name)}: {escaped(f'{lead.text} {lead.aside}'.strip())}"
    return "\n\n".join([title, *(part for block in blocks for part in markdown(block))]) + "\n"


def markdown(block: Block) -> list[str]:
    """Render a block as paragraphs, without figures and drill-downs, which need a page."""
    match block:
        case Table():
            return [part for part in (markdown_table(block), escaped(block.caption), escaped(block.note)) if part]
        case Section():
            return [f"#### {escaped(block.title)}", *(part for inner in block.blocks for part in markdown(inner))]
        case Prose():
            return [escaped(block.text)]
        case Lines():
            return ["\n".join(f"- {escaped(item)}" for item in block.items)]
        case Terms():
            return ["\n".join(f"- **{escaped(term.name)}**: {escaped(term.text)}" for term in block.items)]
        case Summary():
            return [f"**{escaped(each.question)}** {escaped(each.sentence)}" for each in block.items]
        case _:
            return []


def markdown_table(table: Table) -> str:
    """Render a table with pipes, numbers aligned right, notes in brackets."""
    rows = [[_cell(column.title, column.note) for column in table.columns]]
    rows.append(["--:" if column.kind == "number" else "---" for column in table.columns])
    rows += [[_cell(cell.text or ", ".join(cell.queries), cell.note) for cell in row.cells] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str, note: str) -> str:
    return escaped(f"{text} ({note})" if text and note else text or note)


def escaped(text: str) -> str:
    """Escape a text so that Markdown and HTML show it as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
