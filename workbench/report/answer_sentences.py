"""Sentences on answers: how they depend on the context, and what is lost on the way."""

import math
from collections.abc import Sequence

from workbench.components.context.conditions import CLEAN_TWINS, GOLD, GOLD_DISTRACTORS, NONE, RETRIEVED
from workbench.core.text.formatting import count, listed, number, plural
from workbench.measures.statistics.effects import EffectReading
from workbench.report.analysis.answer_values import (
    Refusals,
    answer_score,
    answering,
    answers_of,
    condition_mean,
    condition_scores,
    cut_answers,
    is_verbatim,
    missing_answers,
)
from workbench.report.analysis.decomposition import REMAINING, Decomposition, Loss, decomposition_of
from workbench.report.model import SummaryItem
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import too_few

QUESTION = "Does the answer hold?"
# What the generator reads in each condition.
MEANINGS = {
    "none": "no passages: closed book",
    "gold": "the evidence alone",
    "gold_distractors": "the evidence among distractors",
    "retrieved": "what the configuration retrieves",
    "missing_gold": "what it retrieves, without any evidence",
    "irrelevant_only": "passages of irrelevant documents only",
    "counterfactual": "the evidence and an altered copy",
    "injection": "the evidence and an instruction",
}
# Where the altered copy is.
PLACES = {"before": "before the evidence", "after": "after the evidence"}


def hold_answer(run: RunTables, configuration: str) -> SummaryItem:
    """Say how the answers of a configuration depend on the context. Only losses that are significant together are claimed."""
    parts, cut = decomposition_of(run, configuration), [f"{sentence}." for sentence in cut_sentences(run)]
    sentences = [*score_sentences(run, configuration), missing_sentence(run, configuration), *cut]
    return SummaryItem(QUESTION, " ".join(filter(None, sentences)), " ".join(detail_sentences(run, parts) if parts else []))


def detail_sentences(run: RunTables, parts: Decomposition) -> list[str]:
    """State the closed-book share, what remains, and what the answer score is."""
    sentences, closed, metric = list[str](), parts.closed, run.measures[parts.metric]
    if parts.closed_book:
        value = f"{number(parts.closed_book.value)} {parts.closed_book.bounds()}"
        refused = f" Of {plural(closed.of, 'answer')} {count(closed.refused)} are refused, which says nothing about what the model knows."
        share = f"Without any passages (condition {NONE}), {parts.metric} is {value}: the closed-book share."
        sentences.append(f"{share}{refused if closed.refused else ''}")
    if parts.remaining:
        words = ", and right answers in other words" if metric.compares == "words" else ""
        refused = f" ({_refused(parts.alone)} answers are refused)" if parts.alone.refused else ""
        lost = f"{number(parts.remaining.value)} {parts.remaining.bounds()} is missing with the evidence alone{refused}"
        sentences.append(f"{lost}: {REMAINING}{words}.")
    return [*sentences, f"{parts.metric}: {metric.meaning}."]


def loss_sentences(run: RunTables, parts: Decomposition) -> list[str]:
    """State the losses through retrieval and distractors, and the largest under attack. Only significant losses are claimed.

    Where the evidence alone is refused more often than the other condition, it is no ceiling: no absence of a loss is stated, but the loss on the
    questions without such a refusal.
    """
    few = [loss for loss in parts.losses if loss.reading is EffectReading.TOO_FEW]
    enough = [loss for loss in parts.losses if loss not in few]
    attacks = [loss for loss in enough if loss.condition in CLEAN_TWINS]
    # A generator that copies the context cannot obey it, so that the absence of a loss says nothing.
    attacks = attacks if not is_verbatim(run, parts.configuration) or any(loss.significant for loss in attacks) else []
    plain = [loss for loss in enough if loss.condition not in CLEAN_TWINS]
    sentences = [*_claims(plain), *([_attacked(attacks, parts.metric)] if attacks else [])]
    if few:
        largest = max(few, key=lambda loss: loss.difference.n).difference
        about = "losses" if len(few) == len(parts.losses) else f"a loss {listed([_cause(loss) for loss in few], 3)}"
        sentences.append(f"{too_few(run, largest, about)}.")
    return sentences


