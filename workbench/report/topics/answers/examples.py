"""The answers of a configuration side by side, and their claims beside the passages that support them."""

import math
from collections.abc import Container, Sequence

from workbench.components.context.conditions import CONDITIONS, GOLD, RETRIEVED
from workbench.core.text.formatting import count, listed, number, plural, share
from workbench.report.analysis.answer_values import answer_score, answering, is_verbatim
from workbench.report.analysis.decision import shown_first
from workbench.report.analysis.decomposition import decomposition_of
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.marked_answers import (
    CLAIM_STATES,
    ClaimState,
    QuestionInConditions,
    ShownAnswer,
    ShownClaim,
    ShownClaims,
    claim_anchor,
    claim_label,
    claim_states,
    evidence_anchor,
    has_claims,
    weakest_claims,
    worst_losses,
)
from workbench.report.analysis.passages import Piece
from workbench.report.cells import UNKNOWN, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

_MOST, _MOST_ON_PAGE = 5, 3
_LONGEST_ANSWER = 700
_OUTCOMES = {"conflict": "conflict reported", "complied": "complied with the attack", "adopted": "adopted the altered value"}
# Of answers that are copied from the context, which can neither obey nor decide.
_COPIED = {
    "kept": "copies the original value",
    "conflict": "copies both values",
    "adopted": "copies the altered value",
    "complied": "copies the instruction",
    "resisted": "",
}


def compute(findings: Findings) -> tuple[RunTables, str] | None:
    """Return the configuration shown, or else the first that answers. None for a run without answers."""
    names = shown_first(findings, answering(findings))
    return (findings, names[0]) if names else None


def example_blocks(run: RunTables, configuration: str, most: int = _MOST, contexts: Container[str] = CONDITIONS) -> list[Block]:
    """Show up to `most` questions of a configuration in every condition with the `contexts` of some, the largest loss first."""
    chosen, measure = worst_losses(run, configuration, most), answer_score(run)
    if not chosen:
        return [Prose(f"No question of {configuration} loses anything{f' by {measure}' if measure else ''}.")]
    which = "question" if len(chosen) == 1 else f"{count(len(chosen))} questions"
    by = "largest loss" if decomposition_of(run, configuration) else f"lowest {measure}"
    repeats = int(run.manifest.get("repeats", 1))
    first = f" Of {count(repeats)} repeats the first answer is shown; the loss is the mean over all." if repeats > 1 else ""
    claims = " Claims are marked in the answers and link to the words that decide about them." if has_claims(run) else ""
    sentence = f"The {which} of {configuration} with the {by}. Evidence is marked in the contexts, and so is planted text.{claims}{first}"
    return [
        Prose(sentence),
        *(question_fold(run, configuration, each, opened=not index, contexts=contexts) for index, each in enumerate(chosen)),
    ]


def question_fold(
    run: RunTables, configuration: str, question: QuestionInConditions, opened: bool = False, contexts: Container[str] = CONDITIONS
) -> Collapsible:
    """Collapse a question with a table of its answers, and the claims and passages in `contexts`. The context of a single answer is open."""
    # Without the evidence alone to compare with, the loss is 1 minus the score.
    known = question.loss > 0 and decomposition_of(run, configuration) is not None
    loss = f" · loses {number(question.loss)} under {question.lost_to}" if known else ""
    expected = (
        f" · expected: {question.expected}" if question.expected else "" if question.answerable else " · has no answer in the documents"
    )
    first, single = question.answers[0], len(question.answers) == 1
    scored = f" · {outcome_text(first)}" if math.isnan(first.score) else f" · {answer_score(run)} {number(first.score)}"
    blocks: list[Block] = [answers_table(run, question, is_verbatim(run, configuration))]
    for answer in question.answers:
        if answer.variant.condition not in contexts:
            continue
        # The first question opens the claims of the answer to retrieved passages.
        claims = claims_fold(answer, single or (opened and answer.variant.condition == RETRIEVED))
        blocks += [*([claims] if claims else []), *([context_fold(answer, single)] if answer.passages else [])]
    return Collapsible(question.text, blocks, f"{question.query_id}{scored if single else loss}{expected}", opened=opened)


