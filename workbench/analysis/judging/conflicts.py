"""Conflicts of interest between the models of a run, and questions that nobody has accepted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from workbench.llm.families import model_family
from workbench.records import ACCEPTED_BY, PROVENANCE, SYNTHETIC
from workbench.results.run_tables import RunTables

# The parts that a model can have in a run, in reading order.
WRITER, ANSWERER, JUDGE = "writes the questions", "answers", "judges"
ROLES = (WRITER, ANSWERER, JUDGE)


@dataclass(frozen=True)
class SharedModel:
    """A model, or a `family` of models, with several parts in a run. `names` are the models by part."""

    family: str
    names: Mapping[str, tuple[str, ...]]

    @property
    def roles(self) -> tuple[str, ...]:
        """Return the parts in reading order."""
        return tuple(role for role in ROLES if role in self.names)


@dataclass(frozen=True)
class SyntheticQuestions:
    """Questions that a model wrote, those of them that `waiting` for a person's acceptance, and all questions."""

    synthetic: int
    waiting: int
    of: int


@lru_cache(maxsize=4)
def models_by_role(run: RunTables) -> Mapping[str, tuple[str, ...]]:
    """Return the models of a run by their part: those that wrote its questions, answer and judge."""
    written = sorted({str(row.get(PROVENANCE, {}).get("model", "")) for row in _metadata(run) if isinstance(row.get(PROVENANCE), dict)})
    answering = sorted(run.answers["model"].unique().tolist())
    judging = sorted({name for settings in (run.judging or {}).values() for name in _models(settings)})
    found = {WRITER: written, ANSWERER: answering, JUDGE: judging}
    return {role: tuple(name for name in names if name) for role, names in found.items()}


def shared_families(run: RunTables) -> list[SharedModel]:
    """Return the families of models with several parts in the run."""
    families: dict[str, dict[str, tuple[str, ...]]] = {}
    for role, names in models_by_role(run).items():
        for name in names:
            if family := model_family(name):
                known = families.setdefault(family, {})
                known[role] = (*known.get(role, ()), name)
    return [SharedModel(family, names) for family, names in families.items() if len(names) > 1]


def self_judging(run: RunTables) -> tuple[str, ...]:
    """Return the models that judge their own answers."""
    models = models_by_role(run)
    return tuple(name for name in models[JUDGE] if name in models[ANSWERER])


def synthetic_questions(run: RunTables) -> SyntheticQuestions:
    """Count the questions that a model wrote, and those that no person has accepted."""
    rows = [row for row in _metadata(run) if row.get(SYNTHETIC) is True]
    waiting = sum(not str(row.get(ACCEPTED_BY) or "").strip() for row in rows)
    return SyntheticQuestions(len(rows), waiting, len(run.questions))


def _models(settings: Any) -> Iterator[str]:
    """Yield the names of the language models in the settings of a judge, also of a judge within it."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name == "model" and value:
                yield str(value)
            elif name == "path" and value:
                yield PurePath(str(value)).name
            elif name != "embedding":
                yield from _models(value)


@lru_cache(maxsize=4)
def _metadata(run: RunTables) -> list[dict[str, Any]]:
    return [json.loads(text) for text in run.questions["metadata"].tolist()]
