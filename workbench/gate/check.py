"""Check a run against the rules of a gate."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from workbench.core.errors import InputError
from workbench.core.text.formatting import listed, p_value, plural
from workbench.gate.baseline import Baseline, Differences, copied, differences, read_baseline
from workbench.gate.comparisons import SecondRuns, baseline_result
from workbench.gate.gated import GatedConfiguration, default_subjects, known_configuration
from workbench.gate.limits import floor_result, retrieval_results
from workbench.gate.losses import lost_questions
from workbench.gate.rules import EXIT_CODES, BaselineComparison, BaselineKind, GateSettings, RuleResult, Subject, outcome_of
from workbench.measures.statistics.comparison import holm
from workbench.measures.statistics.decisions import ALARM, Decision
from workbench.report.analysis.causes import QuestionLoss
from workbench.report.analysis.values import unaccepted
from workbench.report.results.randomness import random_parts
from workbench.report.results.run_manifest import commit
from workbench.report.results.run_tables import RunTables
from workbench.report.runs.inputs import changed_settings, measured_by, measurement
from workbench.report.sentences import unaccepted_drafts

_NAMED = 5


@dataclass(frozen=True)
class GateReport:
    """The outcome of a gate. It fails if a rule fails, else it is undecided if a rule is, else it passes.

    `lost` are the questions that lost something since the baseline. `notes` are remarks that change nothing, such as documents that were removed.
    `commit` is that of the run, empty outside git.
    """

    name: str
    configuration: str
    rules: Sequence[RuleResult]
    lost: Sequence[QuestionLoss] = ()
    differences: Differences | None = None
    notes: Sequence[str] = ()
    commit: str = ""

    @property
    def outcome(self) -> Decision:
        """Return the outcome of all rules together."""
        return outcome_of(self.rules)

    def of(self, rule_id: str) -> list[RuleResult]:
        """Return the results of a rule: one of a limit, several of a test of many questions or of a baseline with several metrics."""
        return [rule for rule in self.rules if rule.id == rule_id]

    @property
    def exit_code(self) -> int:
        """Return 0 for a pass, 1 for a failure, 4 if undecided."""
        return EXIT_CODES[self.outcome]

    @property
    def alarms(self) -> Sequence[str]:
        """Return the rules that a second run of both sides would decide."""
        return [rule.rule for rule in self.rules if rule.alarm]


def gated_configuration(run: RunTables, settings: GateSettings) -> str:
    """Return the configuration that the rules apply to: the one named, else the experiment's baseline, else the only one."""
    if settings.configuration is not None or run.baseline is not None:
        return known_configuration(run, settings.configuration or str(run.baseline), f"the run {run.name}")
    if len(run.names) == 1:
        return run.names[0]
    raise InputError(f"the run {run.name} has {len(run.names)} configurations", f"name one with --configuration: {listed(run.names, 12)}")


def compared_subjects(run: RunTables, configuration: str, settings: GateSettings) -> Sequence[Subject]:
    """List the metrics to compare with a baseline: those that are named, else `default_subjects`."""
    return settings.compare or default_subjects(run, configuration)


