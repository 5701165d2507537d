"""Questions of one configuration: a table of all, and the worst with their delivered chunks."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.analysis.questions.worst_queries import ShownChunk, ShownNeed, ShownQuery, worst_queries
from workbench.analysis.values import metadata, per_query, rewrites
from workbench.core.formatting import count, number, plural
from workbench.report.cells import question_row, text, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Table, Term, Terms
from workbench.results.run_tables import RETRIEVED, WHERE, RunTables

_MOST_METRICS = 4
_WORST = 5


def questions_table(run: RunTables, configuration: str, most: int = 100) -> Table:
    """Tabulate the `most` worst questions of a configuration by the primary metric, the worst first."""
    metrics = list(dict.fromkeys([str(run.primary), *run.measures]))[:_MOST_METRICS]
    values = {metric: per_query(run, configuration, metric) for metric in metrics}
    first = values[metrics[0]] * (1 if run.primary.higher_is_better else -1)
    # NaN sorts to the end.
    order = np.argsort(first, kind="stable")
    notes, searched, filters, rows = _notes(run, configuration), rewrites(run, configuration), _filters(run), []
    for place in order[:most].tolist():
        question = run.questions.iloc[place]
        query_id = str(question["query_id"])
        asked = f"{question['text']}{filters.get(query_id, '')}{notes.get(query_id, '')}"
        row = question_row(query_id, [values[metric][place] for metric in metrics], asked)
        rows.append(replace(row, cells=[*row.cells, Cell(" | ".join(searched.get(query_id, ())))]) if searched else row)
    shown = f"the {count(most)} worst of {count(len(order))}" if len(order) > most else "worst first"
    caption = f"Questions by {run.primary}, {shown}"
    columns = [words("question"), *map(Column, metrics), text("text"), *([text("searched instead")] if searched else [])]
    return Table(caption, columns, rows)


def worst(run: RunTables, configuration: str) -> list[Block]:
    """Show the worst questions, each with its evidence and delivered chunks."""
    queries = worst_queries(run, configuration, _WORST)
    if not queries:
        return [Prose(f"Every question reaches the attainable maximum of {run.primary}.")]
    answers, searched = dict(zip(run.questions["query_id"], run.questions["answer"], strict=True)), rewrites(run, configuration)
    filters = _filters(run)
    return [
        _question(
            run,
            replace(query, text=query.text + filters.get(query.query_id, "")),
            str(answers[query.query_id] or ""),
            searched.get(query.query_id, []),
        )
        for query in queries
    ]


def _filters(run: RunTables) -> dict[str, str]:
    """The filter of each question that has one, as a note after its text."""
    fields = zip(run.questions["query_id"], metadata(run), strict=True)
    return {query_id: f" (documents where {each[WHERE]})" for query_id, each in fields if WHERE in each}


def _notes(run: RunTables, configuration: str) -> dict[str, str]:
    rows = run.of("queries", configuration)
    rows = rows[(rows["metric"] == str(run.primary)) & (rows["condition"] == RETRIEVED) & (rows["state"] != "scored")]
    states = rows["state"].str.replace("_", " ")
    return {query: f" ({state}: {reason})" for query, state, reason in zip(rows["query_id"], states, rows["reason"], strict=True)}


def _question(run: RunTables, query: ShownQuery, answer: str, searched: Sequence[str]) -> Collapsible:
    expected = f" · expected: {answer}" if answer else ""
    chunks = [term for chunk in query.chunks for term in (*_skipped(chunk.skipped), _chunk(chunk))]
    blocks: list[Block] = [Prose(f"Searched instead: {' | '.join(searched)}")] if searched else []
    blocks += [Prose("Evidence needed"), Terms([_need(need) for need in query.needs], label="delivered")] if query.needs else []
    blocks += [Prose("Delivered, by rank"), Terms([*chunks, *_skipped(query.skipped)], label="evidence")] if chunks else []
    return Collapsible(query.text, blocks, f"{query.query_id} · {run.primary} {number(query.value)}{expected}", opened=True)


def _need(need: ShownNeed) -> Term:
    others = f", or {plural(need.others, 'alternative')}" if need.others else ""
    return Term(need.state, f"{need.doc_id}:{need.start}-{need.end}{others}", pieces=need.pieces)


def _chunk(chunk: ShownChunk) -> Term:
    grade = "" if not chunk.relevance else " · relevant document" if chunk.relevance > 0 else " · known to be irrelevant"
    description = f"{chunk.doc_id}:{chunk.start}-{chunk.end} · score {number(chunk.score)}{grade}"
    return Term(str(chunk.rank), description, pieces=chunk.pieces)


def _skipped(chunks: int) -> list[Term]:
    return [Term("", f"{count(chunks)} more without evidence")] if chunks else []