def missing_sentence(run: RunTables, configuration: str) -> str:
    """Count the missing answers of a configuration by reason, and those of the others. Empty if no answer of the run is missing."""
    asked, reasons = missing_answers(run, configuration)
    missing = sum(reasons.values())
    others = sum(sum(missing_answers(run, name)[1].values()) for name in answering(run) if name != configuration)
    elsewhere = f"{plural(others, 'answer')} of other configurations {'is' if others == 1 else 'are'} missing" if others else ""
    if not missing:
        return f"{elsewhere}." if elsewhere else ""
    named = listed([reason if len(reasons) == 1 else f"{reason} ({count(times)})" for reason, times in reasons.items()], 3)
    more = f" {elsewhere}, too." if elsewhere else ""
    verb = "is" if missing == 1 else "are"
    return f"{count(missing)} of {plural(asked, 'answer')} of {configuration} {verb} missing and not scored: {named}.{more}"


def cut_sentences(run: RunTables) -> list[str]:
    """Count the answers of all configurations that were cut off at a token limit, without a full stop. Empty if there are only a few."""
    sentences, answers = [], cut_answers(run)
    for unclear, why in ((True, ", and no reply marks its reasoning, so these texts may be reasoning in place of answers"), (False, "")):
        rows = [(name, cut, given) for name, cut, given, unknown in answers if unknown == unclear]
        named = listed([f"{count(cut)} of {plural(given, 'answer')} of {name}" for name, cut, given in rows], 3)
        verb = "was" if sum(cut for _, cut, _ in rows) == 1 else "were"
        sentences += [f"{named} {verb} cut off at the token limit{why}; raise max_tokens"] if rows else []
    return sentences


def score_sentences(run: RunTables, configuration: str) -> list[str]:
    """State the answer scores of a configuration, contexts that lack evidence, and its losses."""
    score, parts = answer_score(run), decomposition_of(run, configuration)
    if score is None:
        return [f"{configuration} answers, but no metric of the run scores an answer's content."]
    if parts is None:
        return [_without_gold(run, configuration, str(score))]
    gold, retrieved = parts.gold, condition_mean(run, configuration, parts.metric, RETRIEVED)
    of = f" (on {plural(retrieved.n, 'question')}, not {count(gold.n)})" if retrieved and retrieved.n != gold.n else ""
    more = f", and {number(retrieved.value)} {retrieved.bounds()} with what it retrieves{of}" if retrieved and retrieved.n else ""
    sentences = [f"{configuration} has {parts.metric} {number(gold.value)} {gold.bounds()} if it reads the evidence{more}."]
    rows = answers_of(run, configuration)
    rows = rows[(rows["condition"] == GOLD) & (rows["reason"] == "")].drop_duplicates("query_id")
    # The budget or the largest number of chunks cuts the evidence.
    if cut := int((~rows["gold"]).sum()):
        of = f"{count(cut)} of {plural(len(rows), 'question')}"
        sentences.append(f"The contexts with the evidence lack a part of it on {of}; raise the budget of the context.")
    return [*sentences, *loss_sentences(run, parts)]


def _without_gold(run: RunTables, name: str, metric: str) -> str:
    scored = {row.condition: row.mean for row in condition_scores(run, name) if row.mean and row.mean.n}
    retrieved = scored.get(RETRIEVED)
    lacks = "scored answers to the condition" if GOLD in run.manifest.get("conditions", ()) else "the condition"
    if retrieved:
        value = f"{number(retrieved.value)} {retrieved.bounds()}"
        return f"{name} has {metric} {value} with what it retrieves; without {lacks} {GOLD} its losses cannot be separated."
    if scored:
        return f"Without the conditions {GOLD} and {RETRIEVED}, {metric} of {name} has no losses."
    rows = condition_scores(run, name)
    reasons = list(dict.fromkeys(reason for row in rows for reason in (*row.failed, *row.unscored)))
    why = f": {'; '.join(reasons[:3])}" if reasons else ""
    return f"No answer of {name} is scored by {metric}{why}."


