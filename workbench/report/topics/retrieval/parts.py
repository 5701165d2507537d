"""The effect of each part of a configuration over matched pairs of configurations.

"Worth it" and "harmful" are claims about the primary metric. Without a claim the sentence gives the effect that the questions could show.
"""

import math
from collections.abc import Sequence

import numpy as np

from workbench.core.text.formatting import listed, number, p_value, plural, shortened, signed, two_digits
from workbench.measures.statistics.effects import EffectReading
from workbench.measures.statistics.intervals import ALPHA, THIS_CORPUS
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.parts import LATENCIES, NEIGHBOURS, NONE, Contrasted, PartEffect, alternatives, contrasts_of, parts
from workbench.report.analysis.standings import CostRange
from workbench.report.canvas import NAME_LENGTH, IntervalRow, differences_drawing
from workbench.report.cells import count_cell, described, difference_cells, digits_for, gap_cell, key_of, p_cell, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Lines, Prose, Row, SummaryItem, Table
from workbench.report.sentences import less_than_matters, too_few
from workbench.report.topics.retrieval.verdict import CONDITION, undone
from workbench.report.topics.topic import COMPARED, HeadQuestion, Topic

_INTRODUCTION = (
    "An effect is the difference between two alternatives of a part, on the same questions, averaged over all pairs of configurations that are "
    "equal in everything else. Worth it, better, harmful and worse are claims about the primary metric after correction for all effects, a "
    "family of its own beside the comparisons of configurations; whether a gain is worth its time is for you to decide. A part "
    "that loses all questions about a few documents can look like a gain if the sample has none of them. Where documents that were not seen could undo an "
    "effect, it is a gain or a loss on these documents, and no claim about others. No benefit shown does not mean no benefit: the column shown gives the effect "
    "that these questions show with 80 % power."
)
# Questions about the stages that a configuration can leave out.
_QUESTIONS = {
    "rerank": "Is the reranker worth it?",
    "rewrite": "Is query rewriting worth it?",
    NEIGHBOURS: "Are neighbouring chunks worth it?",
}
# Of a question. The section has all others.
_MOST_SENTENCES = 3
_FEWEST_FOR_P95 = 20
_PERCENTILES = {"p50": "(median)", "p95": "(95th percentile)"}
_HERE = (EffectReading.GAIN_HERE, EffectReading.LOSS_HERE)
_ORDER = (EffectReading.GAIN, EffectReading.LOSS, *_HERE, EffectReading.UNDECIDED, EffectReading.TOO_FEW)


def compute(findings: Findings) -> Findings | None:
    """Return the findings. None if the run varies a single part that replaces another."""
    return findings if shows_parts(findings) and (parts(findings) or unmatched(findings)) else None


def render(findings: Findings) -> list[Block]:
    """Show the effects of all parts."""
    effects, missing = parts(findings), unmatched(findings)
    blocks: list[Block] = [Prose(_INTRODUCTION)] if effects else []
    if effects:
        beside = _beside(effects)
        blocks += [_figure(findings, effects), *([beside] if beside else [])]
        differ = [differing_sentence(part) for part in effects if part.effect.p_differs <= ALPHA]
        blocks += [Lines(differ)] if differ else []
    blocks += [Prose(missing_sentence(missing))] if missing else []
    return blocks + ([Collapsible("Every pair of configurations", [_pairs(findings, effects)])] if effects else [])


def _names(effects: Sequence[PartEffect]) -> list[str]:
    return [f"{part.alternative} over {part.reference}" for part in effects]


def _labels(effects: Sequence[PartEffect]) -> dict[str, str]:
    """The short names of effects in a figure: their alternatives, if that tells them apart, since a cut would leave out what differs."""
    names, alternatives = _names(effects), [part.alternative for part in effects]
    distinct = len(set(alternatives)) == len(alternatives)
    short = shortened(alternatives if distinct else names, NAME_LENGTH)
    return dict(zip(names, [short[name] for name in (alternatives if distinct else names)], strict=True))


def _figure(findings: Findings, effects: Sequence[PartEffect]) -> Figure:
    names, short = _names(effects), _labels(effects)
    rows = [
        IntervalRow(short[name], part.effect.comparison.simultaneous, _claimed(part)) for name, part in zip(names, effects, strict=True)
    ]
    ends = [(row.estimate.value, row.estimate.low, row.estimate.high) for row in rows]
    data = _table(findings, effects)
    caption = (
        f"Solid points, {sum(row.solid for row in rows)} of {len(rows)}, are effects after correction for all of them; rings may be chance."
    )
    if any(np.isfinite(row.estimate.low) for row in rows):
        caption += " The intervals hold for all effects at once with 95 % confidence."
    drawing = differences_drawing(rows, f"effect on {findings.primary}", digits_for(end for row in ends for end in row))
    return Figure("parts", described(data), caption, drawing, data, key_of(short))


def _claimed(part: PartEffect) -> bool:
    return part.effect.reading in (EffectReading.GAIN, EffectReading.LOSS)


