"""The time, tokens and money of answers, and how much repeats of a question differ."""

import math
from collections.abc import Sequence

from workbench.components.context.conditions import RETRIEVED
from workbench.core.text.formatting import count, listed, number, plural, spread
from workbench.measures.statistics.summary import RepeatVariance, repeat_variance
from workbench.report.analysis.answer_values import answer_score, answering, answers_of, repeated_values
from workbench.report.analysis.decision import shown_first
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import timings_of
from workbench.report.cells import count_cell, opened, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

_MEANS = "Means over the answers to retrieved contexts. Values that no configuration has are left out."
_TIMED = " Times are those of the calls when they were made, so answers from the cache have the time of their first call."
_PRICED = " Money is in the currency of the prices in the experiment; the price of all answers is over all conditions."
_FAILED = (
    " Failed tries of calls, for answers and judgements, were sent and have no usable reply, such as after a timeout. The provider may bill them, "
    "beyond the price of the answers."
)
_UNPRICED = " Without prices in the experiment no money is stated."
# The title and the note of each cost, and the digits of prices.
_COLUMNS = {
    "p50": ("ms", "median"),
    "p95": ("ms", "p95"),
    "context": ("context", "tokens"),
    "input": ("prompt", "tokens"),
    "output": ("answer", "tokens"),
    "cost": ("price", "per answer"),
    "total": ("price", "all answers"),
    "failed_tries": ("failed tries", "of calls"),
    "failed": ("price", "failed tries, at most"),
}
_TIMES, _PRICES = ("p50", "p95"), {"cost": 6, "total": 4, "failed": 4}
_REPEATS = (
    "Every question was answered {repeats}. The deviation between repeats is that of one answer around its question's mean, the deviation between "
    "questions that of the questions' means. If the first is not small beside the second, a single answer says little about its question."
)


def answer_costs(run: RunTables, configuration: str) -> dict[str, float]:
    """Return the costs of an answer of a configuration to a retrieved context by the names of `_COLUMNS`, each NaN if unknown.

    `context` are mean tokens of the prompt as the budget counts them, `input` and `output` those of prompt and answer as the server does. `cost`
    is the mean price of an answer, `total` that of all answers of all conditions if each is paid once, and `answers` their number. `failed_tries`
    are those of answers and judgements, and `failed` the most that they can have cost. `models` counts the answers of language models.
    """
    rows, timings = answers_of(run, configuration), timings_of(run, configuration)
    given = rows[(rows["reason"] == "") & (rows["error"] == "")]
    retrieved = given[given["condition"] == RETRIEVED]
    tokens = {"context": "context_tokens", "input": "input_tokens", "output": "output_tokens", "cost": "cost"}
    timed = {"p50": "latency_answer_p50", "p95": "latency_answer_p95", "failed_tries": "failed_tries", "failed": "failed_tries_cost"}
    return {
        **{name: timings.get(column, math.nan) for name, column in timed.items()},
        **{name: float(retrieved[column].astype("float64").mean()) for name, column in tokens.items()},
        "total": float(given["cost"].sum()) if given["cost"].notna().any() else math.nan,
        "answers": len(given),
        "models": int((given["model"] != "").sum()),
    }


def repeats_of(run: RunTables, configuration: str, metric: str) -> RepeatVariance | None:
    """Return the components of variance of a metric of answers to retrieved contexts, None if no two questions have repeated values."""
    return repeat_variance(repeated_values(run, configuration, metric, RETRIEVED))


def compute(findings: Findings) -> tuple[RunTables, dict[str, dict[str, float]]] | None:
    """Return the costs of the answers of each configuration. None for a run without answers."""
    costs = {name: answer_costs(findings, name) for name in shown_first(findings, answering(findings))}
    return (findings, costs) if costs else None


