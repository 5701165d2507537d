"""Questions that a model wrote or a heading stands for, and models of one family that write questions, answer them and judge the answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from workbench.core.records import PROVENANCE, SYNTHETIC, is_draft, is_placeholder
from workbench.core.schemas import SCHEMAS
from workbench.llm.families import model_family
from workbench.report.analysis.values import metadata
from workbench.report.results.run_tables import RunTables

ModelRole = Literal["questions", "answers", "judgements"]


@dataclass(frozen=True)
class SyntheticQuestions:
    """The number of questions that models wrote, of how many, how many of them a person accepted, and the models.

    `placeholders` are those that nobody has written yet: a heading is in place of the question.
    """

    synthetic: int
    accepted: int
    of: int
    models: tuple[str, ...]
    placeholders: int = 0

    @property
    def waiting(self) -> int:
        """The number of synthetic questions nobody accepted."""
        return self.synthetic - self.accepted


@dataclass(frozen=True)
class SharedFamily:
    """A family of models with several roles in a run, and its models by role. A model prefers the texts of its family."""

    family: str
    models: Mapping[ModelRole, tuple[str, ...]]


def synthetic_questions(run: RunTables) -> SyntheticQuestions | None:
    """Count the synthetic questions of a run. None if a person wrote them all."""
    written = [fields for fields in metadata(run) if fields.get(SYNTHETIC) is True]
    if not written:
        return None
    accepted = len(written) - sum(map(is_draft, written))
    models = tuple(sorted({model for fields in written if (model := _generator(fields))}))
    return SyntheticQuestions(len(written), accepted, len(run.questions), models, sum(map(is_placeholder, written)))


def unaccepted(run: RunTables) -> frozenset[str]:
    """Return the ids of the synthetic questions that nobody has accepted."""
    fields = zip(run.questions["query_id"], metadata(run), strict=True)
    return frozenset(query_id for query_id, each in fields if is_draft(each))


def shared_families(run: RunTables) -> tuple[SharedFamily, ...]:
    """Return the families with more than one role in a run, sorted. A model whose family is not known shares none."""
    by_family: dict[str, dict[ModelRole, set[str]]] = {}
    for role, models in models_by_role(run).items():
        for model in models:
            if family := model_family(model):
                by_family.setdefault(family, {}).setdefault(role, set()).add(model)
    return tuple(
        SharedFamily(family, {role: tuple(sorted(models)) for role, models in roles.items()})
        for family, roles in sorted(by_family.items())
        if len(roles) > 1
    )


def models_by_role(run: RunTables) -> dict[ModelRole, tuple[str, ...]]:
    """Return the names of the models that wrote questions, answered and judged, sorted. A role without a model has none."""
    questions = {_generator(fields) for fields in metadata(run) if fields.get(SYNTHETIC) is True}
    answers = set(run.table("answers")["model"].dropna()) if "answers" in run.sources else set()
    for settings in run.configurations_settings.values():
        answers |= set(_models(settings.get("answering")))
    judgements = set(_models(run.manifest.get("judging")))
    if "judges" in SCHEMAS and "judges" in run.sources:
        judgements |= set(run.table("judges")["judge"].dropna())
    roles: dict[ModelRole, set[str]] = {"questions": questions, "answers": answers, "judgements": judgements}
    return {role: tuple(sorted(filter(None, models))) for role, models in roles.items()}


def _generator(fields: Mapping[str, Any]) -> str:
    """Return the model that wrote a question, or an empty text if its provenance does not say."""
    provenance = fields.get(PROVENANCE)
    return str(provenance.get("model") or "") if isinstance(provenance, Mapping) else ""


def _models(settings: Any) -> Iterator[str]:
    """Yield the models in settings: names, and the names of files without their folders, which are no names of models."""
    if not isinstance(settings, Mapping):
        return
    for name, value in settings.items():
        if name in ("model", "path") and isinstance(value, str):
            yield PurePath(value).name if name == "path" else value
        else:
            yield from _models(value)
