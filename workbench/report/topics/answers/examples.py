"""The same question in every condition, its answers side by side and their contexts with the evidence marked."""

import math

from workbench.components.context.conditions import GOLD, RETRIEVED
from workbench.core.text.formatting import count, number, plural
from workbench.report.analysis.answer_values import answer_score, answering, is_verbatim
from workbench.report.analysis.decomposition import decomposition_of
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.marked_answers import QuestionInConditions, ShownAnswer, has_claims, worst_losses
from workbench.report.cells import text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.claims import claims_fold
from workbench.report.topics.topic import Topic

_MOST = 5
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
    """Return the first configuration that answers. None for a run without answers."""
    names = answering(findings)
    return (findings, names[0]) if names else None


def example_blocks(run: RunTables, configuration: str, most: int = _MOST) -> list[Block]:
    """Show up to `most` questions of a configuration in every condition, the largest loss first."""
    chosen, measure = worst_losses(run, configuration, most), answer_score(run)
    if not chosen:
        return [Prose(f"No question of {configuration} loses anything{f' by {measure}' if measure else ''}.")]
    which = "question" if len(chosen) == 1 else f"{count(len(chosen))} questions"
    by = "largest loss" if decomposition_of(run, configuration) else f"lowest {measure}"
    repeats = int(run.manifest.get("repeats", 1))
    first = f" Of {count(repeats)} repeats the first answer is shown; the loss is the mean over all." if repeats > 1 else ""
    claims = " Claims are marked in the answers and link to the words that decide about them." if has_claims(run) else ""
    sentence = f"The {which} of {configuration} with the {by}. Evidence is marked in the contexts, and so is planted text.{claims}{first}"
    return [Prose(sentence), *(question_fold(run, configuration, each, opened=not index) for index, each in enumerate(chosen))]


def question_fold(run: RunTables, configuration: str, question: QuestionInConditions, opened: bool = False) -> Collapsible:
    """Collapsible a question with a table of its answers and the context of each. The context of a single answer is open."""
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
    """Collapsible the passages of a context, those that the answer cites named."""
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


answer_examples = Topic("examples", "Examples side by side", "Examples", compute, lambda values: example_blocks(*values))
