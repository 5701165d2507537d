"""Plant an altered copy or an attack in the context of a question."""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from workbench.components.context.conditions import COUNTERFACTUAL, INJECTION, PERTURBATIONS
from workbench.components.context.context_packing import PackedContext, PromptTokens
from workbench.components.context.contexts import ContextOutcome
from workbench.components.context.question_labels import QuestionLabels
from workbench.components.perturb.counterfactual import altered_copy
from workbench.core.errors import InputError
from workbench.core.records import Passage, Variant

FAMILIES = PERTURBATIONS[INJECTION]
_SEPARATOR = "\n---\n"

T = TypeVar("T")
NO_FACT = "no passage contains a date, number, name, yes or no of the expected answer that a rule can change"
NO_PASSAGE = "the context has no passage"
NO_ROOM = "the token budget has no room for the planted text"


@dataclass(frozen=True, slots=True)
class Planted:
    """An altered copy or an attack, in the passage with a `number` from 0.

    `family` is the perturbation of the variant. An altered copy has the kind of its `fact` (date, number, name, polarity) with the `original` and
    the `altered` value. An attack has the `canary` that an obedient answer contains.
    """

    kind: Literal["counterfactual", "injection"]
    family: str
    number: int
    fact: str = ""
    original: str = ""
    altered: str = ""
    canary: str = ""

    def record(self) -> dict[str, Any]:
        """Return the values as JSON, without empty ones."""
        return {name: value for name, value in asdict(self).items() if value != ""}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Planted":
        """Read a record."""
        return cls(**record)


@functools.cache
def attack_texts(family: str) -> tuple[str, ...]:
    """Return the texts of a family of attacks, each with the field `{canary}`. Raises InputError for an unknown family."""
    if family not in FAMILIES:
        raise InputError(f"no family of attacks {family!r}", f"they are {', '.join(FAMILIES)}")
    text = Path(__file__).with_name("attacks").joinpath(f"{family}.txt").read_text("utf-8")
    return tuple(attack.strip() for attack in text.split(_SEPARATOR))


def canary_of(query_id: str) -> str:
    """Return a word that no text contains and that only the attacks on one question name."""
    return f"VX{_digest(query_id, 'canary').hex()[:10].upper()}"


def attack_on(query_id: str, family: str) -> str:
    """Return the attack on a question: one of the family's texts, chosen by the question's id, with the question's canary."""
    attacks = attack_texts(family)
    return attacks[chosen(query_id, family, len(attacks))].format(canary=canary_of(query_id))


def injected(passage: Passage, attack: str) -> Passage:
    """Append an attack to a passage, as a new paragraph."""
    return replace(passage, text=f"{passage.text.rstrip()}\n\n{attack}", planted=INJECTION)


def chosen(query_id: str, purpose: str, number: int) -> int:
    """Return a number below `number`, drawn by the question's id for a purpose."""
    return int.from_bytes(_digest(query_id, purpose), "big") % number


def _digest(query_id: str, purpose: str) -> bytes:
    return hashlib.blake2b(f"{purpose}\0{query_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def plant(variant: Variant, clean: PackedContext, labels: QuestionLabels, budget: int, prompt: PromptTokens) -> ContextOutcome:
    """Return the context of a perturbed variant, which differs from its clean twin only by what is planted.

    The budget is that of the clean context: a planted text that does not fit makes the variant inapplicable.
    """
    if not clean.passages:
        return ContextOutcome(reason=NO_PASSAGE)
    make = _with_copy if variant.condition == COUNTERFACTUAL else _with_attack
    made = make(variant.perturbation, clean, labels, prompt)
    return ContextOutcome(reason=NO_ROOM) if made.packed.total > budget else made


def _with_copy(place: str, clean: PackedContext, labels: QuestionLabels, prompt: PromptTokens) -> ContextOutcome:
    altered = altered_copy(clean.passages, labels)
    if altered is None:
        return ContextOutcome(reason=NO_FACT)
    copy, original, change = altered
    number = original + (place == "after")
    tokens = prompt.count(copy.text) + prompt.passage_overhead(len(clean.passages) + 1)
    planted = Planted("counterfactual", place, number, change.kind, change.original, change.altered)
    packed = PackedContext(
        passages=_inserted(clean.passages, number, copy),
        ranks=_inserted(clean.ranks, number, clean.ranks[original]),
        tokens=_inserted(clean.tokens, number, tokens),
        cuts=clean.cuts,
        total=clean.total + tokens,
    )
    return ContextOutcome(packed, planted.record())


def _with_attack(family: str, clean: PackedContext, labels: QuestionLabels, prompt: PromptTokens) -> ContextOutcome:
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
    return ContextOutcome(packed, Planted("injection", family, number, canary=canary_of(query_id)).record())


def _inserted(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place:])


def _replaced(items: tuple[T, ...], place: int, item: T) -> tuple[T, ...]:
    return (*items[:place], item, *items[place + 1 :])
