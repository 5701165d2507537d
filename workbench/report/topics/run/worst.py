"""Questions of one configuration: a table of all, and the worst with the evidence delivered and missed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.analysis.passages import Piece, Stretch, against_delivered, marked, passage_of
from workbench.analysis.values import detail, metadata, per_query, rewrites
from workbench.core.formatting import count, number, plural
from workbench.metrics.coverage import Ints
from workbench.report.cells import question_row, text, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Table, Term, Terms
from workbench.results.run_tables import RETRIEVED, WHERE, RunTables

# The first chunks by rank are always shown, later ones only if they contain evidence.
_SHOWN = 4
_BESIDE = 60
_MOST_METRICS = 4
_WORST = 5


class ShownNeed(NamedTuple):
    """A piece of evidence, shown by the alternative that was delivered best. `others` counts its other alternatives."""

    state: Literal["delivered", "partly delivered", "missed"]
    doc_id: str
    start: int
    end: int
    others: int
    pieces: Sequence[Piece]


def worst_places(run: RunTables, configuration: str) -> Ints:
    """Return the positions of the questions that do not reach their attainable value of the primary metric, the worst first."""
    values, higher = per_query(run, configuration, str(run.primary)), run.primary.higher_is_better
    attainable = detail(run, configuration, "attainable")
    best = np.where(np.isnan(attainable), np.inf, attainable) if higher else np.zeros(len(values))
    faulty = np.flatnonzero((best - values if higher else values) > 1e-9)
    return faulty[np.argsort(values[faulty] if higher else -values[faulty], kind="stable")]


def delivered_chunks(run: RunTables, query_id: str, delivered: pd.DataFrame) -> list[Term]:
    """Describe the rows of `context` that were delivered for a question. After the first ones, those without evidence are only counted."""
    graded = run.judgements[run.judgements["query_id"] == query_id].set_index("doc_id")["relevance"].to_dict()
    evidence = run.evidence[run.evidence["query_id"] == query_id]
    terms, skipped = list[Term](), 0
    for rank, row in enumerate(delivered.to_dict("records"), 1):
        doc_id, start, end, grade = row["doc_id"], row["start"], row["kept"], graded.get(row["doc_id"])
        own = evidence[evidence["doc_id"] == doc_id]
        stretches: list[Stretch] = [(low, high, "delivered") for low, high in zip(own["start"], own["end"], strict=True)]
        pieces = marked(passage_of(run, doc_id, start, end), start, end, stretches)
        if rank > _SHOWN and all(piece.role == "plain" for piece in pieces):
            skipped += 1
            continue
        relevance = "" if not grade else " · relevant document" if grade > 0 else " · known to be irrelevant"
        description = f"{doc_id}:{start}-{end} · score {number(row['score'])}{relevance}"
        terms += [*_skipped(skipped), Term(str(rank), description, pieces=pieces)]
        skipped = 0
    return [*terms, *_skipped(skipped)]


def shown_need(run: RunTables, alternatives: pd.DataFrame, delivered: pd.DataFrame) -> ShownNeed:
    """Mark what was delivered of a piece of evidence: rows of `evidence`, and those of `context` of which a part was delivered."""
    candidates = []
    for doc_id, start, end in zip(alternatives["doc_id"], alternatives["start"], alternatives["end"], strict=True):
        passage, slices = passage_of(run, doc_id, start, end), delivered[delivered["doc_id"] == doc_id]
        stretches = against_delivered(passage, start, end, list(zip(slices["start"].tolist(), slices["kept"].tolist(), strict=True)))
        covered = sum(high - low for low, high, role in stretches if role == "delivered")
        candidates.append((covered / (end - start), (doc_id, start, end), stretches, passage))
    _, place, stretches, passage = max(candidates, key=lambda candidate: candidate[0])
    roles = {role for _, _, role in stretches}
    state: Literal["delivered", "partly delivered", "missed"] = "missed"
    if "delivered" in roles:
        state = "partly delivered" if len(roles) > 1 else "delivered"
    return ShownNeed(state, *place, len(alternatives) - 1, marked(passage, passage.start, passage.end, stretches, beside=_BESIDE))


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
    places = worst_places(run, configuration)[:_WORST].tolist()
    if not places:
        return [Prose(f"Every question reaches the attainable maximum of {run.primary}.")]
    return [_question(run, configuration, place) for place in places]


def _filters(run: RunTables) -> dict[str, str]:
    """The filter of each question that has one, as a note after its text."""
    fields = zip(run.questions["query_id"], metadata(run), strict=True)
    return {query_id: f" (documents where {each[WHERE]})" for query_id, each in fields if WHERE in each}


def _notes(run: RunTables, configuration: str) -> dict[str, str]:
    rows = run.of("queries", configuration)
    rows = rows[(rows["metric"] == str(run.primary)) & (rows["condition"] == RETRIEVED) & (rows["state"] != "scored")]
    states = rows["state"].str.replace("_", " ")
    return {query: f" ({state}: {reason})" for query, state, reason in zip(rows["query_id"], states, rows["reason"], strict=True)}


def _question(run: RunTables, configuration: str, place: int) -> Collapsible:
    question, value = run.questions.iloc[place], per_query(run, configuration, str(run.primary))[place]
    query_id, context = str(question["query_id"]), run.of("context", configuration)
    delivered = context[(context["query_id"] == query_id) & (context["kept"] > context["start"])]
    evidence = run.evidence[run.evidence["query_id"] == query_id].groupby("need", sort=False)
    needs = [_need(shown_need(run, rows, delivered)) for _, rows in evidence]
    chunks, searched = delivered_chunks(run, query_id, delivered), rewrites(run, configuration).get(query_id)
    blocks: list[Block] = [Prose(f"Searched instead: {' | '.join(searched)}")] if searched else []
    blocks += [Prose("Evidence needed"), Terms(needs, label="delivered")] if needs else []
    blocks += [Prose("Delivered, by rank"), Terms(chunks, label="evidence")] if chunks else []
    expected = f" · expected: {question['answer']}" if question["answer"] else ""
    title = f"{question['text']}{_filters(run).get(query_id, '')}"
    return Collapsible(title, blocks, f"{query_id} · {run.primary} {number(value)}{expected}", opened=True)


def _need(need: ShownNeed) -> Term:
    others = f", or {plural(need.others, 'alternative')}" if need.others else ""
    return Term(need.state, f"{need.doc_id}:{need.start}-{need.end}{others}", pieces=need.pieces)


def _skipped(chunks: int) -> list[Term]:
    return [Term("", f"{count(chunks)} more without evidence")] if chunks else []
