"""Claims marked in their answers and linked to the words that decide about them, and the claims that nothing supports."""

import math
from collections.abc import Sequence

from workbench.core.text.formatting import count, listed, plural, share
from workbench.report.analysis.answer_values import answering, is_verbatim
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.marked_answers import (
    CLAIM_STATES,
    ClaimState,
    ShownAnswer,
    ShownClaim,
    ShownClaims,
    claim_anchor,
    claim_label,
    claim_states,
    evidence_anchor,
    has_claims,
    weakest_claims,
)
from workbench.report.analysis.passages import Piece
from workbench.report.cells import UNKNOWN, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

# What each mark means, in the legend.
_MEANINGS: dict[ClaimState, str] = {
    "contradicted": "a passage says something else",
    "absent": "no passage says it",
    "unjudged": "the judge failed",
    "scored": "the share of its words, numbers and meaning that the passages contain; no verdict",
    "supported": "a passage says it",
}
_FLAGS = "Flags name differences between a claim and the words that are closest to it. They explain, and are no part of a score."
_COPIED = "They are copied from the context, which therefore supports every claim: a score below 1 is an error of the score."
_MOST = 12
_LONGEST_QUOTE = 300


def claims_fold(answer: ShownAnswer, opened: bool = False) -> Collapsible | None:
    """Collapsible an answer with its claims marked, each linked to the words that decide. None for an answer without claims."""
    answer_claims = answer.claims
    if not answer_claims.claims:
        unsplit = Prose(f"The answer was not split into claims: {answer_claims.error}.")
        return Collapsible(f"Claims: {answer.variant}", [unsplit], "not split", "reply-context") if answer_claims.error else None
    present = [state for state in CLAIM_STATES if any(claim.state == state for claim in answer_claims.claims)]
    marked = [Term("answer", "", pieces=answer.pieces)] if answer.pieces else []
    legend = [
        piece for state in present for piece in (Piece(_MEANINGS[state], state, "score" if state == "scored" else state), Piece("   "))
    ]
    scored = all(claim.state in ("scored", "unjudged") for claim in answer_claims.claims)
    rows = [_row(claim, scored, answer=answer.anchor) for claim in answer_claims.claims]
    flags = _FLAGS if any(claim.flags for claim in answer_claims.claims) else ""
    table = Table(f"Claims of the answer: {answer.variant}", _columns(scored, [words("claim")]), rows, flags)
    blocks: list[Block] = [Terms([*marked, Term("marks", "", pieces=legend)], "claims"), table]
    return Collapsible(f"Claims: {answer.variant}", blocks, tally(answer_claims), "reply-context", opened)


def tally(answer_claims: ShownClaims) -> str:
    """Count the claims of an answer by verdict."""
    counts = {state: sum(claim.state == state for claim in answer_claims.claims) for state in CLAIM_STATES}
    return f"{plural(len(answer_claims.claims), 'claim')}: {_counted(counts)}"


def compute(findings: Findings) -> tuple[RunTables, str] | None:
    """Return the first configuration that answers. None for a run without claims."""
    names = answering(findings)
    return (findings, names[0]) if names and has_claims(findings) else None


def _title(values: tuple[RunTables, str]) -> str:
    supported = any(each.state in ("contradicted", "absent") for each in weakest_claims(*values))
    return "Which claims are not supported?" if supported else "Which claims have the least support?"


def claim_blocks(run: RunTables, configuration: str, most: int = _MOST) -> list[Block]:
    """List up to `most` claims of a configuration that no passage supports, or those with the lowest scores."""
    counts, weak = claim_states(run, configuration), weakest_claims(run, configuration)
    total = sum(counts.values())
    if not total:
        return [Prose(f"No answer of {configuration} to what it retrieves makes a claim.")]
    sentence = f"The answers of {configuration} to what it retrieves make {plural(total, 'claim')}: {_counted(counts)}."
    if not weak:
        return [Prose(sentence)]
    copied = f" {_COPIED}" if is_verbatim(run, configuration) else ""
    scored = weak[0].state == "scored"
    what = "claims with the lowest scores" if scored else "claims that no passage supports, contradicted ones first"
    shown = f"{count(len(weak[:most]))} of {count(len(weak))}" if len(weak) > most else "all"
    caption = f"The {what} ({shown})"
    return [
        Prose(f"{sentence}{copied}"),
        Table(caption, _columns(scored, [words("question")]), [_row(claim, scored, question=True) for claim in weak[:most]], _FLAGS),
    ]


def _columns(scored: bool, first: Sequence[Column]) -> list[Column]:
    verdict = [] if scored else [words("verdict")]
    return [*first, text("text"), *verdict, Column("score" if scored else "confidence"), text("deciding words"), words("flags")]


def _row(claim: ShownClaim, scored: bool, answer: str = "", question: bool = False) -> Row:
    first = (
        Cell("", claim.query_id, queries=(claim.query_id,))
        if question
        else Cell(str(claim.number), float(claim.number), target=answer and claim_anchor(answer, claim))
    )
    shown = claim.score if scored else claim.confidence
    value = value_cell(shown, 2) if not math.isnan(shown) else UNKNOWN
    verdict = [] if scored else [Cell(claim_label(claim))]
    said = Cell(claim.text, note=claim.error and f"not judged: {claim.error}")
    deciding = Cell("–")
    if claim.passage:
        quote = claim.quote if len(claim.quote) <= _LONGEST_QUOTE else f"{claim.quote[:_LONGEST_QUOTE].rsplit(None, 1)[0]} …"
        target = evidence_anchor(answer, claim) if answer else ""
        deciding = Cell(f"[{claim.passage}] {claim.chunk_id}", note=f"“{quote}”" if quote else "", target=target)
    return Row([first, said, *verdict, value, deciding, Cell(", ".join(claim.flags) or "–")])


def _counted(counts: dict[ClaimState, int]) -> str:
    total = sum(counts.values())
    known = {state: many for state, many in counts.items() if many}
    names = {"unjudged": "not judged", "scored": "scored without a verdict"}
    if len(known) == 1:
        (state,) = known
        return f"{'all ' if total > 1 else ''}{names.get(state, state)}"
    return listed([f"{count(many)} {names.get(state, state)} ({share(many, total)})" for state, many in known.items()])


unsupported_claims = Topic("claims", _title, "Claims", compute, lambda values: claim_blocks(*values))
