"""The winner, the margin, its certainty, and the differences that more questions would show, each as a sentence with a detail.

A null result reads as one: the words winner, better and best appear only if the verdict names a winner.
"""

from collections.abc import Sequence

import numpy as np

from workbench.core.text.formatting import capitalised, count, listed, number, p_value, plural, rounded, share, shortened, signed
from workbench.measures.statistics.clusters import FEWEST_FOR_WINNER
from workbench.measures.statistics.comparison import Comparison
from workbench.measures.statistics.intervals import ALPHA, bounds_text
from workbench.measures.statistics.pairs import Detectable
from workbench.measures.statistics.verdict import FEWEST_QUERIES, Reason, Verdict
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import shared_means
from workbench.report.canvas import NAME_LENGTH, IntervalRow, differences_drawing
from workbench.report.cells import count_cell, described, difference_cells, digits_for, key_of, p_cell, words
from workbench.report.model import Block, Cell, Column, Figure, Prose, Row, Table
from workbench.report.sentences import (
    beside_verdict,
    delivery_notes,
    has_placeholders,
    less_than_matters,
    screened_sentence,
    unaccepted_drafts,
    uncovered_sentence,
)
from workbench.report.topics.topic import COMPARED, Topic, question, same

_MOST_NAMES, _FEW_NAMES = 8, 3
_MOST_LETTERS = 200
# Comparisons that are nearly equal, or of which few documents differ, are as one.
ONCE = ", for which so few documents differ, or so alike, that the correction needs nothing more"
CONDITION = "This holds for other questions on this corpus, not for other documents, because many questions share documents."


def won(findings: Findings) -> tuple[str, str]:
    """Name the winner or the tie set. The detail lists the configurations that are not ranked."""
    if findings.verdict:
        return _verdict(findings, findings.verdict), _beside(findings)
    why = "every configuration failed" if findings.failures else "no configuration was run"
    if findings.standings.ranked:
        why = f"no question has a score by {findings.primary}"
    elif findings.standings.uncovered:
        why = uncovered_sentence(findings)
    elif findings.standings.windowed:
        why = "every configuration has chunks longer than its embedder's window, so that scores reflect the window, not the chunking"
    return f"No winner: {why}.", _beside(findings)


def margin(findings: Findings) -> tuple[str, str]:
    """State the leader's difference from the baseline or the second. The detail gives the leader's value corrected for selection."""
    first, second, comparison = findings.first, findings.comparator, findings.margin
    if first is None:
        return "No configuration can be ranked, so there is no difference.", ""
    metric = str(findings.primary)
    if second is None or comparison is None:
        return f"There is no second configuration to compare with; {first.name} has {metric} {first.means[metric].text()}.", ""
    questions = f"on {plural(comparison.difference.n, 'question')}"
    if comparison.identical:
        return f"There is no difference: {comparison.a} and {comparison.b} have the same {metric} {questions}.", _selected(findings)
    one, other = shared_means(findings, metric, comparison.a, comparison.b)
    values = f"{metric} {number(one)} against {number(other)}"
    values += "" if findings.primary.higher_is_better else ", lower is better"
    bounds = "" if findings.verdict and findings.verdict.reason is Reason.DRAFTS else f" {comparison.simultaneous.bounds()}"
    difference = f"{signed(comparison.difference.value)}{bounds}"
    base = findings.verdict is not None and findings.verdict.family != "all pairs" and second is findings.standings.baseline
    role = "the baseline " if base else ""
    if findings.winner:
        return f"By {difference} over {role}{comparison.b} {questions}: {values}.", _selected(findings)
    size = f"{difference} {questions}{', which may be chance' if _unseparated(comparison) else ''}"
    return f"{comparison.a} and {role}{comparison.b} differ by {size}: {values}.", _selected(findings)


def certainty(findings: Findings) -> tuple[str, str]:
    """State the result of the tests. The detail gives the other p values and the bounds under complete judgements."""
    verdict, comparison = findings.verdict, findings.margin
    if verdict is None or comparison is None:
        return "Nothing was tested, because a test requires two configurations.", ""
    if comparison.identical:
        return "There is no difference to test.", ""
    if verdict.reason is Reason.DRAFTS:
        return "Nothing was tested, because no claim rests on drafts.", ""
    if np.isnan(comparison.p):
        return f"Nothing was tested, because the questions come from fewer than 5 documents ({count(comparison.difference.clusters)}).", ""
    tests = f"paired t {p_value(comparison.p)}, randomisation {p_value(comparison.p_random)}, Holm {p_value(comparison.p_holm)}"
    limited = f" {CONDITION}" if verdict.conditional and findings.conclusive else ""
    return f"{_sure(verdict, comparison)}.{limited}", f"{comparison.a} against {comparison.b}: {tests}.{_bounded(findings)}"