def _table(findings: Findings, effects: Sequence[PartEffect]) -> Table:
    columns = [words("part"), Column("effect"), Column("interval, corrected", sorts=False), Column("p", note="corrected")]
    columns += [Column("shown", note="80 % power"), Column("questions"), Column("pairs", note="of possible")]
    columns += [Column("in the pairs", note="lowest to highest"), Column("p", note="that it differs")]
    columns += [Column(f"ms {name}", note="added") for name in LATENCIES]
    rows = [_row(name, part) for name, part in zip(_names(effects), effects, strict=True)]
    limited = any(part.effect.comparison.difference.conditional for part in effects)
    note = (
        "Only pairs of ranked configurations count. Milliseconds per question are added at the median and the 95th percentile, as the range of the "
        f"pairs whose times vary least.{f' {THIS_CORPUS}' if limited else ''}"
    )
    caption = f"Effects on {findings.primary}, corrected for {plural(len(effects), 'effect')}"
    return Table(caption, [*columns, words("reading")], rows, note)


def _row(name: str, part: PartEffect) -> Row:
    effect, row = part.effect, part.effect.comparison
    ends = [pair.difference.value for pair in (part.lowest, part.highest)]
    spread = Cell(" to ".join(dict.fromkeys(map(signed, ends))), sort=ends[0])
    added = [part.latency.get(name) for name in LATENCIES]
    times = [Cell(added_text(time.span, time.value), sort=time.value) if time else value_cell(math.nan) for time in added]
    counted = [count_cell(row.difference.n), Cell(f"{len(part.pairs)} of {part.possible}", sort=float(len(part.pairs)))]
    cells = [
        Cell(name, note=part.stage),
        *difference_cells(row.simultaneous),
        p_cell(row.p_adjusted),
        value_cell(effect.detectable),
        *counted,
    ]
    return Row([*cells, spread, p_cell(effect.p_differs), *times, Cell(part.verdict)])


def _beside(effects: Sequence[PartEffect]) -> Table | None:
    """Tabulate the effects on other metrics. Returns None if the run has none of them."""
    metrics = list(effects[0].others)
    if not metrics:
        return None
    rows = [
        Row([Cell(name), *(gap_cell(part.others[metric]) for metric in metrics)])
        for name, part in zip(_names(effects), effects, strict=True)
    ]
    caption = "Exploratory: effects on other metrics; intervals are of each effect by itself, nothing is tested or corrected"
    return Table(caption, [words("part"), *(Column(metric, note="95 % interval") for metric in metrics)], rows)


def _pairs(findings: Findings, effects: Sequence[PartEffect]) -> Table:
    columns = [words("part"), words("configuration"), words("minus"), Column(str(findings.primary)), Column("95 % interval", sorts=False)]
    rows = [
        Row([Cell(name), Cell(pair.configuration), Cell(pair.reference), *difference_cells(pair.difference), count_cell(pair.difference.n)])
        for name, part in zip(_names(effects), effects, strict=True)
        for pair in part.pairs
    ]
    caption = "The pairs behind each effect; intervals are of each pair by itself, nothing is tested or corrected"
    return Table(caption, [*columns, Column("questions")], rows)


def part_answers(findings: Findings) -> list[SummaryItem]:
    """Answer for each added part that varies whether it is worth it."""

    def question(stage: str, alternative: str, reference: str) -> str:
        if reference == NONE:
            return _QUESTIONS.get(stage, f"Is {stage} worth it?")
        return f"Is {alternative.partition(',')[0]} worth it?"

    added: dict[str, list[PartEffect]] = {}
    for part in parts(findings):
        if part.added:
            added.setdefault(question(part.stage, part.alternative, part.reference), []).append(part)
    missing: dict[str, list[Contrasted]] = {}
    for each in unmatched(findings):
        if each.added:
            missing.setdefault(question(each.alternative.stage, each.alternative.label, each.reference.label), []).append(each)
    return [_answer(findings, text, added.get(text, ()), missing.get(text, ())) for text in {**added, **missing}]


def unmatched(findings: Findings) -> list[Contrasted]:
    """The alternatives of which no two ranked configurations differ only in them."""
    return [each for each in contrasts_of(findings) if not each.pairs]


def shows_parts(findings: Findings) -> bool:
    """Check that the run varies several stages, or adds a part. The effects of a single stage are the differences of its configurations."""
    return len(alternatives(findings)) > 1 or any(each.added for each in contrasts_of(findings))


def missing_sentence(contrasts: Sequence[Contrasted]) -> str:
    """Name the alternatives that cannot be compared."""
    named = listed([f"{each.alternative.label} and {each.reference.label}" for each in contrasts], _MOST_SENTENCES)
    return f"Nothing can be said about {named}: no two ranked configurations differ only in this."


