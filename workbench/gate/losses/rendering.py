"""The losses of a gate in the terminal and in Markdown."""

from collections.abc import Sequence
from dataclasses import replace

from workbench.analysis.losses import BrokenQuestion, broken_questions
from workbench.core.formatting import shortened
from workbench.gate.losses.lost_table import lost_table
from workbench.gate.lost import LostQuestion
from workbench.report.cells import table_lines
from workbench.report.model import Table
from workbench.report.render.plain import markdown
from workbench.report.topics.run.broken import causes_table, lost_sentence, short_table

_TERMINAL, _MARKDOWN = 10, 20


def lost_lines(lost: Sequence[LostQuestion], most: int = _TERMINAL) -> list[str]:
    """Write what the first questions lost as lines of a terminal. No line for no loss."""
    questions = _questions(lost)
    if not questions:
        return []
    return [f"What broke: {lost_sentence(questions)}", *table_lines(_narrow(short_table(questions, most)))]


def lost_markdown(lost: Sequence[LostQuestion], most: int = _MARKDOWN) -> str:
    """Write what the first questions lost as Markdown: a sentence, the causes, and a table. Empty for no loss."""
    questions = _questions(lost)
    if not questions:
        return ""
    parts = [f"#### What broke\n\n{lost_sentence(questions).capitalize()}"]
    parts += [part for table in (causes_table(questions), short_table(questions, most)) for part in markdown(replace(table, caption=""))]
    return "\n\n".join(parts) + "\n"


def _questions(lost: Sequence[LostQuestion]) -> list[BrokenQuestion]:
    return broken_questions(lost_table("", lost), {each.query_id: each.question for each in lost})


def _narrow(table: Table) -> Table:
    """Shorten the names of questions and documents, so that lines stay readable."""
    names = [shortened(row.cells[place].text for row in table.rows) for place in (0, 1)]
    rows = [
        replace(row, cells=[*(replace(row.cells[at], text=names[at][row.cells[at].text]) for at in (0, 1)), *row.cells[2:]])
        for row in table.rows
    ]
    return replace(table, rows=rows)
