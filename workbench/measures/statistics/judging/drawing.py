"""Draw items for labelling at random, on the same questions for every configuration, with enough of every verdict class."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

# The fewest labels of each verdict class from which its error can be estimated.
EACH_CLASS = 25


@dataclass(frozen=True, slots=True)
class DrawableItem:
    """An item of one configuration that can be drawn.

    `group` is the repeat of its question, `verdict_class` its verdict. Configurations with the same `text` draw the same item.
    """

    item_id: str
    query_id: str
    group: int
    verdict_class: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class DrawnItems:
    """The ids of drawn items: those drawn `at_random`, and those added `by_class` at random among the items of a verdict class."""

    at_random: tuple[str, ...]
    by_class: tuple[str, ...]


def draw(items: Sequence[DrawableItem], number: int, seed: int, each_class: int = EACH_CLASS) -> DrawnItems:
    """Draw one item of each of `number` random questions, then further questions until each verdict class has `each_class` items.

    Questions are ordered by a hash of their id and the seed, so that all configurations get the same questions as far as they have items for them. Of a
    question a repeat and then an item are drawn, so that each question counts equally. A further draw with a larger number contains this one.
    """
    groups: dict[str, dict[int, list[DrawableItem]]] = {}
    for item in items:
        groups.setdefault(item.query_id, {}).setdefault(item.group, []).append(item)
    one = {}
    for query_id, repeats in groups.items():
        group = min(repeats, key=lambda repeat: _hash(seed, query_id, repeat))
        one[query_id] = min(repeats[group], key=lambda item: (_hash(seed, query_id, item.text), item.item_id))
    order = sorted(one, key=lambda query_id: _hash(seed, query_id))
    first, rest = order[:number], order[number:]
    counts: dict[int, int] = {}
    for query_id in first:
        counts[one[query_id].verdict_class] = counts.get(one[query_id].verdict_class, 0) + 1
    added = []
    for query_id in rest:
        item = one[query_id]
        if counts.get(item.verdict_class, 0) < each_class:
            counts[item.verdict_class] = counts.get(item.verdict_class, 0) + 1
            added.append(item.item_id)
    return DrawnItems(tuple(one[query_id].item_id for query_id in first), tuple(added))


def shuffled(item_ids: Sequence[str], seed: int) -> list[str]:
    """Order ids by a hash, so that the order tells nothing about how they were drawn."""
    return sorted(item_ids, key=lambda item_id: _hash(seed, "order", item_id))


def _hash(*parts: object) -> bytes:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
