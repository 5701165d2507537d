"""What answers show, as sentences: how they depend on the context, and what is lost on the way."""

from collections.abc import Sequence

from workbench.analysis.answers.answered import answering
from workbench.analysis.answers.condition_scores import answer_score, condition_mean, condition_scores
from workbench.analysis.answers.decomposition import REMAINING, Decomposition, Loss
from workbench.analysis.answers.decomposition_table import decomposition_of
from workbench.analysis.findings import Findings
from workbench.context.conditions import CLEAN_TWINS, GOLD, NONE, RETRIEVED
from workbench.core.formatting import count, listed, number, plural
from workbench.report.model import Answer
from workbench.results.run_tables import RunTables
from workbench.statistics.effects import EffectReading

QUESTION = "Does the answer hold?"
# What the generator reads in each condition.
MEANINGS = {
    "none": "no passages: closed book",
    "gold": "the chunks with the evidence: perfect retrieval",
    "gold_distractors": "the evidence among distractors, as much text as retrieved",
    "retrieved": "what the configuration retrieves",
    "missing_gold": "what it retrieves, without any evidence",
    "irrelevant_only": "chunks of irrelevant documents only",
    "counterfactual": "the evidence beside a copy with one altered fact",
    "injection": "the evidence with a planted instruction",
}
PLACES = {"before": "altered copy before the evidence", "after": "altered copy after the evidence"}


def does_it_hold(findings: Findings) -> Answer | None:
    """Say how the answers of the first configuration that answers depend on the context. None for a run without answers."""
    names = answering(findings.run)
    return hold_answer(findings.run, names[0]) if names else None


def hold_answer(run: RunTables, configuration: str) -> Answer:
    """Say how the answers of a configuration depend on the context. Only losses that are significant together are claimed."""
    score, missing = answer_score(run), missing_sentence(run, configuration)
    if score is None:
        return Answer(QUESTION, f"{configuration} answers, but no metric of the run scores an answer's content.", missing)
    parts = decomposition_of(run, configuration)
    if parts is None:
        return Answer(QUESTION, _retrieved_only(run, configuration, str(score)), missing)
    sentences = [_levels(run, parts), *loss_sentences(parts)]
    return Answer(QUESTION, " ".join(sentences), " ".join(detail_sentences(run, parts)))


def detail_sentences(run: RunTables, parts: Decomposition) -> list[str]:
    """State the closed-book share, what remains, the missing answers, and what the answer score is."""
    score = f"{parts.metric}: {run.measures[parts.metric].definition}."
    return list(filter(None, [_closed_book(parts), _remaining(parts), missing_sentence(run, parts.configuration), score]))


def loss_sentences(parts: Decomposition) -> list[str]:
    """State the losses through retrieval and distractors, and the largest under attack. Only significant losses are claimed."""
    few = [loss for loss in parts.losses if loss.reading is EffectReading.TOO_FEW]
    enough = [loss for loss in parts.losses if loss not in few]
    attacks = [loss for loss in enough if loss.condition in CLEAN_TWINS]
    plain = [loss for loss in enough if loss.condition not in CLEAN_TWINS]
    sentences = [_claim(plain)] if plain else []
    return [*sentences, *([_attacked(attacks)] if attacks else []), *([_too_few(few, len(parts.losses))] if few else [])]


def missing_sentence(run: RunTables, configuration: str) -> str:
    """Count the answers of a configuration that are missing because a call failed. Empty if none is."""
    rows = condition_scores(run, configuration)
    reasons: dict[str, int] = {}
    for row in rows:
        for reason, times in row.failed.items():
            reasons[reason] = reasons.get(reason, 0) + times
    if not reasons:
        return ""
    named = [f"{reason} ({count(times)})" for reason, times in sorted(reasons.items(), key=lambda item: -item[1])]
    missing = sum(reasons.values())
    return f"{plural(missing, 'answer is', 'answers are')} missing and not scored: {listed(named, 3)}."


def answer_lines(findings: Findings) -> list[str]:
    """Summarise the answers for the terminal. Empty for a run without answers."""
    answer = does_it_hold(findings)
    if answer is None:
        return []
    run = findings.run
    missing = missing_sentence(run, answering(run)[0])
    return [answer.sentence, *([missing] if missing else [])]


def _levels(run: RunTables, parts: Decomposition) -> str:
    retrieved = condition_mean(run, parts.configuration, parts.metric, RETRIEVED)
    found = f", and {number(retrieved.value)} {retrieved.bounds()} with what it retrieves" if retrieved and retrieved.n else ""
    return f"{parts.configuration} has {parts.metric} {number(parts.gold.value)} {parts.gold.bounds()} if it reads the evidence{found}."


def _retrieved_only(run: RunTables, name: str, metric: str) -> str:
    retrieved = condition_mean(run, name, metric, RETRIEVED)
    if retrieved is None or not retrieved.n:
        return f"No answer of {name} is scored by {metric}."
    value = f"{number(retrieved.value)} {retrieved.bounds()}"
    lacks = "scored answers to the condition" if GOLD in run.manifest.get("conditions", ()) else "the condition"
    return f"{name} has {metric} {value} with what it retrieves; without {lacks} {GOLD} its losses cannot be separated."


def _claim(losses: Sequence[Loss]) -> str:
    shown, others = [loss for loss in losses if loss.significant], [loss for loss in losses if not loss.significant]
    texts = [f"{_size(loss)} {_cause(loss)}" for loss in shown]
    sentence = f"It loses {listed(texts)}." if texts else ""
    hidden = f"No loss is shown {listed([f'{_cause(loss)} ({_size(loss)})' for loss in others]).replace(' and ', ' or ')}."
    return " ".join(filter(None, [sentence, hidden if others else ""]))


def _attacked(losses: Sequence[Loss]) -> str:
    worst = max(losses, key=lambda loss: loss.difference.value)
    shown = sum(loss.significant for loss in losses)
    if not worst.significant and not shown:
        return f"Under {plural(len(losses), 'attack')} no loss is shown; the largest is {_size(worst)} by {worst.name}."
    of = f"{count(shown)} of {plural(len(losses), 'attack')} {'costs' if shown == 1 else 'cost'} answers"
    return f"{of}; the largest loss is {_size(worst)} by {worst.name}."


def _too_few(few: Sequence[Loss], of: int) -> str:
    largest = max(few, key=lambda loss: loss.difference.n).difference
    counts = f"{plural(largest.n, 'question')} about {plural(largest.clusters, 'document')}"
    about = "losses" if len(few) == of else f"a loss {listed([_cause(loss) for loss in few], 3)}"
    return f"{counts} {'is' if largest.n == 1 else 'are'} too few for a claim about {about}."


def _cause(loss: Loss) -> str:
    return f"through {loss.name}" if loss.condition == RETRIEVED else f"to {loss.name}"


def _size(loss: Loss) -> str:
    return f"{number(loss.difference.value)} {loss.simultaneous.bounds()}"


def _closed_book(parts: Decomposition) -> str:
    if parts.closed_book is None:
        return ""
    return f"Without any passages ({NONE}) it is {number(parts.closed_book.value)} {parts.closed_book.bounds()}: the closed-book share."


def _remaining(parts: Decomposition) -> str:
    bounds = "Intervals of losses hold for all losses of the configuration at once."
    if parts.remaining is None:
        return bounds
    return f"{number(parts.remaining.value)} {parts.remaining.bounds()} remains lost with perfect context: {REMAINING}. {bounds}"
