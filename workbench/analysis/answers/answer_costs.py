"""The time, tokens and money of the answers of a configuration."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.analysis.answers.answered import answers_of
from workbench.analysis.frontier import timings_of
from workbench.results.run_tables import RETRIEVED, RunTables


@dataclass(frozen=True)
class AnswerCosts:
    """The costs of an answer in the condition `retrieved`, each NaN if unknown.

    `p50` and `p95` are milliseconds. `context` are mean tokens of the prompt as the budget counts them, `input` and `output` those of prompt
    and answer as the server does. `cost` is the mean price of an answer, `total` that of all answers of all conditions if each is paid once,
    and `answers` their number. `failed_tries` are those of answers and judgements, and `failed` the most that they can have cost. `model` is whether a language model gave any of them.
    """

    p50: float
    p95: float
    context: float
    input: float
    output: float
    cost: float
    total: float
    failed_tries: float
    failed: float
    answers: int
    model: bool


def answer_costs(run: RunTables, configuration: str) -> AnswerCosts:
    """Return the costs of a configuration's answers."""
    rows, timings = answers_of(run, configuration), timings_of(run, configuration)
    given = rows[(rows["reason"] == "") & (rows["error"] == "")]
    retrieved = given[given["condition"] == RETRIEVED]
    return AnswerCosts(
        p50=timings.get("latency_answer_p50", np.nan),
        p95=timings.get("latency_answer_p95", np.nan),
        context=_mean(retrieved["context_tokens"]),
        input=_mean(retrieved["input_tokens"]),
        output=_mean(retrieved["output_tokens"]),
        cost=_mean(retrieved["cost"]),
        total=float(given["cost"].sum()) if given["cost"].notna().any() else np.nan,
        failed_tries=timings.get("failed_tries", np.nan),
        failed=timings.get("failed_tries_cost", np.nan),
        answers=len(given),
        model=bool((given["model"] != "").any()),
    )


def _mean(values: "pd.Series[float]") -> float:
    known = values.dropna()
    return float(known.mean()) if len(known) else np.nan
