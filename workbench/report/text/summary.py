"""The eight questions about a sweep, each answered by a sentence with a detail."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import COSTS, Cost, CostedConfiguration
from workbench.analysis.questions.miss_causes import cause_meanings, explains_text
from workbench.attribution.causes import CAUSES
from workbench.core.formatting import amount, count, interval, listed, number, plural, share
from workbench.report.model import Answer, Answered, Lead
from workbench.report.text import verdict
from workbench.report.text.sentences import about_dataset

_PRICES: dict[Cost, str] = {
    "encoding": "{} s of encoding",
    "index": "{} MB of index",
    "delivered": "{} tokens of delivered text per question",
    "p95": "{} ms per question (95th percentile)",
}
# The cause, after "misses evidence ... because".
_BECAUSE = {cause.name: cause.because for cause in CAUSES}


class Answers(NamedTuple):
    """The answers in reading order."""

    won: Answer
    margin: Answer
    certainty: Answer
    cost: Answer
    faults: Answer
    weakest: Answer
    more: Answer
    data: Answer


def answers(found: Findings) -> Answers:
    """Answer all eight questions. Sentences name a winner only if the verdict does."""
    return Answers(
        Answer("What won?", *verdict.won(found)),
        Answer("By how much?", *verdict.margin(found)),
        Answer("How sure is that?", *verdict.certainty(found)),
        Answer("What does it cost?", *cost(found)),
        Answer("What mostly goes wrong?", *faults(found)),
        Answer("Where is it weakest?", *weakest(found)),
        Answer("How many more questions would be needed?", *verdict.more(found)),
        Answer("On which data?", *data(found)),
    )


def headline(found: Findings) -> Lead:
    """Name the winner or the tie set. Text in brackets becomes the aside."""
    sentence, bracket, aside = answers(found).won.sentence.partition(" (")
    return Lead(sentence, f"({aside}" if bracket else "")


def opening(found: Findings) -> list[str]:
    """Describe the configurations that are not ranked, and the data."""
    answer = answers(found)
    return [line for line in (answer.won.detail, answer.data.text) if line]


def answered(found: Findings) -> Answered:
    """Answer the other questions."""
    return Answered(list(answers(found))[1:-1])


def cost(found: Findings) -> tuple[str, str]:
    """State the costs of the leader and of the cheapest configuration of the tie set."""
    first, cheapest = found.price(found.first.name) if found.first else None, found.cheapest
    if first is None or cheapest is None or found.verdict is None:
        return "No configuration can be ranked, so no cost is named.", ""
    meaning = " ".join(f"{kind.label.capitalize()}: {kind.unit} {kind.definition}." for kind in map(COSTS.__getitem__, _PRICES))
    # At equal context all deliver the same amount.
    kinds = [kind for kind in _PRICES if kind != "delivered" or found.primary.tokens is None]
    sentence = f"{first.name} costs {_priced(first, kinds)}"
    if cheapest.name != first.name:
        return f"{sentence}. {cheapest.name}, statistically indistinguishable from it, costs {_priced(cheapest, kinds)}.", meaning
    least = found.conclusive and len(found.verdict.best) > 1
    return f"{sentence}{'; no other configuration of the tie set costs less to encode' if least else ''}.", meaning


def faults(found: Findings) -> tuple[str, str]:
    """Describe the leader's misses and their most frequent cause."""
    first, missed = found.first, found.faults
    if first is None or missed is None:
        return "No configuration can be ranked, so no faults are counted.", ""
    if not found.primary.higher_is_better:
        return f"{found.primary} counts faults itself and has no causes.", ""
    what, questions = "evidence" if explains_text(found.run) else "a relevant document", plural(missed.of, "question")
    if not missed.causes:
        return f"Nothing: {first.name} misses {what} on none of {questions}.", ""
    (cause, (most, _)), *_ = missed.causes.items()
    queries = sum(many for many, _ in missed.causes.values())
    mostly = "each time" if most == queries else f"on {count(most)} of these"
    by = f"{mostly} because {_BECAUSE[cause]}"
    meanings = cause_meanings(found.run)
    detail = "; ".join(f"{name} ({count(many)}): {meanings[name]}" for name, (many, _) in missed.causes.items())
    return f"{first.name} misses {what} on {count(queries)} of {questions} ({share(queries, missed.of)}), {by}.", f"{detail}."


def weakest(found: Findings) -> tuple[str, str]:
    """Name the slice in which the leader scores worst."""
    first, missed = found.first, found.faults
    if first is None or missed is None:
        return "No configuration can be ranked, so none is sliced.", ""
    if missed.weakest is None:
        return "No slice has 20 questions, and smaller slices are not informative.", ""
    whole, part = first.means[str(found.primary)], missed.weakest.mean
    value = f"{number(part.value)} {interval(part.low, part.high)}"
    where = f"{missed.weakest.slice} ({plural(part.n, 'question')})"
    return (
        f"{first.name} is weakest on {where}: {found.primary} {value}, against {number(whole.value)} on all.",
        "Of the slices with 20 questions or more; of several slices one is the lowest by chance alone.",
    )


def data(found: Findings) -> tuple[str, str]:
    """Describe the documents and questions, and how many questions the primary metric averages."""
    if found.first is None:
        return about_dataset(found.run), ""
    mean = found.first.means[str(found.primary)]
    unscored = f"; {count(mean.unscored)} unscored" if mean.unscored else ""
    over = f"{plural(mean.n, 'question')} in {plural(mean.clusters, 'cluster')}"
    return about_dataset(found.run), f"{found.primary} is over {over}{unscored}."


def _priced(costed: CostedConfiguration, kinds: Sequence[Cost]) -> str:
    known = {kind: costed.costs[kind] for kind in kinds if not np.isnan(costed.costs[kind])}
    return listed([_PRICES[kind].format(count(value) if kind == "delivered" else amount(value)) for kind, value in known.items()])
