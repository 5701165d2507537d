"""Questions of one configuration: all of them as a table, and the worst with what was delivered for them."""

import numpy as np

from workbench.analysis.questions.worst_queries import ShownChunk, ShownNeed, ShownQuery, worst_queries
from workbench.analysis.values import per_query
from workbench.core.formatting import count, number, plural
from workbench.report.cells import text, value_cell, words
from workbench.report.model import Block, Cell, Column, Excerpt, Prose, QuestionCard, Row, Table
from workbench.results.run_tables import RETRIEVED, RunTables

_MOST_ROWS = 100
_MOST_METRICS = 4
_WORST = 5


def questions_table(run: RunTables, configuration: str) -> Table:
    """Question by question, the worst by the primary metric first."""
    metrics = list(dict.fromkeys([str(run.primary), *run.measures]))[:_MOST_METRICS]
    values = {metric: per_query(run, configuration, metric) for metric in metrics}
    first = values[metrics[0]] * (1 if run.primary.higher_is_better else -1)
    order = np.argsort(np.where(np.isnan(first), np.inf, first), kind="stable")
    notes = _notes(run, configuration)
    rows = []
    for place in order[:_MOST_ROWS].tolist():
        question = run.questions.iloc[place]
        query_id = str(question["query_id"])
        told = Cell(str(question["text"]) + notes.get(query_id, ""))
        rows.append(Row([Cell("", query_id, queries=(query_id,)), *(value_cell(values[metric][place]) for metric in metrics), told]))
    shown = f"the {count(_MOST_ROWS)} worst of {count(len(order))}" if len(order) > _MOST_ROWS else "worst first"
    return Table("questions", f"Questions by {run.primary}, {shown}", [words("question"), *map(Column, metrics), text("text")], rows)


def worst(run: RunTables, configuration: str) -> list[Block]:
    """The worst questions with their evidence and the slices delivered for them."""
    found = worst_queries(run, configuration, _WORST)
    if not found:
        return [Prose(f"Every question reaches the attainable maximum of {run.primary}.")]
    answers = dict(zip(run.questions["query_id"], run.questions["answer"], strict=True))
    return [_question(run, one, str(answers[one.query_id] or "")) for one in found]


def _notes(run: RunTables, configuration: str) -> dict[str, str]:
    """By query why it has no value of the primary metric."""
    rows = run.of("queries", configuration)
    rows = rows[(rows["metric"] == str(run.primary)) & (rows["condition"] == RETRIEVED) & (rows["state"] != "scored")]
    states = rows["state"].str.replace("_", " ")
    return {query: f" ({state}: {reason})" for query, state, reason in zip(rows["query_id"], states, rows["reason"], strict=True)}


def _question(run: RunTables, one: ShownQuery, answer: str) -> QuestionCard:
    expected = f" · expected: {answer}" if answer else ""
    chunks = [passage for chunk in one.chunks for passage in (*_skipped(chunk.skipped), _delivered(chunk))]
    about = f"{run.primary} {number(one.value)}{expected}"
    return QuestionCard(one.query_id, one.text, about, [_need(need) for need in one.needs], [*chunks, *_skipped(one.skipped)])


def _need(need: ShownNeed) -> Excerpt:
    others = f", or {plural(need.others, 'other place')}" if need.others else ""
    return Excerpt(need.state, f"{need.doc_id}:{need.start}-{need.end}{others}", need.pieces)


def _delivered(chunk: ShownChunk) -> Excerpt:
    known = chunk.relevance
    grade = "" if not known else " · relevant document" if known > 0 else " · known to be irrelevant"
    return Excerpt(str(chunk.rank), f"{chunk.doc_id}:{chunk.start}-{chunk.end} · score {number(chunk.score)}{grade}", chunk.pieces)


def _skipped(chunks: int) -> list[Excerpt]:
    return [Excerpt("", f"{count(chunks)} more without evidence")] if chunks else []
