"""Render a run as text: lines for the terminal, and Markdown for a comment on a pull request."""

import re

from workbench.analysis.findings import findings
from workbench.core.formatting import aligned
from workbench.report.model import Block, Lines, Prose, Section, Table, Terms
from workbench.report.summary import answered, answers, headline, opening
from workbench.report.text.answers import answer_lines
from workbench.report.text.delivery import delivery_notes
from workbench.report.text.drafts import beside_verdict
from workbench.report.text.sentences import screened_sentence
from workbench.report.topics.retrieval.parts import part_answers
from workbench.report.topics.retrieval.ranking import failed, screened, short_table, uncovered, windowed
from workbench.results.run_tables import RunTables

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")


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
