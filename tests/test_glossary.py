"""A concept has the classes of the glossary in docs/architecture.md and no others, as docs/counts.py counts them."""

import functools
import runpy
from pathlib import Path

import pytest

COUNTS = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "counts.py"))
CONCEPTS = ("hit", "answer", "judgement", "metric", "system", "configuration", "run")
NOUNS = {*CONCEPTS, "transport", "rule", "topic", "table", "experiment file", "plan"}

classes, glossary = functools.cache(COUNTS["classes"]), functools.cache(COUNTS["glossary"])


@pytest.mark.parametrize("concept", CONCEPTS)
def test_a_concept_has_the_classes_of_the_glossary(concept: str) -> None:
    forgotten = {name: module for name, module in classes()[concept].items() if name not in glossary()[concept]}
    assert not forgotten, f"a second class for {concept}: merge it, or name it in the glossary of docs/architecture.md"
    assert len(classes()[concept]) <= 2


def test_the_glossary_has_every_noun_and_its_classes_exist() -> None:
    assert set(glossary()) == NOUNS
    known = {name for _, tree in COUNTS["modules"]() for name in COUNTS["class_names"](tree)}
    assert {name for names in glossary().values() for name in names} <= known


def test_nothing_branches_on_the_kind_of_a_configuration_and_metrics_have_one_registry() -> None:
    assert COUNTS["branches"]() == []
    assert len(COUNTS["registries"]()) == 1