def check_gate(run: RunTables, settings: GateSettings, again: SecondRuns | None = None) -> GateReport:
    """Check every rule.

    Parameters
    ----------
    again
        A second run of both sides, which decides alarms of metrics that are not deterministic.

    Raises
    ------
    InputError
        If there is no rule, or one cannot be checked: an unknown metric or slice, a limit beyond the attainable, too many questions without a
        value, or a baseline of other questions or labels.
    """
    if not settings.rules:
        fix = "write --fail-below recall@5=0.7, --baseline FILE, or the key gate in the experiment"
        raise InputError(f"there is no rule to check in {run.name}", fix)
    own = GatedConfiguration(run, gated_configuration(run, settings))
    files: list[tuple[BaselineKind, Path | None]] = [("baseline", settings.baseline), ("release", settings.release)]
    baselines = [(kind, read_baseline(path, own.name, run.configurations_settings[own.name])) for kind, path in files if path is not None]
    differing = [differences(run, own.name, baseline) for _, baseline in baselines]
    for (_, baseline), differs in zip(baselines, differing, strict=True):
        _require_same_questions(baseline, differs)
    _require_second_runs(own, baselines, again)
    rules = [replace(floor_result(own, floor, settings), id=floor.id) for floor in dict.fromkeys(settings.floors)]
    subjects = compared_subjects(run, own.name, settings) if baselines else ()
    for kind, reference in baselines:
        if not settings.accept_change:
            _require_same_comparison(reference, subjects)
            _require_same_measurement(own, reference, subjects)
        # A plain baseline says itself what is compared, unless the settings do.
        for subject in map(Subject.parse, reference.means) if reference.plain and not settings.compare else subjects:
            rule = BaselineComparison(kind, reference.path, subject if settings.compare else None)
            rules.append(replace(baseline_result(own, subject, reference, settings, kind, again), id=rule.id))
    rules += [replace(result, id=test.id) for test in settings.retrieval_tests for result in retrieval_results(own, test)]
    main = baselines[0][1] if baselines else None
    lost = lost_questions(run, own.name, main, subjects, differing[0]) if main else []
    drafts = unaccepted_drafts(run)
    notes = [drafts] if drafts else []
    notes += _old_replies(own)
    notes += [note for (_, baseline), differs in zip(baselines, differing, strict=True) for note in _notes(baseline, differs)]
    checked, present = run.manifest["commit"], commit()
    if checked and present not in (None, checked):
        notes.append(f"this checkout is at {present}, and the run is of {checked}: sweep again to check this one")
    waiting = unaccepted(run)
    rules = [_preview(rule, drafts) if drafts and (not rule.query_id or rule.query_id in waiting) else rule for rule in _holm(rules)]
    return GateReport(run.name, own.name, rules, lost, differing[0] if differing else None, notes, checked or "")


def _require_same_questions(baseline: Baseline, differing: Differences) -> None:
    for what, names in (("questions", differing.questions), ("labels", differing.labels)):
        if names:
            shown = f"{plural(len(names), 'question')}: {listed(names, _NAMED)}"
            problem = f"the {what} differ from those of {baseline.path}, at {shown}"
            raise InputError(problem, "compare on the same questions, or accept the change with --update-baseline")


def _require_same_comparison(baseline: Baseline, subjects: Sequence[Subject]) -> None:
    """Raise InputError if a metric is not compared any more, as after a change of the primary one: its drop would pass unseen."""
    names = [str(subject) for subject in subjects]
    if missing := [name for name in baseline.compared if str(Subject.parse(name)) not in names]:
        what = f"{baseline.path} was written to compare {listed(missing)}, and this gate compares {listed(names)}"
        raise InputError(
            what, "compare it again (primary, or compare in gate), or accept the change with --accept-change or a new baseline"
        )


def _require_same_measurement(own: GatedConfiguration, baseline: Baseline, subjects: Sequence[Subject]) -> None:
    """Raise InputError if values of a baseline were measured otherwise, as after a change of the judges: a difference then says nothing about quality."""
    names = {name for subject in subjects for name in measured_by(own.measure(subject))} & set(baseline.measurement)
    before, after = ({name: side[name] for name in sorted(names)} for side in (baseline.measurement, measurement(own.run)))
    if changed := changed_settings(before, after):
        what = f"the values of {baseline.path} were measured otherwise: {listed(changed)}"
        raise InputError(what, "measure as before, or accept the change with --accept-change or a new baseline")


def _require_second_runs(own: GatedConfiguration, baselines: Sequence[tuple[BaselineKind, Baseline]], again: SecondRuns | None) -> None:
    """Raise InputError unless the second runs repeat the first ones: the same questions, labels, documents and settings."""
    if again is None:
        return
    run, second = own.run, again.candidate
    known_configuration(second, own.name, f"the second run {second.name}")
    if _inputs(run, own.name) != _inputs(second, own.name):
        what = "the second run has other questions, labels, documents or settings than the first"
        raise InputError(what, "sweep the same commit and experiment twice")
    # Without anything random a second run must repeat the first, and decides nothing.
    random = any(random_parts(run, own.name, metric) for metric in run.measures)
    if random and copied([run, second], own.name):
        what = "the second run is a copy of the first, or shared the results of its store"
        raise InputError(what, "sweep again with --outputs AGAIN, which has a store of its own")
    for kind, first in baselines:
        repeated = again.other(kind)
        if repeated is None or first.plain:
            continue
        _require_same_questions(repeated, differences(run, own.name, repeated))
        if repeated.plain or repeated.settings != first.settings:
            raise InputError(
                f"{repeated.path} does not repeat {first.path}: it has other settings", f"sweep the commit of {first.path} again"
            )
        if repeated.corpus != first.corpus or first.measurement not in ({}, repeated.measurement):
            what = f"{repeated.path} does not repeat {first.path}: it has other documents, expected answers or judges"
            raise InputError(what, f"sweep the commit of {first.path} again")
        if random and {source.get("digest") for source in repeated.provenance} & {source.digest(own.name) for source in (run, second)}:
            what = f"{repeated.path} is a run of the candidate, or shared the results of its store"
            raise InputError(what, f"sweep the commit of {first.path} again with outputs of its own")