def effect_sentence(findings: Findings, part: PartEffect) -> str:
    """State the verdict on an alternative, its effect with the interval, and the time that it adds."""
    row, metric, reading, pairs = part.effect.comparison, str(findings.primary), part.effect.reading, len(part.pairs)
    of = f"{pairs} of {plural(part.possible, 'pair')}" if pairs < part.possible else plural(pairs, "pair")
    over = (
        "between two configurations that differ only in this"
        if pairs == 1
        else f"on average over {of} of configurations that differ only in this"
    )
    lower = "" if findings.primary.higher_is_better else ", where lower is better"
    size = f"{signed(row.difference.value)} {row.simultaneous.bounds()} in {metric} {over}{lower}"
    tests = len(parts(findings))
    corrected = p_value(row.p_adjusted) + (f" after correction for {plural(tests, 'effect')}" if tests > 1 else "")
    corrected += ", because losses that were not seen could undo it" if undone(row) else ""
    match reading:
        case EffectReading.GAIN | EffectReading.LOSS:
            text = f"{_subject(part)} is {part.verdict}: {size}, {corrected}"
        case EffectReading.GAIN_HERE | EffectReading.LOSS_HERE:
            few = f"{plural(row.difference.clusters, 'document')} are too few to claim it for others, of which a few could undo it"
            text = f"{_subject(part)} has {part.verdict}: {size}, {corrected}; {few}"
        case EffectReading.TOO_FEW:
            text = f"{too_few(findings, row.difference, _subject(part))}: {size}"
        case EffectReading.UNDECIDED if row.identical:
            text = f"{_subject(part)} changes {metric} on none of {plural(row.difference.n, 'question')}"
        case EffectReading.UNDECIDED:
            shown, least = "benefit" if part.added else "difference", part.effect.detectable
            able = (
                ""
                if math.isnan(least)
                else f"; these questions show an effect of {number(least)} with 80 % power and may miss a smaller one"
            )
            text = f"No {shown} of {_subject(part)} is shown: {size}, {corrected}{able}"
    claimed = reading not in (EffectReading.UNDECIDED, EffectReading.TOO_FEW)
    small = less_than_matters(findings, row.difference.value) if claimed else ""
    # The 95th percentile of a few questions is little more than the slowest of them.
    times = {name: time for name, time in part.latency.items() if name == "p50" or part.timed >= _FEWEST_FOR_P95}
    texts = [f"{added_text(time.span, time.value)} ms {_PERCENTILES[name]}" for name, time in times.items()]
    timed = f", timed on {plural(part.timed, 'question')}" if part.timed else ""
    price = f"; it changes the time per question by {listed(texts)}{timed}" if texts else ""
    differs = f" {differing_sentence(part)}" if _differs(part) else ""
    return f"{text}{f'; that is {small}' if small else ''}{price}.{differs}"


def _differs(part: PartEffect) -> bool:
    """Check for an average that hides different effects."""
    return part.effect.p_differs <= ALPHA


def differing_sentence(part: PartEffect) -> str:
    """State the range of the effect over the matched pairs. Empty for a single pair."""
    if len(part.pairs) < 2:
        return ""
    low, high = (f"{signed(pair.difference.value)} ({pair.configuration})" for pair in (part.lowest, part.highest))
    if _differs(part):
        return f"The effect of {_subject(part)} is not the same in all pairs ({p_value(part.effect.p_differs)}): from {low} to {high}."
    if low.partition(" ")[0] == high.partition(" ")[0]:
        return ""
    tested = "" if math.isnan(part.effect.p_differs) else "; that it differs between them is not shown"
    return f"The effect of {_subject(part)} is from {low} to {high} in the pairs{tested}."


def added_text(milliseconds: CostRange, value: float) -> str:
    """The range of the milliseconds that an alternative adds, or the value if they were measured once."""
    ends = (milliseconds.low, milliseconds.high) if milliseconds.repeated else (value,)
    return " to ".join(dict.fromkeys(signed(two_digits(end), 0 if abs(end) >= 10 else 1) for end in ends))


def _answer(findings: Findings, question: str, added: Sequence[PartEffect], missing: Sequence[Contrasted]) -> SummaryItem:
    # What is fused must be better than the best of its members, so the least gain comes first.
    ordered = sorted(added, key=lambda part: part.effect.comparison.difference.value * (1 if findings.primary.higher_is_better else -1))
    if all(part.reference == NONE for part in added):
        ordered = sorted(added, key=lambda part: _ORDER.index(part.effect.reading))
    sentences = [effect_sentence(findings, part) for part in ordered[:_MOST_SENTENCES]]
    sentences += [missing_sentence(missing)] if missing else []
    details = [differing_sentence(part) for part in ordered[:_MOST_SENTENCES] if not _differs(part)]
    further = len(ordered) - _MOST_SENTENCES
    details += [f"The section What does each part add? has {plural(further, 'other effect')}."] if further > 0 else []
    limited = any(part.effect.comparison.difference.conditional for part in added)
    details += [CONDITION] if limited and findings.conclusive else []
    return SummaryItem(question, " ".join(sentences), " ".join(filter(None, details)))


def _subject(part: PartEffect) -> str:
    return part.alternative if part.reference == NONE else f"{part.alternative} over {part.reference}"


parts_section = Topic(
    "parts",
    "What does each part add?",
    "Parts",
    compute,
    render,
    views=COMPARED,
    lines=lambda findings: [each.sentence for each in part_answers(findings)],
    questions=(HeadQuestion(8, part_answers, every_run=False),),
    missing="The run varies only one part, whose effects are the differences.",
)
