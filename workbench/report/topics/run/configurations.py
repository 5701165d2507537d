"""Configurations one by one: settings, metrics, causes of misses, chunks, times and worst questions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.core.text.formatting import count, listed, number, plural, setting, share, signed
from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSE_WORDS
from workbench.measures.metrics.coverage import Ints
from workbench.report.analysis.answer_values import reasons_without
from workbench.report.analysis.causes import FailureSummary, cause_meanings, faults_of
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.passages import Piece, Stretch, against_delivered, marked, passage_of
from workbench.report.analysis.standings import Standing, passes_of, timings_of
from workbench.report.analysis.values import detail, metadata, per_query, place_of, rewrites
from workbench.report.canvas import ACCENT, PAPER, POINTS, WARNING, canvas, own_style
from workbench.report.cells import Scale, count_cell, opened, question_row, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Lines, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RETRIEVED, WHERE, RunTables
from workbench.report.sentences import not_scored, time_text
from workbench.report.topics.topic import Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# The first chunks by rank are always shown, later ones only if they contain evidence.
_FIRST_CHUNKS = 4

_BESIDE = 60

_MOST_METRICS = 4

_MOST_WORST = 5

# The cause, after "misses evidence ... because".

# A correct ranking is weak if its margin is below this many standard deviations of the question's scores.
WEAK = 0.25

_MOST_ROWS = 100

_STEPS = {
    "rewrite the question": "rewrite",
    "embed the question": "embed",
    "search exactly": "exact",
    "search in Chroma's index": "chroma",
    "rerank": "rerank",
    "the whole question": "question",
}

_COLD = "latency_cold"

# The smallest change of a metric that three decimals show.
_SHOWN = 5e-4


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
    graded = run.table("judgements")[run.table("judgements")["query_id"] == query_id].set_index("doc_id")["relevance"].to_dict()
    evidence = run.evidence[run.evidence["query_id"] == query_id]
    terms, skipped = list[Term](), 0
    for rank, row in enumerate(delivered.to_dict("records"), 1):
        doc_id, start, end, grade = row["doc_id"], row["start"], row["kept"], graded.get(row["doc_id"])
        own = evidence[evidence["doc_id"] == doc_id]
        stretches: list[Stretch] = [(low, high, "delivered") for low, high in zip(own["start"], own["end"], strict=True)]
        pieces = marked(passage_of(run, doc_id, start, end), start, end, stretches)
        if rank > _FIRST_CHUNKS and all(piece.role == "plain" for piece in pieces):
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
    _, span, stretches, passage = max(candidates, key=lambda candidate: candidate[0])
    roles = {role for _, _, role in stretches}
    state: Literal["delivered", "partly delivered", "missed"] = "missed"
    if "delivered" in roles:
        state = "partly delivered" if len(roles) > 1 else "delivered"
    return ShownNeed(state, *span, len(alternatives) - 1, marked(passage, passage.start, passage.end, stretches, beside=_BESIDE))


def questions_table(run: RunTables, configuration: str, most: int = 100) -> Table:
    """Tabulate the `most` worst questions of a configuration by the primary metric, the worst first."""
    metrics = list(dict.fromkeys([str(run.primary), *run.measures]))[:_MOST_METRICS]
    values = {metric: per_query(run, configuration, metric) for metric in metrics}
    first = values[metrics[0]] * (1 if run.primary.higher_is_better else -1)
    # NaN sorts to the end.
    order = np.argsort(first, kind="stable")
    notes, searched, filters, rows = _notes(run, configuration), rewrites(run, configuration), _filters(run), []
    for index in order[:most].tolist():
        question = run.questions.iloc[index]
        query_id = str(question["query_id"])
        asked = f"{question['text']}{filters.get(query_id, '')}{notes.get(query_id, '')}"
        row = question_row(query_id, [values[metric][index] for metric in metrics], asked)
        rows.append(replace(row, cells=[*row.cells, Cell(" | ".join(searched.get(query_id, ())))]) if searched else row)
    shown = f"the {count(most)} worst of {count(len(order))}" if len(order) > most else "worst first"
    caption = f"Questions by {run.primary}, {shown}"
    columns = [words("question"), *map(Column, metrics), text("text"), *([text("searched instead")] if searched else [])]
    return Table(caption, columns, rows)


def worst(run: RunTables, configuration: str) -> list[Block]:
    """Show the worst questions, each with its evidence and delivered chunks."""
    worst_first = worst_places(run, configuration)[:_MOST_WORST].tolist()
    if not worst_first:
        return [Prose(f"Every question reaches the attainable maximum of {run.primary}.")]
    return [_question(run, configuration, index) for index in worst_first]


def question_details(run: RunTables, configuration: str, query_id: str) -> Collapsible:
    """Show a question with its evidence and delivered chunks. Raises InputError if the run has no such question."""
    return _question(run, configuration, place_of(run, query_id))


def _filters(run: RunTables) -> dict[str, str]:
    """The filter of each question that has one, as a note after its text."""
    fields = zip(run.questions["query_id"], metadata(run), strict=True)
    return {query_id: f" (documents where {each[WHERE]})" for query_id, each in fields if WHERE in each}


def _notes(run: RunTables, configuration: str) -> dict[str, str]:
    rows = run.of("queries", configuration)
    rows = rows[(rows["metric"] == str(run.primary)) & (rows["condition"] == RETRIEVED) & (rows["state"] != "scored")]
    states = rows["state"].str.replace("_", " ")
    return {query: f" ({state}: {reason})" for query, state, reason in zip(rows["query_id"], states, rows["reason"], strict=True)}


def _question(run: RunTables, configuration: str, index: int) -> Collapsible:
    question, value = run.questions.iloc[index], per_query(run, configuration, str(run.primary))[index]
    query_id, context = str(question["query_id"]), run.of("context", configuration)
    delivered = context[(context["query_id"] == query_id) & (context["kept"] > context["start"])]
    evidence = run.evidence[run.evidence["query_id"] == query_id].groupby("need", sort=False)
    needs = []
    for need in (shown_need(run, rows, delivered) for _, rows in evidence):
        others = f", or {plural(need.others, 'alternative')}" if need.others else ""
        needs.append(Term(need.state, f"{need.doc_id}:{need.start}-{need.end}{others}", pieces=need.pieces))
    chunks, searched = delivered_chunks(run, query_id, delivered), rewrites(run, configuration).get(query_id)
    blocks: list[Block] = [Prose(f"Searched instead: {' | '.join(searched)}")] if searched else []
    blocks += [Prose("Evidence needed"), Terms(needs, label="delivered")] if needs else []
    blocks += [Prose("Delivered, by rank"), Terms(chunks, label="evidence")] if chunks else []
    expected = f" · expected: {question['answer']}" if question["answer"] else ""
    title = f"{question['text']}{_filters(run).get(query_id, '')}"
    return Collapsible(title, blocks, f"{query_id} · {run.primary} {number(value)}{expected}", opened=True)


def _skipped(chunks: int) -> list[Term]:
    return [Term("", f"{count(chunks)} more without evidence")] if chunks else []


def compute_misses(findings: Findings) -> Mapping[str, FailureSummary] | None:
    """Return the causes of misses of each finished configuration. None if none misses anything, or misses have no causes."""
    causes = {each.name: faults_of(findings, each.name) for each in findings.standings.finished} if findings.first else {}
    return causes if findings.primary.higher_is_better and any(each.causes for each in causes.values()) else None


def render_misses(misses: Mapping[str, FailureSummary]) -> list[Block]:
    """Tabulate the causes of misses by configuration, the most frequent first."""
    totals = {cause: sum(each.causes.get(cause, (0, 0.0))[0] for each in misses.values()) for cause in CAUSE_NAMES}
    order = sorted((cause for cause in CAUSE_NAMES if totals[cause]), key=lambda cause: -totals[cause])
    scale = Scale.over([0.0, *(each.causes.get(cause, (0, 0.0))[0] for each in misses.values() for cause in order)])
    columns = [
        words("configuration"),
        Column("miss something", note="questions"),
        *(Column(CAUSE_WORDS[cause], "shade") for cause in order),
    ]
    rows = []
    for name, each in misses.items():
        counts = [each.causes.get(cause, (0, 0.0))[0] for cause in order]
        rows.append(Row([Cell(name), Cell(f"{sum(counts)} of {count(each.of)}", sort=float(sum(counts))), *scale.shades(counts, 0)]))
    note = "A question that misses several pieces counts once, by the earliest cause. Stronger colours are more questions."
    return opened(Table("Questions that miss something, by cause", columns, rows, note), 3)


def settings(run: RunTables, standing: Standing) -> list[Term]:
    """List the settings of each stage and the size of its result."""
    facts, entries = standing.facts, []
    for stage, values in run.configurations_settings[standing.name].items():
        if values is not None:
            # The chunking uses the embedding's model, only to count tokens.
            hidden = ("kind", "model") if stage == "chunking" else ("kind",)
            chosen = [(field, value) for field, value in values.items() if value is not None and value is not False and value != {}]
            fields = [f"{field} {setting(value)}" for field, value in chosen if field not in hidden]
            entries.append(Term(stage, ", ".join([str(values["kind"]), *fields])))
    embedded = f", {plural(facts['tokens'], 'token')} to embed" if facts["tokens"] else ""
    amount = facts["delivered_tokens"]
    tokens = "" if amount is None else f"{plural(round(amount), 'token')} of "
    delivered = f"{tokens}{number(facts['delivered_chunks'], 1)} chunks delivered per question"
    # A target does not tell what chunks it has.
    if facts["chunks"] is None:
        return [*entries, Term("size", delivered)]
    size = f"{plural(facts['chunks'], 'chunk')}{embedded}; {delivered}"
    cut = (
        f", {plural(facts['truncated_tokens'], 'token')} of {plural(facts['truncated_chunks'], 'chunk')} cut off" if facts["window"] else ""
    )
    window = f"{plural(facts['window'], 'token')}{cut}" if facts["window"] else "none"
    return [*entries, Term("size", size), Term("window", window), Term("lengths", f"{lengths_sentence(run, standing)}.")]


def metrics_table(run: RunTables, standing: Standing) -> Table:
    """Tabulate every metric that has a value with its interval, counts and attainable maximum, and say why the others have none."""
    columns = [words("metric"), Column("mean"), Column("95 % interval", sorts=False), Column("attainable"), Column("questions")]
    rows = []
    for mean in (mean for mean in standing.means.values() if mean.n):
        counts = [count_cell(mean.n), count_cell(mean.clusters), count_cell(mean.unscored)]
        rows.append(Row([Cell(mean.metric), value_cell(mean.value), Cell(mean.bounds()), value_cell(mean.attainable), *counts]))
    caption = "Every metric: means over scored questions, intervals by clusters, each the questions about one document"
    missing = {name: reasons_without(run, name, standing.name) for name, mean in standing.means.items() if not mean.n}
    return Table(caption, [*columns, Column("clusters"), Column("unscored")], rows, not_scored(missing))


def misses_table(run: RunTables, configuration: str) -> Table | None:
    """Count the questions that miss something by cause. Returns None if none does."""
    found, meanings = faults_of(run, configuration), cause_meanings(run)
    rows = [
        Row([Cell(CAUSE_WORDS[cause]), count_cell(queries), value_cell(part, shown=share(queries, found.of)), Cell(meanings[cause])])
        for cause, (queries, part) in found.causes.items()
    ]
    columns = [words("cause"), Column("questions"), Column("share"), text("meaning")]
    return Table(f"Causes of misses on {plural(found.of, 'question')}", columns, rows) if rows else None


def faults_table(run: RunTables, configuration: str) -> Table:
    """Tabulate the faults of the chunks with counts, definitions and examples."""
    columns = [words("fault"), Column("found"), Column("share"), text("meaning"), text("examples")]
    rows = []
    for row in run.of("chunk_faults", configuration).to_dict("records"):
        count, of = int(row["found"]), int(row["of"])
        one = row["unit"].replace("pieces", "piece").removesuffix("s")
        part = value_cell(count / of if of else 0.0, shown=f"{share(count, of)} of {plural(of, one, row['unit'])}")
        rows.append(
            Row([Cell(row["fault"]), count_cell(count), part, Cell(row["definition"]), Cell(", ".join(json.loads(row["examples"])))])
        )
    return Table("Faults of the chunks", columns, rows)


def lengths_sentence(run: RunTables, standing: Standing) -> str:
    """Describe the number of chunks, their lengths, and the number cut by the window."""
    table, window = run.of("chunk_lengths", standing.name), standing.facts["window"]
    tokens = np.repeat(table["tokens"].to_numpy(np.int64), table["chunks"].to_numpy(np.int64))
    middle, most = float(np.median(tokens)) if len(tokens) else 0.0, int(tokens.max(initial=0))
    summary = f"Lengths of {plural(len(tokens), 'chunk')}: median {count(middle)}, longest {plural(most, 'token')}; "
    if window is None:
        return f"{summary}no window"
    return f"{summary}the window is {count(window)}; {plural(int((tokens > window).sum()), 'chunk')} beyond it"


def lengths_figure(run: RunTables, standing: Standing) -> Figure:
    """Plot the lengths of the chunks with the embedder's window."""
    table, window = run.of("chunk_lengths", standing.name), standing.facts["window"]
    drawing = lengths_drawing(table["tokens"].tolist(), table["chunks"].tolist(), window)
    read = "" if window is None else " Text beyond the dashed line is never embedded: no question can find it."
    summary = lengths_sentence(run, standing)
    return Figure("lengths", summary, f"{summary}.{read}", drawing)


