"""Plant an altered copy or an attack in the context of a question."""

from dataclasses import dataclass, field, replace
from typing import TypeVar

from workbench.context.assembly import PackedContext, PromptTokens
from workbench.context.conditions import COUNTERFACTUAL
from workbench.context.question_labels import QuestionLabels
from workbench.perturb.counterfactual import altered_copy
from workbench.perturb.injection import attack_on, canary_of, chosen, injected
from workbench.perturb.planted import Planted
from workbench.records import Variant

T = TypeVar("T")
NO_FACT = "no passage contains a date, number, name, yes or no of the expected answer that a rule can change"
NO_PASSAGE = "the context has no passage"
NO_ROOM = "the token budget has no room for the planted text"


@dataclass(frozen=True)
class PlantedContext:
    """A context with what is planted in it, or the `reason` why nothing can be planted."""

    packed: PackedContext = field(default_factory=PackedContext)
    planted: Planted | None = None
    reason: str = ""


def plant(variant: Variant, clean: PackedContext, labels: QuestionLabels, budget: int, prompt: PromptTokens) -> PlantedContext:
    """Return the context of a perturbed variant, which differs from its clean twin only by what is planted.

    The budget is that of the clean context: a planted text that does not fit makes the variant inapplicable.
    """
    if not clean.passages:
        return PlantedContext(reason=NO_PASSAGE)
    make = _with_copy if variant.condition == COUNTERFACTUAL else _with_attack
    made = make(variant.perturbation, clean, labels, prompt)
    return PlantedContext(reason=NO_ROOM) if made.packed.total > budget else made


def _with_copy(place: str, clean: PackedContext, labels: QuestionLabels, prompt: PromptTokens) -> PlantedContext:
    copy = altered_copy(clean.passages, labels)
    if copy is None:
        return PlantedContext(reason=NO_FACT)
    number = copy.number + (place == "after")
    tokens = prompt.count(copy.passage.text) + prompt.passage_overhead(len(clean.passages) + 1)
    planted = Planted("counterfactual", place, number, copy.change.kind, copy.change.original, copy.change.altered)
    packed = PackedContext(
        passages=_inserted(clean.passages, number, copy.passage),
        ranks=_inserted(clean.ranks, number, clean.ranks[copy.number]),
        tokens=_inserted(clean.tokens, number, tokens),
        cuts=clean.cuts,
        total=clean.total + tokens,
    )
    return PlantedContext(packed, planted)


def _with_attack(family: str, clean: PackedContext, labels: QuestionLabels, prompt: PromptTokens) -> PlantedContext:
    query_id = labels.query.query_id
    number = chosen(query_id, "passage", len(clean.passages))
    passage = injected(clean.passages[number], attack_on(query_id, family))
    more = prompt.count(passage.text) - prompt.count(clean.passages[number].text)
    packed = replace(
        clean,
        passages=_replaced(clean.passages, number, passage),
        tokens=_replaced(clean.tokens, number, clean.tokens[number] + more),
        total=clean.total + more,
    )
    return PlantedContext(packed, Planted("injection", family, number, canary=canary_of(query_id)))


def _inserted(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place:])


def _replaced(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])