def _claims(losses: Sequence[Loss]) -> list[str]:
    shown = [loss for loss in losses if loss.significant]
    gains = [loss for loss in losses if loss.reading is EffectReading.GAIN]
    absent = [loss for loss in losses if not (loss.masked or loss in shown or loss in gains)]
    texts = [f"{_size(loss)} {_cause(loss)}" for loss in shown]
    hidden = listed([f"{_cause(loss)} ({_size(loss)}{_able(loss)})" for loss in absent]).replace(" and ", " or ")
    sentences = [*([f"It loses {listed(texts)}."] if texts else []), *([f"No loss is shown {hidden}."] if absent else [])]
    for loss in gains:
        gain = loss.comparison.reversed().simultaneous
        better = f"better than those from the evidence alone, by {number(gain.value)} {gain.bounds()}"
        sentences.append(f"The answers {_context(loss)} are {better}, so that this is no ceiling.")
    return [*sentences, *_masked([loss for loss in losses if loss.masked])]


def _masked(losses: Sequence[Loss]) -> list[str]:
    """State losses on the questions that are answered from the evidence alone, if that is refused more often. The table has those on all questions."""
    if not losses:
        return []
    others = [f"{_refused(loss.refused)} {_context(loss)}" for loss in losses]
    ceiling = f"The evidence alone is no ceiling: {_refused(losses[0].alone)} answers from it are refused, but {listed(others)}."
    means = [(_cause(loss), loss.answered.comparison.simultaneous) for loss in losses if loss.answered]
    rest = listed([f"{number(mean.value)} {mean.bounds()} {cause} ({plural(mean.n, 'question')})" for cause, mean in means])
    return [
        ceiling,
        f"On questions that are answered from it, the loss is {rest}." if means else "None is answered from the evidence alone.",
    ]


def _attacked(losses: Sequence[Loss], metric: str) -> str:
    shown = [loss for loss in losses if loss.significant]
    if shown:
        of = f"{count(len(shown))} of {plural(len(losses), 'attack')} {'lowers' if len(shown) == 1 else 'lower'} {metric}"
        return f"{of}; the largest loss is {_largest(shown)}."
    masked = [loss for loss in losses if loss.masked]
    if masked:
        under = f"{count(len(masked))} of {plural(len(losses), 'attack')}"
        return (
            f"Under {under} the evidence alone is refused more often, which hides a loss; the largest that is left is {_largest(losses)}."
        )
    worst = _worst(losses)
    return f"Under {plural(len(losses), 'attack')} no loss is shown; the largest is {_largest(losses)}{_able(worst)}."


def _worst(losses: Sequence[Loss]) -> Loss:
    return max(losses, key=lambda loss: loss.difference.value)


def _largest(losses: Sequence[Loss]) -> str:
    worst = _worst(losses)
    return f"{_size(worst)} by {worst.name}"


def _able(loss: Loss) -> str:
    """State the loss that the questions could show."""
    if loss.comparison.identical:
        return f"; the score is the same on all {plural(loss.difference.n, 'question')}"
    return "" if math.isnan(loss.detectable) else f"; a loss of {number(loss.detectable)} would be shown with 80 % power"


def _refused(refusals: Refusals) -> str:
    return f"{count(refusals.refused)} of {count(refusals.of)}"


def _cause(loss: Loss) -> str:
    return f"through {loss.name}" if loss.condition == RETRIEVED else f"to {loss.name}"


def _context(loss: Loss) -> str:
    return {RETRIEVED: "from what it retrieves", GOLD_DISTRACTORS: "with distractors"}.get(loss.condition, f"under {loss.name}")


def _size(loss: Loss) -> str:
    return f"{number(loss.difference.value)} {loss.simultaneous.bounds()}"
