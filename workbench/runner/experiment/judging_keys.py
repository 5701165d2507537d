"""Read the key `judging` of an experiment: the judges of the run, which conditions they judge, and the thresholds of the end-to-end test."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from workbench.components.judging.base import Judge
from workbench.components.judging.settings import EndToEndThresholds, Judging
from workbench.components.registry import JUDGES, SPLITTERS
from workbench.core.component import is_mapping, read_keys
from workbench.core.environment import missing_package
from workbench.core.records import Variant
from workbench.core.text.formatting import meant
from workbench.measures.metrics.definition import CONTRADICTIONS, VERDICTS
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS
from workbench.runner.experiment.components import component, unknown, usable
from workbench.runner.experiment.yaml_file import Settings

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


def judging_in(given: Any, variants: Sequence[Variant], faults: list[str]) -> Judging | None:
    """Read the key `judging` of an experiment with answers, or add its faults. Judges that it does not name are those of the package."""
    if given in ("none", None) or (not given and unjudged_by_default()):
        return None
    if not is_mapping(given):
        faults.append(f"judging is {given!r}, not a mapping; write for example judging: {{support: {{kind: overlap}}}}")
        return None
    before = len(faults)
    faults += [unknown("judging", key, _KEYS) for key in given if key not in _KEYS]
    parts = {key: _part(key, given, faults) for key in JUDGING_KINDS if key in given or key in USUAL_JUDGES}
    conditions = _conditions(given.get("conditions", []), variants, faults)
    example = "thresholds: {faithfulness: 0.85}"
    thresholds = read_keys(EndToEndThresholds, "judging.thresholds", given.get("thresholds", {}), example, faults)
    return Judging(**parts, conditions=conditions, thresholds=thresholds) if len(faults) == before and thresholds else None


def unjudged_by_default() -> tuple[str, str] | None:
    """Return the package that the usual judge and `answer_similarity` need and that is not installed, and the command that installs it. None if all are."""
    return missing_package("torch", "sentence_transformers", "bm25s", "Stemmer")


def usual_answer_metrics(judging: Judging | None) -> list[str]:
    """Return the metrics of answers that an experiment with these judges computes if it names none."""
    verdicts = judging is not None and judging.support.gives_verdicts
    absent = unjudged_by_default()
    usual = [each for each in METRICS.builtin.values() if each.usual and not (absent and each.compares == "meaning")]
    return [each.name for each in usual if not each.judged or (judging and (verdicts or VERDICTS not in each.requires))]


def unjudged(given: Any, metrics: Sequence[Metric], primary: Metric | None, judging: Judging | None) -> list[str]:
    """Return the faults of metrics that no judge of the run can give a value. `given` is the key `judging`."""
    if judging is None:
        # A faulty judge is no missing one.
        off = given in ("none", None)
        return [f"metric {metric} is judged, and judging is none; remove judging: none" for metric in metrics if metric.judged and off]
    missing = [(metric, task) for metric in metrics for task in metric.definition.tasks if task not in judging.judges]
    faults = [f"metric {metric} needs a judge; add judging.{task}" for metric, task in missing]
    decides = primary or next(iter(metrics), None)
    if decides and {VERDICTS, CONTRADICTIONS} & set(decides.definition.requires) and not judging.support.gives_verdicts:
        what = f"the primary metric {decides} counts verdicts, and judging.support {judging.support.kind!r} is a score, not a judge"
        faults.append(f"{what}; use another judge, or support_overlap")
    return faults


def _part(key: str, given: Settings, faults: list[str]) -> Any:
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


def _conditions(value: Any, variants: Sequence[Variant], faults: list[str]) -> tuple[str, ...]:
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
