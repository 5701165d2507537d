"""The effect of each part of a configuration over matched pairs of configurations.

"Worth it" and "harmful" are claims about the primary metric. Without a claim the table gives the effect that the questions could show.
"""

import math
from collections.abc import Sequence

from workbench.core.text.formatting import listed, p_value, plural, signed, two_digits
from workbench.measures.statistics.effects import EffectReading
from workbench.measures.statistics.intervals import ALPHA, THIS_CORPUS
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.parts import NONE, Contrasted, PartEffect, alternatives, contrasts_of, parts
from workbench.report.analysis.setting_names import setting_columns
from workbench.report.analysis.standings import CostRange
from workbench.report.cells import Scale, gap_cell, p_cell, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Lines, Prose, Row, Table
from workbench.report.topics.topic import COMPARED, Topic

_NOTE = (
    "An effect is the difference between two alternatives of a part on the same questions, averaged over all pairs of ranked configurations that are equal in "
    "everything else; intervals and p are corrected for all effects. No difference shown does not mean no difference: shown is the effect that these questions "
    "show with 80 % power. Milliseconds are those added per question at the median."
)
# Of alternatives that cannot be compared.
_MOST_NAMED = 3


def compute(findings: Findings) -> Findings | None:
    """Return the findings. None if the run varies a single part that replaces another."""
    return findings if shows_parts(findings) and (parts(findings) or unmatched(findings)) else None


def render(findings: Findings) -> list[Block]:
    """State the effects that are claimed, and show those of all parts."""
    effects, missing = parts(findings), unmatched(findings)
    blocks: list[Block] = []
    if effects:
        differ = [differing_sentence(findings, part) for part in effects if _differs(part)]
        blocks += [Prose(finding(findings, effects)), *([Lines(differ)] if differ else []), _table(findings, effects)]
    blocks += [Prose(missing_sentence(missing))] if missing else []
    return blocks + ([Collapsible("Every pair of configurations, and other metrics", _details(findings, effects))] if effects else [])


def finding(findings: Findings, effects: Sequence[PartEffect]) -> str:
    """State the effects that are claimed, and how many are not."""
    claimed = [part for part in effects if _claimed(part)]
    if not claimed:
        return f"No effect on {findings.primary} is claimed{'' if len(effects) == 1 else f' of the {len(effects)} alternatives'}."
    texts = [
        f"{effect_subject(findings, part)} is {part.verdict}, {signed(gap.value)} {gap.bounds()}"
        for part in claimed
        if (gap := part.effect.comparison.simultaneous)
    ]
    rest = len(effects) - len(claimed)
    others = (
        f" Of the other {plural(rest, 'alternative')} no effect is claimed."
        if rest > 1
        else " No effect of the other alternative is claimed."
        if rest
        else ""
    )
    return f"By {findings.primary}, {listed(texts)}.{others}"


def _claimed(part: PartEffect) -> bool:
    return part.effect.reading in (EffectReading.GAIN, EffectReading.LOSS)


def _table(findings: Findings, effects: Sequence[PartEffect]) -> Table:
    scale = Scale.around((part.effect.comparison.simultaneous for part in effects), zero=True)
    columns = [
        words("alternative"),
        Column("effect", note="interval, corrected"),
        scale.column(),
        Column("p", note="corrected"),
        words("reading"),
    ]
    columns += [Column("shown", note="80 % power"), Column("pairs", note="lowest to highest"), Column("ms", note="added")]
    rows = [_row(findings, part, scale) for part in effects]
    limited = any(part.effect.comparison.difference.conditional for part in effects)
    several = sum(len(part.pairs) > 1 for part in effects)
    # An effect of a single pair is the comparison of two configurations.
    alone = "; of a single pair, as in the ranking" if several < len(effects) else ""
    corrected = f"corrected for {plural(several, 'effect')}{alone}" if several else "corrected as in the ranking"
    caption = f"Effects on {findings.primary}, {corrected}"
    return Table(caption, columns, rows, f"{_NOTE}{f' {THIS_CORPUS}' if limited else ''}")


