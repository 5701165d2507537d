"""The outcome of the gate that a run was checked with, and the questions that lost something since its baseline."""

import math
from collections.abc import Mapping, Sequence, Set
from math import isnan
from typing import Any

from workbench.core.errors import InputError
from workbench.core.text.formatting import count, interval, listed, number, plural, signed
from workbench.report.analysis.causes import LOSS_CAUSES, LOSS_WORDS, HitRow, QuestionLoss, by_cause, by_question, losses_in
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.passages import text_of
from workbench.report.cells import count_cell, p_cell, queries_cell, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Columns, Lines, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

_READING = (
    "A limit is about these questions (specification) or others like them (inference). A comparison with a baseline is paired by question; its "
    "difference is negative if the run is worse, with a lower and an upper bound of 95 % confidence each, and it passes if the lower bound is above the limit, "
    "else fails if a drop is shown (p of at most 0.05), even one that may be within the limit, else is undecided. "
    "p is one-sided and corrected for the number of rules (Holm)."
)
# Retrieval tests that passed beyond these are folded.
_MOST = 5
# The worst first.
OUTCOMES = ("fail", "undecided", "pass")
_SENTENCES = {"fail": "fails.", "undecided": "is undecided: no rule fails, but this run does not decide every rule.", "pass": "passes."}


def compute(findings: Findings) -> list[dict[str, Any]] | None:
    """Return the rows of the last gate of the run, failed rules first, notes last. None without a rule."""
    rows = [{str(name): value for name, value in row.items()} for row in findings.table("gate").to_dict("records")]
    rules = sorted((row for row in rows if row["kind"] != "note"), key=lambda row: OUTCOMES.index(row["outcome"]))
    return [*rules, *(row for row in rows if row["kind"] == "note")] if rules else None


def render(rows: list[dict[str, Any]]) -> list[Block]:
    """Show the outcome and the rules. Many retrieval tests that passed are collapsed."""
    rules, notes = [row for row in rows if row["kind"] != "note"], [row["reason"] for row in rows if row["kind"] == "note"]
    passed = [row for row in rules if row["kind"] == "retrieval test" and row["outcome"] == "pass"]
    folded = passed if len(passed) > _MOST else []
    shown = [row for row in rules if row not in folded]
    blocks: list[Block] = [Prose(gate_sentence([row["outcome"] for row in rules], rules[0]["configuration"]))]
    blocks += [_table(f"Rules for {rules[0]['configuration']}", shown, _READING)] if shown else []
    blocks += [Lines(notes)] if notes else []
    return blocks + (
        [Collapsible(f"{plural(len(folded), 'retrieval test')} passed", [_table("Retrieval tests", folded, "")])] if folded else []
    )


def _table(caption: str, rows: list[dict[str, Any]], note: str) -> Table:
    columns = [words("outcome"), text("rule"), Column("value"), Column("baseline"), Column("difference"), Column("limit"), Column("p")]
    cells = []
    for row in rows:
        bounds = "" if math.isnan(row["low"]) else interval(row["low"], row["high"])
        compared, digits = not math.isnan(row["difference"]), 0 if row["kind"] == "retrieval test" else 3
        difference = signed(row["difference"]) if compared else "–"
        named = [Cell(row["outcome"], sort=float(OUTCOMES.index(row["outcome"]))), Cell(row["rule"], note=row["kind"])]
        named += [value_cell(row["value"], digits, note="" if compared else bounds), value_cell(row["reference"])]
        named += [value_cell(row["difference"], shown=difference, note=bounds if compared else ""), value_cell(row["limit"], digits)]
        cells.append(Row([*named, p_cell(row["p_adjusted"]), count_cell(row["n"]), Cell(row["reason"])]))
    return Table(caption, [*columns, Column("questions"), text("reason")], cells, note)


