"""Attacks of this package: an instruction with a canary, appended to a passage."""

import functools
import hashlib
from dataclasses import replace
from importlib.resources import files

from workbench.context.conditions import INJECTION, PERTURBATIONS
from workbench.errors import InputError
from workbench.records import Passage

FAMILIES = PERTURBATIONS[INJECTION]
_SEPARATOR = "\n---\n"


@functools.cache
def attack_texts(family: str) -> tuple[str, ...]:
    """Return the texts of a family of attacks, each with the field `{canary}`. Raises InputError for an unknown family."""
    if family not in FAMILIES:
        raise InputError(f"no family of attacks {family!r}", f"they are {', '.join(FAMILIES)}")
    text = files("workbench.perturb").joinpath("attacks", f"{family}.txt").read_text("utf-8")
    return tuple(attack.strip() for attack in text.split(_SEPARATOR))


def canary_of(query_id: str) -> str:
    """Return a word that no text contains and that only the attacks on one question name."""
    return f"VX{_digest(query_id, 'canary').hex()[:10].upper()}"


def attack_on(query_id: str, family: str) -> str:
    """Return the attack on a question: one of the family's texts, chosen by the question's id, with the question's canary."""
    attacks = attack_texts(family)
    return attacks[chosen(query_id, family, len(attacks))].format(canary=canary_of(query_id))


def injected(passage: Passage, attack: str) -> Passage:
    """Append an attack to a passage, as a paragraph of its own."""
    return replace(passage, text=f"{passage.text.rstrip()}\n\n{attack}", planted=INJECTION)


def chosen(query_id: str, purpose: str, number: int) -> int:
    """Return a number below `number`, drawn by the question's id for a purpose."""
    return int.from_bytes(_digest(query_id, purpose), "big") % number


def _digest(query_id: str, purpose: str) -> bytes:
    return hashlib.blake2b(f"{purpose}\0{query_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