def separation(run: RunTables, configuration: str) -> list[Block]:
    """Count correct rankings with a small margin and those decided by the tie breaker, and tabulate the former."""
    margins, spreads = detail(run, configuration, "margin"), detail(run, configuration, "margin_spread")
    known, right = ~np.isnan(spreads), np.flatnonzero(spreads > 0)
    weak = right[spreads[right] < WEAK]
    weak = weak[np.argsort(spreads[weak], kind="stable")]
    tied = run.of("query_details", configuration)["tied"]
    lines = Lines(
        [
            f"A relevant document is ranked first for {plural(len(right), 'question')} of {count(int(known.sum()))}; for {count(len(weak))} "
            f"of them its score is less than {WEAK} standard deviations above that of the next document: weak separation.",
            f"{plural(int(tied.sum()), 'question has', 'questions have')} equal scores among the first k chunks, which only the tie breaker "
            f"orders: {share(float(tied.sum()), len(tied))} of {count(len(tied))}.",
        ]
    )
    if not len(weak):
        return [lines, Prose("No weak separation.")]
    columns = [words("question"), Column("margin"), Column("in standard deviations"), text("text")]
    questions = run.questions.iloc[weak[:_MOST_ROWS]]
    values = zip(margins[weak], spreads[weak], strict=True)
    rows = [question_row(*row) for row in zip(questions["query_id"], values, questions["text"], strict=False)]
    return [lines, Table("Weak separation, the smallest margin first", columns, rows)]