def gate_sentence(outcomes: Sequence[str], configuration: str) -> str:
    """State the worst outcome of the rules for a configuration, and how many have which."""
    counts = {outcome: list(outcomes).count(outcome) for outcome in OUTCOMES}
    worst = next(outcome for outcome in OUTCOMES if counts[outcome])
    parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"The gate of {configuration} {_SENTENCES[worst]} {plural(len(outcomes), 'rule')}: {parts}."


def gate_opening(run: RunTables) -> list[str]:
    """The sentence of the run's last gate, or nothing for a run without one."""
    table = run.table("gate")
    rules = table[table["kind"] != "note"]
    if rules.empty:
        return []
    return [gate_sentence(rules["outcome"].tolist(), str(rules["configuration"].iloc[0]))]


gate = Topic("gate", "Does it pass the gate?", "Gate", compute, render, chapter="gate")


MOST_QUESTIONS = 50
# The first hits are shown, and later ones only if they are of a lost document.
_FIRST_HITS = 5
_LONGEST = 600
_LOSS_READING = (
    "A question lost a document or a piece of evidence if the baseline has it among the hits that the metric reads, the run has not, and the metric "
    "of the question fell. Where no piece was whole, the pieces of which the baseline has more are listed. Ranks are those of distinct documents for metrics of documents, else of chunks."
)
_COUNTED = {"document": "lost a document", "evidence": "lost evidence, or a part of it", "answer": "got a worse answer"}


def compute_losses(findings: Findings) -> tuple[RunTables, str, list[QuestionLoss]] | None:
    """Read the losses. None for a run without losses."""
    run = findings
    rows = run.table("lost")
    if rows.empty:
        return None
    texts = dict(zip(run.questions["query_id"], run.questions["text"], strict=True))
    return run, rows["configuration"].iloc[0], losses_in(rows, texts)


def render_losses(losses: tuple[RunTables, str, list[QuestionLoss]]) -> list[Block]:
    """Show the losses by cause, and the worst questions with their hits before and after."""
    run, configuration, lost = losses
    questions = list(by_question(lost).values())
    blocks: list[Block] = [Prose(f"{configuration}: {lost_sentence(lost)}"), causes_table(lost), Prose(_LOSS_READING)]
    blocks += [_question(run, question) for question in questions[:MOST_QUESTIONS]]
    more = len(questions) - MOST_QUESTIONS
    return blocks + ([Prose(f"{plural(more, 'question')} more, with smaller losses, are in lost.parquet.")] if more > 0 else [])


def lost_sentence(lost: Sequence[QuestionLoss]) -> str:
    """Count the questions with losses."""
    pieces = {subject: len({loss.query_id for loss in lost if loss.subject == subject}) for subject in _COUNTED}
    parts = [f"{plural(many, 'question')} {_COUNTED[subject]}" for subject, many in pieces.items() if many]
    return f"{listed(parts)}." if parts else "no question lost anything."


def causes_table(lost: Sequence[QuestionLoss]) -> Table:
    """Make a table of the causes with the questions that lost something by them."""
    rows = [
        Row([Cell(LOSS_WORDS.get(cause, cause), note=LOSS_CAUSES.get(cause, "")), count_cell(len(ids)), queries_cell("", ids)])
        for cause, ids in by_cause(lost).items()
    ]
    return Table("Why", [words("cause"), Column("questions"), text("which")], rows)


def short_table(lost: Sequence[QuestionLoss], most: int) -> Table:
    """Make a table of the losses of the first questions, a row for each."""
    questions = list(by_question(lost).values())
    columns = [words("question"), words("lost"), words("rank"), words("metric"), text("why")]
    rows = [
        Row([*map(Cell, (loss.query_id, loss.missing, ranks(loss), values(loss), _why(loss)))])
        for losses in questions[:most]
        for loss in losses
    ]
    more = f"{count(len(questions) - most)} more questions lost something." if len(questions) > most else ""
    return Table("What broke since the baseline", columns, rows, more)