def more(findings: Findings) -> tuple[str, str]:
    """State the smallest difference that the questions can show, and how many questions would show the smallest that matters."""
    verdict, second = findings.verdict, findings.second
    if verdict is None or second is None:
        return "More questions would not help without two configurations that can be compared.", ""
    if verdict.reason is Reason.DRAFTS and has_placeholders(findings):
        return "First write the questions in place of the placeholders, in the labeller, and sweep its dataset.", ""
    if verdict.reason is Reason.DRAFTS:
        return "First accept or delete the drafts, in the labeller or with workbench dataset accept, and sweep again.", ""
    if verdict.reason is Reason.IDENTICAL and verdict.enough:
        return "No number of questions would separate equal configurations.", ""
    n, power, needed = verdict.n, verdict.power, ""
    if power:
        # The number is rough, so the difference from the present one is not given.
        rough = rounded(power.needed)
        needed = f"about {count(rough if rough > n else power.needed)} would be needed in all"
    if n < FEWEST_QUERIES:
        few = f"At least {plural(FEWEST_QUERIES - n, 'more question')} for any claim"
        if power is None or power.needed <= FEWEST_QUERIES:
            return f"{few}.", ""
        shown = f"to show a difference of {number(power.smallest)} with 80 % power"
        return f"{few}; {shown}, {needed}, a rough estimate from so few.", _assumed(verdict, power)
    if verdict.clusters < FEWEST_FOR_WINNER:
        return f"Questions about at least {plural(FEWEST_FOR_WINNER - verdict.clusters, 'more document')} for any claim.", ""
    if power is None:
        return "The number is unknown, because no difference varies between questions.", ""
    able = f"hese {plural(n, 'question')} show a difference of {number(power.difference)} in {findings.primary} with 80 % power"
    if power.needed <= n:
        return f"No more are needed to show a difference of {number(power.smallest)}: t{able}.", _assumed(verdict, power)
    return f"T{able}; to show one of {number(power.smallest)}, {needed}.", _assumed(verdict, power)


def undone(comparison: Comparison) -> bool:
    """Check for a difference that is significant by itself and does not count, because losses that were not seen would undo it."""
    return comparison.p <= ALPHA and comparison.p_adjusted == 1


def _verdict(findings: Findings, verdict: Verdict) -> str:
    several, limited = f"{len(verdict.ranked)} configurations", ", for other questions on this corpus" if verdict.conditional else ""
    several += " that were run in full" if findings.screened and findings.screened.dropped else ""
    match verdict.reason:
        case Reason.ALONE:
            return f"No winner: {verdict.ranked[0]} is the only configuration to rank."
        case Reason.DRAFTS:
            return f"A preview, not a decision: {unaccepted_drafts(findings)}, so nothing is tested and no winner is named."
        case Reason.FEW:
            have = f"{plural(verdict.n, 'question has', 'questions have')} a value for every configuration"
            return f"No winner: only {have}, but at least {FEWEST_QUERIES} are required."
        case Reason.FEW_DOCUMENTS:
            return f"No winner: the questions come from only {plural(verdict.clusters, 'document')}, but at least {FEWEST_FOR_WINNER} are required."
        case Reason.IDENTICAL:
            settings = [dict(findings.manifest["configurations"][name]) for name in verdict.best]
            retrieved = [{stage: value for stage, value in each.items() if stage not in ("context", "answering")} for each in settings]
            # A metric of retrieval compares configurations that only answer differently.
            alike = all(each == retrieved[0] for each in retrieved) and any(each != settings[0] for each in settings)
            fix = " They differ only in how they answer; choose a metric of answers as primary."
            unread = fix if alike and not findings.primary.of_answers else ""
            return f"No winner: {_names(verdict)} have the same {findings.primary} on every question.{unread}"
        case Reason.TIED:
            subset = f"{len(verdict.best)} of {several}" if len(verdict.best) < len(verdict.ranked) else f"the {several}"
            return f"No winner: {subset} are statistically indistinguishable by {findings.primary}{limited} ({_names(verdict)})."
        case Reason.MISSING:
            return f"No winner: {_missing(findings, verdict)}."
        case None:
            best = f"with 95 % confidence it is the best of {several}{limited}"
            return f"{verdict.winner} wins by {findings.primary}: {best}{_weak(findings)}."


