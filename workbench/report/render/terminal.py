"""What a person reads in the terminal after a sweep or a plan."""

from collections.abc import Sequence

from workbench.analysis.findings import Findings, findings
from workbench.analysis.standings import Standing
from workbench.core.formatting import count, interval, number
from workbench.execution.local import Outcome
from workbench.execution.plan import Plan
from workbench.report.text.screening import screened_sentence
from workbench.report.text.summary import answers


def summary_lines(outcome: Outcome) -> list[str]:
    """The configurations by the primary metric, those that cannot be told apart marked; then the verdict in plain lines."""
    found = findings(outcome)
    ranked, cut = found.standings.ranked, found.standings.windowed
    marks = {found.mark(one.name) for one in ranked}
    lines = []
    if ranked:
        heading = ("configuration", str(outcome.primary), "95 % interval", "n", "")
        lines += ["", *_columns([heading, *(_row(one, found) for one in ranked)])]
        lines += ["= cannot be told apart"] if "=" in marks else []
    if cut:
        lines += [
            "",
            "window, not chunking: their chunks are longer than what the embedder reads",
            *_columns([_row(one, found) for one in cut]),
        ]
    lines += [f"{configuration}: FAILED, {error}" for configuration, error in outcome.failures.items()]
    said = answers(found)
    tested = [said.certainty.sentence, said.more.sentence] if found.margin else []
    aside = [screened_sentence(found.screening)] if found.screening else []
    return [*lines, "", *aside, said.won.sentence, *([said.margin.sentence] if found.first else []), *tested]


def _row(one: Standing, found: Findings) -> tuple[str, ...]:
    mean = one.means[str(found.primary)]
    return one.name, number(mean.value), interval(mean.low, mean.high), count(mean.n), found.mark(one.name)


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
