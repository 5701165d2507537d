"""Read the key `judging` of an experiment: the judges of the run, which conditions they judge, and the thresholds of the end-to-end test."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from workbench.core.component import field_fault
from workbench.core.formatting import meant
from workbench.experiment.validate import Settings, component, is_mapping, unknown, usable
from workbench.judging.base import Judge
from workbench.judging.claims.base import ClaimSplitter
from workbench.judging.registry import JUDGES, SPLITTERS
from workbench.judging.settings import EndToEndThresholds, Judging
from workbench.metrics.definition import CONTRADICTIONS, VERDICTS
from workbench.metrics.names import Metric
from workbench.metrics.registry import METRICS
from workbench.records import Variant

JUDGING_KINDS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "claims": SPLITTERS,
    "support": JUDGES,
    "relevance": JUDGES,
    "correctness": JUDGES,
    "rubric": JUDGES,
}
USUAL_JUDGES: Mapping[str, Settings] = {
    "claims": {"kind": "sentences"},
    "support": {"kind": "overlap"},
    "relevance": {"kind": "overlap"},
    "correctness": {"kind": "overlap"},
}
_KEYS = (*JUDGING_KINDS, "conditions", "thresholds")
# The tasks of the judge under each key.
_TASKS = {
    "support": {"support"},
    "relevance": {"context_relevance", "answer_relevance"},
    "correctness": {"correctness"},
    "rubric": {"rubric"},
}


def judging_in(settings: Settings, variants: Sequence[Variant], answered: bool, faults: list[str]) -> Judging | None:
    """Return the judges of an experiment, those of the package where it names none, or add its faults and return None.

    None without answers, and for `judging: none`.
    """
    given: Any = settings.get("judging", {})
    if given in ("none", None):
        return None
    if not is_mapping(given):
        faults.append(f"judging is {given!r}, not a mapping; write for example judging: {{support: {{kind: overlap}}}}")
        return None
    if not answered:
        faults += ["judging judges answers, and nothing is answered; add answering"] if "judging" in settings else []
        return None
    before = len(faults)
    faults += [unknown("judging", key, _KEYS) for key in given if key not in _KEYS]
    parts = {key: _part(key, given, faults) for key in JUDGING_KINDS if key in given or key in USUAL_JUDGES}
    conditions, thresholds = _conditions(given, variants, faults), _thresholds(given, faults)
    if len(faults) > before:
        return None
    rubric = cast(Judge, parts["rubric"]) if "rubric" in parts else None
    support, relevance, correctness = (cast(Judge, parts[key]) for key in ("support", "relevance", "correctness"))
    return Judging(
        claims=cast(ClaimSplitter, parts["claims"]),
        support=support,
        relevance=relevance,
        correctness=correctness,
        rubric=rubric,
        conditions=conditions,
        thresholds=thresholds,
    )


def usual_answer_metrics(judging: Judging | None) -> list[str]:
    """Return the metrics of answers that an experiment with these judges computes if it names none."""
    verdicts = judging is not None and judging.support.gives_verdicts
    usual = [definition for definition in METRICS.builtin.values() if definition.usual]
    return [each.name for each in usual if not each.judged or (judging and (verdicts or VERDICTS not in each.requires))]


def unjudged(settings: Settings, metrics: Sequence[Metric], primary: Metric | None, judging: Judging | None) -> list[str]:
    """Return the faults of metrics that no judge of the run can give a value."""
    if judging is None:
        # A faulty judge is no missing one.
        off = settings.get("judging", {}) in ("none", None)
        return [f"metric {metric} is judged, and judging is none; remove judging: none" for metric in metrics if metric.judged and off]
    missing = [(metric, task) for metric in metrics for task in metric.definition.tasks if task not in judging.judges]
    faults = [f"metric {metric} needs a judge; add judging.{task}" for metric, task in missing]
    decides = primary or next(iter(metrics), None)
    if decides and {VERDICTS, CONTRADICTIONS} & set(decides.definition.requires) and not judging.support.gives_verdicts:
        what = f"the primary metric {decides} counts verdicts, and judging.support {judging.support.kind!r} is a score, not a judge"
        faults.append(f"{what}; use another judge, or support_overlap")
    return faults


def _part(key: str, given: Settings, faults: list[str]) -> BaseModel | None:
    """Return the component of a key. Settings without a kind change the usual one."""
    value: Any = given.get(key, USUAL_JUDGES.get(key))
    if is_mapping(value) and "kind" not in value and key in USUAL_JUDGES:
        value = USUAL_JUDGES[key] | value
    owner = f"judging.{key}"
    made = component(owner, value, JUDGING_KINDS[key], faults)
    if made is None or not usable(owner, made, faults):
        return None
    if isinstance(made, Judge) and (missing := _TASKS[key] - _able(made)):
        able = [kind for kind, each in JUDGES.items() if _TASKS[key] <= set(each.tasks)]
        faults.append(f"{owner} {made.kind!r} does not judge {', '.join(sorted(missing))}; use one of {', '.join(able)}")
    return made


def _able(judge: Judge) -> set[str]:
    """Return the tasks that a judge, and every judge in it, can do."""
    able: set[str] = set(judge.tasks)
    return able.intersection(*(_able(getattr(judge, name)) for name in judge.nested))


def _conditions(given: Settings, variants: Sequence[Variant], faults: list[str]) -> tuple[str, ...]:
    value: Any = given.get("conditions", [])
    run = tuple(dict.fromkeys(variant.condition for variant in variants))
    conditions = [value] if isinstance(value, str) else value
    if not isinstance(conditions, list) or not all(isinstance(condition, str) for condition in conditions):
        faults.append(f"judging.conditions is {value!r}, not a list of names; write for example conditions: [{run[0]}]")
        return ()
    faults += [
        f"judging.conditions has {condition!r}, which the run does not have{meant(condition, run)}; its conditions are {', '.join(run)}"
        for condition in conditions
        if condition not in run
    ]
    return tuple(dict.fromkeys(conditions))


def _thresholds(given: Settings, faults: list[str]) -> EndToEndThresholds:
    value: Any = given.get("thresholds", {})
    if not is_mapping(value):
        faults.append(f"judging.thresholds is {value!r}, not a mapping; write for example thresholds: {{faithfulness: 0.85}}")
        return EndToEndThresholds()
    try:
        return EndToEndThresholds.model_validate(value)
    except ValidationError as error:
        faults += [field_fault("judging.thresholds", dict(detail), EndToEndThresholds.model_fields) for detail in error.errors()]
        return EndToEndThresholds()