def _row(findings: Findings, part: PartEffect, scale: Scale) -> Row:
    effect, row, added = part.effect, part.effect.comparison, part.latency.get("p50")
    ends = [pair.difference.value for pair in (part.lowest, part.highest)]
    of = "" if len(part.pairs) == part.possible else f"{len(part.pairs)} of {part.possible}"
    cells = [Cell(effect_subject(findings, part), note=part.stage), gap_cell(row.simultaneous), scale.cell(row.simultaneous, zero=True)]
    cells += [p_cell(row.p_adjusted), Cell(part.verdict), value_cell(effect.detectable)]
    cells.append(Cell(" to ".join(dict.fromkeys(map(signed, ends))), sort=ends[0], note=of))
    return Row([*cells, Cell(added_text(added.span, added.value), sort=added.value) if added else value_cell(math.nan)])


def _details(findings: Findings, effects: Sequence[PartEffect]) -> list[Block]:
    """Tabulate the pairs of configurations behind each effect, and the effects on other metrics."""
    columns = [words("configuration"), words("minus"), Column(str(findings.primary), note="interval, corrected")]
    pairs = [Row([Cell(pair.configuration), Cell(pair.reference), gap_cell(pair.difference)]) for part in effects for pair in part.pairs]
    caption = "The pairs behind each effect, with the intervals that their comparisons have everywhere"
    blocks: list[Block] = [Table(caption, columns, pairs)]
    if metrics := list(effects[0].others):
        rows = [Row([Cell(effect_subject(findings, part)), *(gap_cell(part.others[metric]) for metric in metrics)]) for part in effects]
        columns = [words("alternative"), *(Column(metric, note="95 % interval") for metric in metrics)]
        blocks.append(Table("Exploratory: effects on other metrics, each by itself, nothing is tested or corrected", columns, rows))
    return blocks


def unmatched(findings: Findings) -> list[Contrasted]:
    """The alternatives of which no two ranked configurations differ only in them."""
    return [each for each in contrasts_of(findings) if not each.pairs]


def shows_parts(findings: Findings) -> bool:
    """Check that the run varies several stages, or adds a part. The effects of a single stage are the differences of its configurations."""
    return len(alternatives(findings)) > 1 or any(each.added for each in contrasts_of(findings))


def missing_sentence(contrasts: Sequence[Contrasted]) -> str:
    """Name the alternatives that cannot be compared."""
    named = listed([f"{each.alternative.label} and {each.reference.label}" for each in contrasts], _MOST_NAMED)
    return f"Nothing can be said about {named}: no two ranked configurations differ only in this."


def _differs(part: PartEffect) -> bool:
    """Check for an average that hides different effects."""
    return part.effect.p_differs <= ALPHA


def differing_sentence(findings: Findings, part: PartEffect) -> str:
    """State the range of an effect that is not the same in all pairs."""
    low, high = (f"{signed(pair.difference.value)} ({pair.configuration})" for pair in (part.lowest, part.highest))
    return f"The effect of {effect_subject(findings, part)} is not the same in all pairs ({p_value(part.effect.p_differs)}): from {low} to {high}."


def added_text(milliseconds: CostRange, value: float) -> str:
    """The range of the milliseconds that an alternative adds, or the value if they were measured once."""
    ends = (milliseconds.low, milliseconds.high) if milliseconds.repeated else (value,)
    return " to ".join(dict.fromkeys(signed(two_digits(end), 0 if abs(end) >= 10 else 1) for end in ends))


def effect_subject(findings: Findings, part: PartEffect) -> str:
    """Name the alternative by its setting, and what it replaces."""
    pair = part.pairs[0]
    texts = [(column.texts.get(pair.configuration), column.texts.get(pair.reference)) for column in setting_columns(findings)]
    differ = [(one, other) for one, other in texts if one and other and one != other]
    # A setting that two stages share has no single column.
    alternative, reference = differ[0] if len(differ) == 1 else (part.alternative, part.reference)
    return str(alternative) if part.reference == NONE else f"{alternative} over {reference}"


parts_section = Topic(
    "parts",
    "What each part adds",
    "Parts",
    compute,
    render,
    views=COMPARED,
    missing="The run varies only one part, whose effects are the differences in the ranking.",
)
