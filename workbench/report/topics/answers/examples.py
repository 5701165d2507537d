"""The same question in every condition, its answers side by side and their contexts with the evidence marked."""

import math

from workbench.analysis.answer_values import answer_score, answering, is_verbatim
from workbench.analysis.decomposition import decomposition_of
from workbench.analysis.findings import Findings
from workbench.analysis.marked_answers import QuestionInConditions, ShownAnswer, ShownPassage, has_claims, worst_losses
from workbench.context.conditions import GOLD, RETRIEVED
from workbench.core.formatting import count, number, plural
from workbench.report.cells import text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table, Term, Terms
from workbench.report.topics.answers.claims import claims_fold
from workbench.report.topics.topic import Topic
from workbench.results.run_tables import RunTables

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
    names = answering(findings.run)
    return (findings.run, names[0]) if names else None


def render(values: tuple[RunTables, str]) -> list[Block]:
    """Show the worst losses of the configuration."""
    return example_blocks(*values)


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
    return [Prose(sentence), *(question_fold(run, configuration, each, opened=not place) for place, each in enumerate(chosen))]


def question_fold(run: RunTables, configuration: str, question: QuestionInConditions, opened: bool = False) -> Collapsible:
    """Collapsible a question with a table of its answers and the context of each. The context of a single answer is open."""
    # Without the evidence alone to compare with, the loss is 1 minus the score.
    known = question.loss > 0 and decomposition_of(run, configuration) is not None
    loss = f" · loses {number(question.loss)} under {question.lost_to}" if known else ""
    expected = (
        f" · expected: {question.expected}" if question.expected else "" if question.answerable else " · has no answer in the documents"
    )
    single = len(question.answers) == 1
    folds = [_folds(answer, single, opened) for answer in question.answers]
    return Collapsible(
        question.text,
        [answers_table(run, question, is_verbatim(run, configuration)), *(fold for each in folds for fold in each)],
        f"{question.query_id}{_scored(run, question.answers[0]) if single else loss}{expected}",
        opened=opened,
    )


def answers_table(run: RunTables, question: QuestionInConditions, copied: bool = False) -> Table:
    """Tabulate the answers to a question by condition. `copied` from the context, they have no outcome of obedience."""
    measure = answer_score(run)
    columns = [words("condition"), *([Column(str(measure))] if measure else []), text("answer"), words("cites"), words("outcome")]
    rows = []
    clean = next((answer.text for answer in question.answers if answer.condition == GOLD and not answer.missing), "")
    for answer in question.answers:
        score = [value_cell(answer.score)] if measure else []
        rows.append(
            Row(
                [
                    Cell(answer.name),
                    *score,
                    _said(answer, clean),
                    Cell(", ".join(f"[{place}]" for place in answer.cited) or "–"),
                    Cell(outcome_text(answer, copied)),
                ]
            )
        )
    return Table("Answers by condition", columns, rows)


def outcome_text(answer: ShownAnswer, copied: bool = False) -> str:
    """Name the outcome of an answer in a few words."""
    if answer.missing:
        return "failed" if answer.asked else "not applicable"
    named = (_COPIED if copied else _OUTCOMES).get(answer.outcome, answer.outcome)
    said = [*(["refused"] if answer.refused else []), *([named] if named else [])] or ["answered"]
    return ", ".join([*said, *(["cut off at the token limit"] if answer.truncated else [])])


def context_fold(answer: ShownAnswer, opened: bool = False) -> Collapsible:
    """Collapsible the passages of a context, those that the answer cites named."""
    tokens = f", {plural(round(answer.tokens), 'token')}" if not math.isnan(answer.tokens) else ""
    items = [_passage(passage) for passage in answer.passages]
    return Collapsible(
        f"Context: {answer.name}",
        [Terms(items, "passages", "evidence")],
        f"{plural(len(items), 'passage')}{tokens}",
        "reply-context",
        opened,
    )


def _folds(answer: ShownAnswer, single: bool, opened: bool) -> list[Collapsible]:
    """Collapsible the claims of an answer and its context. The first question opens the claims of the answer to retrieved passages."""
    claims = claims_fold(answer, single or (opened and answer.condition == RETRIEVED))
    context = [context_fold(answer, single)] if answer.passages else []
    return [*([claims] if claims else []), *context]


def _passage(passage: ShownPassage) -> Term:
    place = f"{passage.doc_id}:{passage.start}-{passage.end}"
    notes = [*(["cited"] if passage.cited else []), *([f"planted: {passage.planted}"] if passage.planted else [])]
    return Term(f"[{passage.number}]", " · ".join([place, *notes]), pieces=passage.pieces, anchor=passage.anchor)


def _scored(run: RunTables, answer: ShownAnswer) -> str:
    if math.isnan(answer.score):
        return f" · {outcome_text(answer)}"
    return f" · {answer_score(run)} {number(answer.score)}"


def _said(answer: ShownAnswer, clean: str) -> Cell:
    """Show the text of an answer, only once if it is that with the evidence alone (`clean`)."""
    if answer.missing:
        return Cell(f"no answer: {answer.missing}" if answer.asked else answer.missing)
    return Cell("the same answer as gold" if clean and answer.text == clean and answer.condition != GOLD else _shortened(answer.text))


def _shortened(answer: str) -> str:
    if len(answer) <= _LONGEST_ANSWER:
        return answer
    return f"{answer[:_LONGEST_ANSWER].rsplit(None, 1)[0]} … ({count(len(answer))} characters)"


answer_examples = Topic("examples", "Examples side by side", "Examples", compute, render)