def ranks(loss: QuestionLoss) -> str:
    """Write the ranks before and after, a dash for none."""
    return "" if loss.subject == "answer" else f"{loss.rank_before or '–'} → {loss.rank_after or '–'}"


def values(loss: QuestionLoss) -> str:
    """Write the values of the metric before and after."""
    if isnan(loss.value_before) and isnan(loss.value_after):
        return loss.metric
    return f"{loss.metric} {number(loss.value_before, 2)} → {number(loss.value_after, 2)}"


def _question(run: RunTables, losses: Sequence[QuestionLoss]) -> Collapsible:
    first = losses[0]
    note = " · ".join(part for part in (_named(first), values(first), first.cause) if part)
    more = f" · {len(losses) - 1} more" if len(losses) > 1 else ""
    blocks: list[Block] = [Lines([_line(loss) for loss in losses])]
    # Ranks of documents and of slices do not mix, so the hits are those of the first loss.
    with_hits = [loss for loss in losses if loss.subject != "answer"]
    if with_hits and (with_hits[0].before or with_hits[0].after):
        lost, new = {loss.document for loss in with_hits}, {name for loss in with_hits for name in loss.displaced_by}
        sides = (("Hits before", with_hits[0].before, "lost"), ("Hits now", with_hits[0].after, "the document of what is lost"))
        blocks.append(
            Columns(
                [
                    _hits(title, hits, lost, dict.fromkeys(new, "new or changed in the corpus") | dict.fromkeys(lost, role))
                    for title, hits, role in sides
                ]
            )
        )
    terms = [Term("lost evidence", passage) for loss in losses if (passage := _evidence(run, loss))]
    answer = next((loss.answer for loss in losses if loss.subject == "answer"), "")
    terms += [Term("answer now", _cut(answer))] if answer else []
    blocks += [Terms(terms)] if terms else []
    return Collapsible(f"{first.query_id}: {first.question}", blocks, f"{note}{more}", "pairing")


def _evidence(run: RunTables, loss: QuestionLoss) -> str:
    """The text of a lost piece of evidence, empty for other losses and if its document was removed."""
    if loss.subject != "evidence" or loss.cause == "removed":
        return ""
    doc_id, _, places = loss.missing.rpartition(":")
    start, _, end = places.partition("-")
    try:
        return _cut(" ".join(text_of(run, doc_id, int(start), int(end)).split()))
    except InputError:
        return ""


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …"


def _named(loss: QuestionLoss) -> str:
    return "answer" if loss.subject == "answer" else f"{loss.subject} {loss.missing} · rank {ranks(loss)}"


def _why(loss: QuestionLoss) -> str:
    return f"{loss.cause}: {loss.explanation}" if loss.explanation else loss.cause


def _line(loss: QuestionLoss) -> str:
    subject = "" if loss.subject == "answer" else f"{_named(loss)} · "
    return f"{subject}{values(loss)} · {_why(loss)}."


def _hits(title: str, hits: Sequence[HitRow], lost: Set[str], roles: Mapping[str, str]) -> Table:
    """Show the first hits, and later ones of lost documents, with the roles of documents."""
    shown = [hit for hit in hits if hit["rank"] <= _FIRST_HITS or hit["doc_id"] in lost]
    rows = []
    for hit in shown:
        role = roles.get(hit["doc_id"], "")
        place = f"{hit['doc_id']}:{hit['start']}-{hit['end']}"
        named = " · ".join(filter(None, [place, role, "relevant" if hit["relevant"] else ""]))
        rows.append(Row([Cell(str(hit["rank"])), Cell(named, note=hit["text"])]))
    skipped = len(hits) - len(shown)
    return Table(title, [Column("rank", sorts=False), text("hit")], rows, f"{plural(skipped, 'other hit')} not shown." if skipped else "")


broken = Topic("broken", "What broke since the baseline?", "What broke", compute_losses, render_losses, chapter="gate")