def latency(run: RunTables, configuration: str) -> Table:
    """Tabulate milliseconds per question for each step."""
    timings = timings_of(run, configuration)
    rows = [
        Row([Cell(step), *(_range_cell(timings, f"latency_{name}_{percentile}") for percentile in ("p50", "p95"))])
        for step, name in _STEPS.items()
        if f"latency_{name}_p50" in timings
    ]
    if _COLD in timings:
        rows.append(Row([Cell("cold start", note="open the index and answer one question"), _range_cell(timings, _COLD), Cell("–")]))
    title = "Milliseconds per question on a warm system, one at a time, lowest to highest of several rounds"
    return Table(title, [words("step"), Column("median"), Column("p95")], rows)


def _range_cell(timings: Mapping[str, float], name: str) -> Cell:
    return Cell(time_text(timings[name], passes_of(timings, name)), sort=timings[name])


def index_gap(run: RunTables, configuration: str) -> list[Block]:
    """Compare Chroma's approximate index with exact search."""
    timings = timings_of(run, configuration)
    overlaps = [(name.partition("@")[2], value) for name, value in timings.items() if name.startswith("chroma_overlap@")]
    if not overlaps:
        return [Prose("Nothing is embedded, so no index of vectors exists.")]
    ((k, overlap),) = overlaps
    changes = {name.removeprefix("chroma_change_"): value for name, value in timings.items() if name.startswith("chroma_change_")}
    sentence = f"Chroma's index returns {share(overlap, 1)} of the exact top {plural(int(k), 'chunk')} (overlap@{k})."
    if all(abs(change) < _SHOWN for change in changes.values()):
        return [Prose(f"{sentence} No metric changes by {number(2 * _SHOWN)} or more: {listed(list(changes), 99)}.")]
    rows = [Row([Cell(metric), value_cell(change, shown=signed(change))]) for metric, change in changes.items()]
    table = Table("Change of each metric's mean under the index", [words("metric"), Column("change")], rows)
    return [Prose(sentence), table]