def _weak(findings: Findings) -> str:
    """Say that the winner's gain is smaller than what matters, and that its corrected comparison alone would not name it. Empty otherwise."""
    comparison = findings.margin
    if comparison is None:
        return ""
    small = less_than_matters(findings, comparison.difference.value)
    lead = "difference from" if _unseparated(comparison) else "gain over"
    gain = f"; its {lead} {comparison.b}, {number(abs(comparison.difference.value))}, is {small}" if small else ""
    one_sided = (
        "; the test of the best is one-sided, and the two-sided comparison below is not significant" if _unseparated(comparison) else ""
    )
    return f"{gain}{one_sided}"


def _unseparated(comparison: Comparison) -> bool:
    return comparison.p_adjusted > ALPHA


def _missing(findings: Findings, verdict: Verdict) -> str:
    """Name the configurations whose unscored questions could change the order."""
    unscored = {each.name: each.means[str(findings.primary)].unscored for each in findings.standings.ranked}
    lost = [f"{plural(unscored[name], 'unscored question')} of {name}" for name in verdict.ranked if unscored[name]]
    could = listed([name for name in verdict.best if name != verdict.ranked[0]], _FEW_NAMES)
    return f"{verdict.ranked[0]} leads by {findings.primary}, but {listed(lost, _FEW_NAMES)} could put {could} level with it"


def _names(verdict: Verdict) -> str:
    return listed(verdict.best, _MOST_NAMES if sum(map(len, verdict.best[:_MOST_NAMES])) < _MOST_LETTERS else _FEW_NAMES)


def _beside(findings: Findings) -> str:
    verdict, parts = findings.verdict, []
    if verdict and verdict.reason in (Reason.TIED, Reason.IDENTICAL, Reason.MISSING) and len(verdict.best) < len(verdict.ranked):
        parts.append(_outside(verdict))
    if findings.standings.uncovered and findings.standings.ranked:
        parts.append(uncovered_sentence(findings))
    if findings.standings.windowed:
        parts.append(f"beyond the embedder's window, so not compared: {listed([each.name for each in findings.standings.windowed])}")
    if findings.screened and findings.screened.dropped:
        parts.append(f"{plural(len(findings.screened.dropped), 'configuration')} screened out before the run")
    if findings.failures:
        parts.append(f"failed: {listed(list(findings.failures), 2)}")
    if findings.unbased:
        parts.append(f"the baseline {findings.unbased} cannot be compared, so all pairs are")
    notes = "; ".join(parts)
    return f"{capitalised(notes)}." if notes else ""


def _outside(verdict: Verdict) -> str:
    """Describe the configurations outside the tie set. Only those with a corrected p of at most .05 are called behind."""
    others, behind = len(verdict.ranked) - len(verdict.best), len(verdict.behind)
    if behind in (0, others):
        subject = "the other configuration is" if others == 1 else f"{'each of ' if behind else ''}the other {others} configurations "
        predicate = "behind" if behind else "not in the tie set"
        return f"{subject if others == 1 else subject + ('is' if behind else 'are')} {predicate}"
    rest = others - behind
    return f"of the other {others} configurations {behind} {'is' if behind == 1 else 'are'} behind and {rest} not in the tie set"


def _selected(findings: Findings) -> str:
    verdict, first = findings.verdict, findings.first
    if verdict is None or first is None or verdict.selected is None or len(verdict.ranked) < 2:
        return ""
    end, plain = "highest" if findings.primary.higher_is_better else "lowest", first.means[str(findings.primary)].value
    selected = verdict.selected
    bounds = bounds_text(selected.low, selected.high, verdict.clusters, verdict.conditional)
    return (
        f"The {end} of several means is partly luck: {number(plain)} becomes {number(selected.value)} {bounds} (optimism "
        f"{number(selected.optimism)}) if the leader is chosen on half of the documents and measured on the others; "
        f"{first.name} comes first on {share(selected.chosen.get(first.name, 0.0), 1)} of the halves."
    )