def _inputs(run: RunTables, name: str) -> object:
    prints = run.manifest["fingerprints"]
    return prints["questions"], prints["labels"], prints["corpus"], measurement(run), run.configurations_settings[name]


def _holm(rules: Sequence[RuleResult]) -> list[RuleResult]:
    """Correct failures for the number of rules that infer. A failure that does not survive is undecided."""
    adjusted = holm(np.array([rule.p for rule in rules], dtype=np.float64)).tolist()
    return [_corrected(rule, p) for rule, p in zip(rules, adjusted, strict=True)]


def _corrected(rule: RuleResult, p: float) -> RuleResult:
    """Add the p that is corrected for several rules, and what it says of a drop."""
    significant = math.isnan(p) or p <= ALARM
    rule = replace(rule, p_adjusted=p, alarm=rule.alarm and significant, worse=rule.worse and significant)
    if rule.worse:
        return _remarked(rule, f"worse, within tolerance; {p_value(p)}")
    if rule.alarm:
        return _remarked(rule, f"an alarm, but {rule.random} can give other values: run both sides again")
    if rule.outcome is not Decision.FAIL:
        return rule
    if significant:
        return replace(rule, reason=f"a drop is shown: {rule.reason}") if rule.kind in ("baseline", "release") else rule
    lost = f"{p_value(p)} after the correction for several rules (Holm)"
    return replace(_remarked(rule, lost), outcome=Decision.UNDECIDED)


def _preview(rule: RuleResult, drafts: str) -> RuleResult:
    """Leave a rule undecided that rests on drafts."""
    fix = f"a preview: {drafts}; accept or delete them, and sweep again"
    return replace(_remarked(rule, fix), outcome=Decision.UNDECIDED, alarm=False, worse=False)


def _remarked(rule: RuleResult, remark: str) -> RuleResult:
    return replace(rule, reason=f"{rule.reason}; {remark}")


def _old_replies(own: GatedConfiguration) -> list[str]:
    """Say if a target was not asked: a change of what its settings do not name is not seen."""
    target, timings = own.run.configurations_settings[own.name].get("target"), own.run.of("timings", own.name)
    asked = timings.loc[timings["name"] == "computed_responses", "value"]
    if not target or target["kind"] == "recorded" or asked.empty or asked.sum() > 0:
        return []
    return [f"{own.name} was not asked: its replies are those of an earlier sweep; change its revision if the target has changed"]


def _notes(baseline: Baseline, differing: Differences) -> Iterator[str]:
    """Say what differs from a baseline apart from questions and labels."""
    if baseline.plain:
        return
    documents = [
        (names, verb)
        for names, verb in ((differing.removed, "removed"), (differing.added, "added"), (differing.changed, "changed"))
        if names
    ]
    for names, verb in documents:
        yield f"{plural(len(names), 'document')} {verb} since {baseline.path}: {listed(names, _NAMED)}"
    if differing.corpus and not documents:
        yield f"the corpus differs from that of {baseline.path}, which does not say in which documents"
    if differing.fields:
        what = f"the fields of {plural(len(differing.fields), 'question')} differ from those of {baseline.path}, so slices can have other questions"
        yield f"{what}: {listed(differing.fields, _NAMED)}"
    if differing.settings:
        yield f"the configuration differs from that of {baseline.path}: {listed(differing.settings)}"