misses = Topic("misses", "What is missed, and why", "Misses", compute_misses, render_misses, chapter="slices")


@own_style()
def lengths_drawing(tokens: Sequence[int], chunks: Sequence[int], window: int | None) -> "Drawing":
    """Plot a histogram of chunk lengths, with the embedder's window if it has one."""
    numbers, weights = np.asarray(tokens, dtype=np.int64), np.asarray(chunks, dtype=np.int64)
    figure, (axes,) = canvas(2.3)
    longest = max(int(numbers.max(initial=1)), window or 1)
    # The limit is between two bars, so that a chunk that fills the window exactly is on the left of it.
    step, border = max(1, round(longest / 40)), (window or longest) + 0.5
    inner = [*np.arange(border, 0, -step)[::-1], *np.arange(border, longest + step, step)[1:]]
    edges, fits = [inner[0] - step, *inner, inner[-1] + step], numbers < border
    axes.hist(numbers[fits], bins=edges, weights=weights[fits], color=ACCENT)
    axes.hist(numbers[~fits], bins=edges, weights=weights[~fits], color=PAPER, edgecolor=WARNING, hatch="////", linewidth=0.8)
    axes.set_xlabel("tokens per chunk" if window is None else "tokens of the embedder's input per chunk")
    axes.set_ylabel("number of chunks")
    axes.locator_params(axis="y", integer=True)
    if window is not None:
        axes.axvline(border, color=WARNING, linewidth=1.2, linestyle="--")
        offset, side = ((4, 0), "left") if window < 0.6 * edges[-1] else ((-4, 0), "right")
        note: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "top", "color": WARNING, "fontsize": POINTS}
        axes.annotate(f"window {window:,}", (border, 0.97), offset, ("data", "axes fraction"), **note)
    return figure