def _sure(verdict: Verdict, comparison: Comparison) -> str:
    tests = len(verdict.comparisons)
    corrected = f"{p_value(comparison.p_adjusted)}{f' after correction for {count(tests)} comparisons' if tests > 1 else ''}"
    if undone(comparison):
        corrected += ", because fewer than 5 questions are against the difference and 3 total losses that were not seen would undo it"
    alike = _unseparated(comparison)
    if verdict.reason is None:
        others = "every other configuration is" if len(verdict.ranked) > 2 else "the other configuration is"
        certain = f"{others} behind" if len(verdict.behind) == len(verdict.ranked) - 1 else f"{verdict.winner} is the best"
        sentence = f"With 95 % confidence {certain}; {comparison.a} against {comparison.b}: {corrected}"
        return (
            f"{sentence}, which by itself does not separate these two: it is two-sided, and the test of the best is one-sided"
            if alike
            else sentence
        )
    if verdict.reason in (Reason.FEW, Reason.FEW_DOCUMENTS):
        return f"Not certain enough for a claim; {comparison.a} against {comparison.b}: {corrected}"
    if verdict.reason is Reason.MISSING:
        what = "are statistically indistinguishable" if alike else "differ"
        return f"On the questions that both have a value for, {comparison.a} and {comparison.b} {what}: {corrected}. Unscored questions could change it"
    tied = not alike and {comparison.a, comparison.b} <= set(verdict.best)
    both = ". Both are in the tie set, which corrects for all pairs, not only for those with the baseline" if tied else ""
    return f"{comparison.a} and {comparison.b} {'are statistically indistinguishable' if alike else 'differ'}: {corrected}{both}"


def _bounded(findings: Findings) -> str:
    """State the bounds of the difference under complete judgements, if the two have different shares judged."""
    if findings.contrast is None or findings.contrast.judged is None or len(set(findings.contrast.judged)) == 1:
        return ""
    judged = " and ".join(share(part, 1) for part in findings.contrast.judged)
    if findings.bounds is None or np.isnan(findings.bounds.low):
        return f" Of their retrieved documents {judged} are judged: judgements of the rest can change the difference."
    bounds = f"{signed(findings.bounds.low)} and {signed(findings.bounds.high)}"
    return f" Of their retrieved documents {judged} are judged; if the rest were judged, each either relevant with grade 1 or not, the difference would be between {bounds}."


def _assumed(verdict: Verdict, power: Detectable) -> str:
    tests = len(verdict.comparisons)
    each = (
        f"for each of {count(tests)} comparisons at the level {power.level:.2g}, so that all hold at once{ONCE if power.level >= ALPHA else ''}"
        if tests > 1
        else "at the level 0.05"
    )
    new = (
        "are assumed to be about the same documents"
        if verdict.conditional
        else "are assumed to come with new documents in the present proportion"
    )
    return (
        f"Two-sided paired t test {each}, with the spread of the difference between {power.a} and {power.b}. New questions {new}. "
        "The experiment's smallest_difference sets the smallest difference that matters."
    )


def lines(findings: Findings) -> list[str]:
    """Give the verdict in the terminal: screening, odd deliveries, drafts, the winner, the margin and its certainty."""
    return [
        "",
        *([screened_sentence(findings.screened)] if findings.screened else []),
        *delivery_notes(findings),
        *beside_verdict(findings, findings.verdict),
        won(findings)[0],
        *([margin(findings)[0]] if findings.first else []),
        *([certainty(findings)[0], more(findings)[0]] if findings.margin else []),
    ]


# On the page and in the notebook it is the opening.
verdict = Topic(
    "verdict",
    "",
    "",
    same,
    None,
    views=(),
    lines=lines,
    questions=(
        question(0, "What won?", won),
        question(1, "By how much?", margin),
        question(2, "How certain is the result?", certainty),
        question(7, "How many more questions would be needed?", more),
    ),
)


_TESTS = ("paired t p", "randomisation p", "corrected p", "Holm p")


def compute_differences(findings: Findings) -> tuple[Findings, str, list[Comparison]] | None:
    """Compare every other configuration with the reference. None if there is only one."""
    base = findings.reference
    pairs = [findings.against(standing.name, base.name) for standing in findings.standings.ranked if standing is not base] if base else []
    tested = [pair for pair in pairs if pair is not None]
    return (findings, base.name, tested) if base and tested else None