def render(values: tuple[RunTables, dict[str, dict[str, float]]]) -> list[Block]:
    """Tabulate costs, and the variance between repeats if there are several."""
    run, costs = values
    sentence = cost_sentence(run, next(iter(costs)))
    # Answers without calls of a language model differ in their contexts only.
    table = opened(_table(costs)) if any(each["models"] for each in costs.values()) else []
    return [*([Prose(sentence)] if sentence else []), *table, *_repeats(run, list(costs))]


def _table(costs: dict[str, dict[str, float]]) -> Table:
    known = [column for column in _COLUMNS if any(not math.isnan(each[column]) for each in costs.values())]
    rows = [
        Row([Cell(name), *(_cell(column, each[column]) for column in known), count_cell(each["answers"])]) for name, each in costs.items()
    ]
    columns = [
        words("configuration"),
        *(Column(_COLUMNS[column][0], note=_COLUMNS[column][1]) for column in known),
        Column("answers", note="all conditions"),
    ]
    priced = _PRICED if "cost" in known else _UNPRICED if any(each["models"] for each in costs.values()) else ""
    failed = _FAILED if "failed_tries" in known else ""
    return Table("Costs of an answer", columns, rows, f"{_MEANS}{_TIMED if 'p50' in known else ''}{priced}{failed}")


def _cell(column: str, value: float) -> Cell:
    if column in _TIMES:
        return Cell(spread(value, value) if not math.isnan(value) else "–", sort=value)
    return value_cell(value, _PRICES[column]) if column in _PRICES else count_cell(value)


def _repeats(run: RunTables, names: Sequence[str]) -> list[Block]:
    measure, times = answer_score(run), int(run.manifest.get("repeats", 1))
    variances = {name: variance for name in names if measure and times > 1 and (variance := repeats_of(run, name, str(measure)))}
    if not variances:
        return []
    columns = [
        words("configuration"),
        Column("between repeats", note="standard deviation"),
        Column("between questions", note="standard deviation"),
    ]
    columns += [Column("reliability", note="of one answer"), Column("changed", note="questions"), Column("questions")]
    rows = []
    for name, variance in variances.items():
        deviations = [math.sqrt(variance.between_repeats), math.sqrt(variance.between_questions)]
        rows.append(
            Row([Cell(name), *map(value_cell, (*deviations, variance.reliability)), count_cell(variance.changed), count_cell(variance.n)])
        )
    caption = f"{measure} of {plural(times, 'repeat')} with retrieved contexts"
    return [Collapsible("How much do repeats differ?", [Table(caption, columns, rows, _REPEATS.format(repeats=plural(times, "time")))])]


def cost_sentence(run: RunTables, configuration: str) -> str:
    """State the time, the tokens and the price of an answer to a retrieved context. Empty without answers or if none is known."""
    costs = answer_costs(run, configuration)
    answers = plural(int(costs["answers"]), "answer")
    known = {name: value for name, value in costs.items() if not math.isnan(value)}
    if costs["answers"] and not costs["models"]:
        context = f"; what it retrieves fills {count(known['context'])} tokens of context" if "context" in known else ""
        of_target = configuration in set(run.targets["configuration"])
        cost = "are those of a target, whose own costs are not known" if of_target else "cost no calls of a language model"
        return f"The {answers} of {configuration} {cost}{context}."
    parts = [f"{spread(known['p50'], known['p50'])} ms in the median"] if "p50" in known else []
    parts += [f"{count(known[name])} {what} tokens" for name, what in (("input", "prompt"), ("output", "answer")) if name in known]
    parts += [f"a price of {number(known['cost'], 6)}"] if "cost" in known else []
    total = f"; the price of all {answers} is {number(known['total'], 4)}" if "total" in known else ""
    failed = f"; failed tries may have cost up to {number(costs['failed'], 4)} more" if costs["failed"] > 0 else ""
    return f"An answer of {configuration} from what it retrieves costs {listed(parts)}{total}{failed}." if parts else ""


answer_costs_section = Topic(
    "costs",
    "Cost of the answers",
    "Answer costs",
    compute,
    render,
    anchor="answer-costs",
    chapter="costs",
    views=("page", "answers"),
    missing="The run has no answers.",
)
