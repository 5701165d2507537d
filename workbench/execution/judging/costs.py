"""What judging cost: the calls of models, their tokens and their cost, as timings of a configuration."""

import numpy as np

from workbench.execution.result import Result

_SPENT = {"tokens_judge_input": "input_tokens", "tokens_judge_output": "output_tokens", "cost_judges": "cost"}
_STAGES = ("claims", "verdicts", "judgements")


def judging_timings(result: Result) -> dict[str, float]:
    """Return the judgements that models made in this run, with their tokens and cost if all are known. Empty if no judge calls a model."""
    made_now, spent = 0, dict.fromkeys(_SPENT, 0.0)
    judged = [entry for stage in _STAGES for entry in result.entries.get(stage, {}).values()]
    made = [entry.values("calls") for entry in judged]
    if not any(recorded["seconds"] for recorded in made):
        return {}
    for entry, recorded in zip(judged, made, strict=True):
        new = [place for place, seconds in enumerate(recorded["seconds"]) if entry.computed and seconds and not recorded["cached"][place]]
        made_now += len(new)
        # A sum with an unknown part is unknown: servers may count no tokens, and models have no prices.
        for name, column in _SPENT.items():
            spent[name] += float(sum(np.nan if recorded[column][place] is None else recorded[column][place] for place in new))
    return {"judgements_made": float(made_now)} | {name: value for name, value in spent.items() if not np.isnan(value)}
