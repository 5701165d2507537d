"""What a person reads in the terminal after a sweep or a plan."""

from collections.abc import Sequence

import pandas as pd

from workbench.experiment.plan import Plan
from workbench.experiment.run import Outcome, Result
from workbench.experiment.tables import metrics_table


def summary_lines(outcome: Outcome) -> list[str]:
    """The configurations by the primary metric; truncated ones apart, since their window is measured and not their chunking."""
    name = str(outcome.primary)
    metrics = metrics_table(outcome)
    wanted = metrics[(metrics["metric"] == name) & (metrics["slice"] == "all")].set_index("configuration")
    values = dict(zip(wanted.index, wanted["value"].to_numpy(), strict=True))
    sign = -1 if outcome.primary.higher_is_better else 1
    ranked = sorted(outcome.results, key=lambda result: sign * values[result.configuration.name])
    whole = [result for result in ranked if not result.truncated.any()]
    cut = [result for result in ranked if result.truncated.any()]
    lines = ["", *_columns([("configuration", name, "95 % interval", "n"), *(_row(result, wanted) for result in whole)])]
    if cut:
        lines += [
            "",
            "window, not chunking: their chunks are longer than what the embedder reads",
            *_columns([_row(result, wanted) for result in cut]),
        ]
    lines += [f"{configuration}: FAILED, {error}" for configuration, error in outcome.failures.items()]
    return [*lines, "", "Intervals are of each mean by itself; no test between configurations was run, so no winner is named."]


def _row(result: Result, metrics: pd.DataFrame) -> tuple[str, str, str, str]:
    row = metrics.loc[result.configuration.name]
    return result.configuration.name, f"{row['value']:.3f}", f"[{row['low']:.3f}, {row['high']:.3f}]", f"{row['n']:.0f}"


def plan_lines(plan: Plan) -> list[str]:
    """A line for each configuration, then the sum."""
    rows = [("configuration", "compute", "reuse", "chunks", "tokens to embed")]
    for one in plan.configurations:
        compute = [stage for stage, there in one.reused.items() if not there]
        reuse = [stage for stage, there in one.reused.items() if there]
        rows.append((one.name, " ".join(compute) or "-", " ".join(reuse) or "-", f"{one.chunks:,}", f"{one.tokens:,}"))
    total = sum(one.tokens for one in plan.configurations)
    how = "measured here" if plan.measured else "assumed, nothing was measured here yet"
    cut = [one.name for one in plan.configurations if one.truncated]
    warned = [f"chunks beyond the embedder's window, which will not be ranked: {', '.join(cut)}"] if cut else []
    return [
        *_columns(rows),
        "",
        f"{total:,} tokens to embed at {plan.tokens_a_second:,.0f} tokens/s ({how}): about {plan.minutes:.1f} minutes",
        *warned,
    ]


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as aligned columns: text to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if _number(rows[-1][column]) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").isdigit()