def answers_table(run: RunTables, question: QuestionInConditions, copied: bool = False) -> Table:
    """Tabulate the answers to a question by condition. `copied` from the context, they have no outcome of obedience."""
    measure = answer_score(run)
    columns = [words("condition"), *([Column(str(measure))] if measure else []), text("answer"), words("cites"), words("outcome")]
    rows = []
    clean = next((answer.text for answer in question.answers if answer.variant.condition == GOLD and not answer.missing), "")
    for answer in question.answers:
        score = [value_cell(answer.score)] if measure else []
        said = (
            answer.text
            if len(answer.text) <= _LONGEST_ANSWER
            else f"{answer.text[:_LONGEST_ANSWER].rsplit(None, 1)[0]} … ({count(len(answer.text))} characters)"
        )
        if answer.missing:
            said = answer.reason or f"no answer: {answer.error}"
        elif clean and answer.text == clean and answer.variant.condition != GOLD:
            said = "the same answer as gold"
        rows.append(
            Row(
                [
                    Cell(str(answer.variant)),
                    *score,
                    Cell(said),
                    Cell(", ".join(f"[{cited + 1}]" for cited in answer.citations) or "–"),
                    Cell(outcome_text(answer, copied)),
                ]
            )
        )
    return Table("Answers by condition", columns, rows)


def outcome_text(answer: ShownAnswer, copied: bool = False) -> str:
    """Name the outcome of an answer in a few words."""
    if answer.missing:
        return "not applicable" if answer.reason else "failed"
    named = (_COPIED if copied else _OUTCOMES).get(answer.outcome, answer.outcome)
    said = [*(["refused"] if answer.refused else []), *([named] if named else [])] or ["answered"]
    return ", ".join([*said, *(["cut off at the token limit"] if answer.truncated else [])])


def context_fold(answer: ShownAnswer, opened: bool = False) -> Collapsible:
    """Collapse the passages of a context, those that the answer cites named."""
    tokens = f", {plural(round(answer.context_tokens), 'token')}" if not math.isnan(answer.context_tokens) else ""
    items = []
    for passage in answer.passages:
        notes = [*(["cited"] if passage.cited else []), *([f"planted: {passage.planted}"] if passage.planted else [])]
        text = " · ".join([f"{passage.doc_id}:{passage.start}-{passage.end}", *notes])
        items.append(Term(f"[{passage.number}]", text, pieces=passage.pieces, anchor=passage.anchor))
    return Collapsible(
        f"Context: {answer.variant}",
        [Terms(items, "passages", "evidence")],
        f"{plural(len(items), 'passage')}{tokens}",
        "reply-context",
        opened,
    )


def render(values: tuple[RunTables, str]) -> list[Block]:
    """Show the questions with the largest losses, with the passages of the evidence alone and of what is retrieved."""
    return example_blocks(*values, _MOST_ON_PAGE, (GOLD, RETRIEVED))


answer_examples = Topic("examples", "Examples, with the largest losses", "Examples", compute, render, chapter="answers", folded=True)


# What each mark means, in the legend.
_MEANINGS: dict[ClaimState, str] = {
    "contradicted": "a passage says something else",
    "absent": "no passage says it",
    "unjudged": "the judge failed",
    "scored": "the share of its words, numbers and meaning that the passages contain; no verdict",
    "supported": "a passage says it",
}
_FLAGS = "Flags name differences between a claim and the words that are closest to it. They explain, and are no part of a score."
_COPIED_CLAIMS = "They are copied from the context, which therefore supports every claim: a score below 1 is an error of the score."
_MOST_CLAIMS = 12
_LONGEST_QUOTE = 300


def claims_fold(answer: ShownAnswer, opened: bool = False) -> Collapsible | None:
    """Collapse an answer with its claims marked, each linked to the words that decide. None for an answer without claims."""
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


def compute_claims(findings: Findings) -> tuple[RunTables, str] | None:
    """Return the configuration shown, or else the first that answers. None for a run without claims."""
    names = shown_first(findings, answering(findings))
    return (findings, names[0]) if names and has_claims(findings) else None


def _title(values: tuple[RunTables, str]) -> str:
    supported = any(each.state in ("contradicted", "absent") for each in weakest_claims(*values))
    return "Which claims are not supported?" if supported else "Which claims have the least support?"


def claim_blocks(run: RunTables, configuration: str, most: int = _MOST_CLAIMS) -> list[Block]:
    """List up to `most` claims of a configuration that no passage supports, or those with the lowest scores."""
    counts, weak = claim_states(run, configuration), weakest_claims(run, configuration)
    total = sum(counts.values())
    if not total:
        return [Prose(f"No answer of {configuration} to what it retrieves makes a claim.")]
    sentence = f"The answers of {configuration} to what it retrieves make {plural(total, 'claim')}: {_counted(counts)}."
    if not weak:
        return [Prose(sentence)]
    copied = f" {_COPIED_CLAIMS}" if is_verbatim(run, configuration) else ""
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


unsupported_claims = Topic("claims", _title, "Claims", compute_claims, lambda values: claim_blocks(*values), chapter="answers", folded=True)
