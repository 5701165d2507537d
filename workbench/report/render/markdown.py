"""A summary as Markdown, for a comment on a pull request."""

import re

from workbench.analysis.findings import findings
from workbench.report.model import Block, Lines, Prose, Section, Table, Terms
from workbench.report.sections.ranking import failed, screened, short_table, uncovered, windowed
from workbench.report.text.summary import answered, headline, opening
from workbench.results.run_tables import RunTables

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")


def summary_markdown(run: RunTables) -> str:
    """Summarise a run: headline, ranking, configurations that are not ranked, and answers."""
    conclusions = findings(run)
    lead = headline(conclusions)
    ranked = conclusions.standings.ranked
    blocks: list[Block | None] = [*map(Prose, opening(conclusions)), short_table(conclusions, ranked) if ranked else None]
    blocks += [uncovered(conclusions), windowed(conclusions), screened(conclusions), failed(conclusions)]
    replies = [f"**{escaped(answer.question)}** {escaped(answer.sentence)}" for answer in answered(conclusions).items]
    title = f"### {escaped(run.name)}: {escaped(f'{lead.text} {lead.aside}'.strip())}"
    text = [title, *(part for block in blocks if block for part in markdown(block)), *replies]
    return "\n\n".join(text) + "\n"


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