def render_differences(values: tuple[Findings, str, list[Comparison]]) -> list[Block]:
    """Plot the differences, name the configurations behind others than the baseline, and explain pairs within and outside the tie set."""
    findings, base, tested = values
    return [_figure(findings, base, tested), *_behind(findings, base), *_outside_note(findings, tested)]


def _behind(findings: Findings, base: str) -> list[Block]:
    """Name a configuration ahead of each one that is behind, if the figure compares with a baseline only. The figure has the baseline itself."""
    verdict = findings.verdict
    if verdict is None or not verdict.behind or not findings.conclusive or len(verdict.all_pairs) == len(verdict.comparisons):
        return []
    known = [(name, ahead) for name in verdict.behind if name != base and (ahead := verdict.ahead_of(name, base))]
    if not known:
        return []
    rows = [Row([Cell(name), Cell(ahead), p_cell(p)]) for name, (ahead, p) in known]
    caption = f"Configurations that are behind others than the baseline, and the one ahead of each with the smallest p, corrected for all {plural(len(verdict.all_pairs), 'pair')}"
    return [Table(caption, [words("configuration"), words("ahead of it"), Column("corrected p")], rows)]


def _figure(findings: Findings, base: str, tested: Sequence[Comparison]) -> Figure:
    short = shortened([base, *(pair.a for pair in tested)], NAME_LENGTH)
    rows = [IntervalRow(short[pair.a], pair.simultaneous, _claimed(findings, pair)) for pair in tested]
    digits = digits_for(end for pair in tested for end in (pair.difference.value, pair.low_adjusted, pair.high_adjusted))
    data = _table(findings, base, tested)
    caption = f"Solid points, {sum(row.solid for row in rows)} of {len(rows)}, differ after correction for all comparisons; rings may not."
    if not findings.conclusive:
        why = "on drafts" if unaccepted_drafts(findings) else "with so few questions or documents"
        caption = f"All points are rings, because {why} no difference is claimed."
    if any(np.isfinite(row.estimate.low) for row in rows):
        caption += " The intervals hold for all comparisons at once with 95 % confidence."
    drawing = differences_drawing(rows, f"{findings.primary} minus that of {short[base]}", digits)
    return Figure("differences", described(data), caption, drawing, data, key_of(short))


def _claimed(findings: Findings, pair: Comparison) -> bool:
    """Check that a difference is significant, and that the run has enough questions and documents to claim it."""
    return findings.conclusive and bool(pair.p_adjusted <= ALPHA)


def _table(findings: Findings, base: str, tested: Sequence[Comparison]) -> Table:
    verdict = findings.verdict
    corrected = f"; corrected for {plural(len(verdict.comparisons), 'comparison')} ({verdict.family})" if verdict else ""
    columns = [words("configuration"), Column("difference"), Column("interval, corrected", sorts=False), *map(Column, _TESTS)]
    rows = []
    for pair in tested:
        ps = [p_cell(p) for p in (pair.p, pair.p_random, pair.p_adjusted, pair.p_holm)]
        reading = Cell(_reading(findings, pair))
        rows.append(Row([Cell(pair.a), *difference_cells(pair.simultaneous), *ps, count_cell(pair.difference.n), reading]))
    caption = f"{findings.primary} minus that of {base}, question by question{corrected}"
    return Table(caption, [*columns, Column("questions"), words("reading")], rows)


def _reading(findings: Findings, pair: Comparison) -> str:
    if np.isnan(pair.p):
        return "not tested"
    if pair.identical:
        return "the same"
    if pair.p_adjusted > ALPHA:
        return f"statistically indistinguishable{', because unseen losses could undo it' if undone(pair) else ''}"
    return "different" if _claimed(findings, pair) else "too few data for a claim"


def _outside_note(findings: Findings, tested: Sequence[Comparison]) -> list[Block]:
    """Explain why a pair can be statistically indistinguishable although one of the two is outside the tie set."""
    best = findings.verdict.best if findings.verdict and findings.conclusive else ()
    if not any(comparison.p_adjusted > ALPHA and (comparison.a in best) != (comparison.b in best) for comparison in tested):
        return []
    explanation = (
        "Some pairs are statistically indistinguishable although one of the two is outside the tie set: a configuration is outside if any "
        "other one is ahead of it; a pair tests whether exactly these two differ, in either direction and corrected for all pairs tested."
    )
    return [Prose(explanation)]


differences = Topic("differences", "Differences", "Differences", compute_differences, render_differences, views=COMPARED)
