"""Two runs: what changed between them, and what that did to the configurations that both have.

Only questions with the same id, text and labels in both runs are compared. The differences of all matched configurations by the primary metric
are one family: their p values and bounds are corrected together.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.text.formatting import listed
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import Comparison, comparisons, paired_differences, widened_margin
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.pairs import from_zero, total_loss
from workbench.measures.statistics.randomisation import randomise
from workbench.measures.statistics.verdict import SEED, enough
from workbench.report.analysis.findings import Findings, findings
from workbench.report.analysis.pairwise import SAME, loss_causes
from workbench.report.analysis.standings import COSTS, COVERAGE, TIMES, CostRange, costs_of, passes_of, separated, standing_of, timings_of
from workbench.report.analysis.values import clusters, per_query, unscored_queries
from workbench.report.results.run_tables import RunTables, run_mark, same_settings
from workbench.report.runs.inputs import (
    SettingChange,
    changed_documents,
    changed_questions,
    changed_settings,
    document_prints,
    measured_by,
    measurement,
    question_prints,
    setting_changes,
)

# The configurations say what these keys of an experiment mean.
_OF_CONFIGURATIONS = ("name", "pipeline", "sweep", "targets")
_OF_MANIFEST = ("primary", "baseline", "average", "smallest_difference", "conditions", "repeats", "judging", "seeds")


class RunReading(StrEnum):
    """The conclusion about a configuration in two runs, by the primary metric."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    IDENTICAL = "identical"
    UNDECIDED = "no difference shown"
    TOO_FEW = "too few questions"


@dataclass(frozen=True)
class MatchedConfiguration:
    """A configuration of two runs by its name in each, with the settings that differ."""

    before: str
    after: str
    changes: tuple[SettingChange, ...] = ()


@dataclass(frozen=True)
class ConfigurationChange:
    """A matched configuration on the questions with a value in both runs: its means, and the difference (after - before) with its tests.

    `missing` questions are equal in both runs, but lack a value in one. `comparison` is None if no question has both values.
    """

    match: MatchedConfiguration
    before: float
    after: float
    missing: int
    comparison: Comparison | None
    reading: RunReading


@dataclass(frozen=True, eq=False, repr=False)
class RunPair:
    """Two runs by the same primary metric, the earlier one first."""

    before: RunTables
    after: RunTables

    @classmethod
    def of(cls, before: RunTables, after: RunTables) -> Self:
        """Pair two runs. Raises InputError if both are the same, have different primary metrics, or no question in common."""
        same = run_mark(before.folder)
        if same is not None and same == run_mark(after.folder):
            raise InputError(f"{before.folder} is compared with itself", "give two runs, the earlier one first")
        names, metrics = [run_label(run) for run in (before, after)], [str(run.primary) for run in (before, after)]
        if metrics[0] != metrics[1]:
            what = f"{names[0]} is ranked by {metrics[0]}, and {names[1]} by {metrics[1]}"
            raise InputError(what, f"set primary: {metrics[1]} in both experiments, and sweep again")
        depends = measured_by(after.primary) - {"expected answers"}
        sides = [{name: value for name, value in measurement(run).items() if name in depends} for run in (before, after)]
        if changed := changed_settings(*sides):
            raise InputError(
                f"{metrics[0]} was measured otherwise in {names[1]}: {listed(changed)}", "sweep one of them again with equal settings"
            )
        pair = cls(before, after)
        pair.require_common_questions()
        return pair

    def require_common_questions(self) -> None:
        """Raise InputError if no question is equal in both runs."""
        if not self.members.any():
            what = f"{run_label(self.before)} and {run_label(self.after)} have no question with the same id, text and labels"
            raise InputError(what, "compare runs of the same dataset")

    @cached_property
    def left_out(self) -> Mapping[str, str]:
        """The questions that are not compared, by id, with the reason."""
        before, after = question_prints(self.before), question_prints(self.after)
        texts, labels, _ = changed_questions(before, after)
        only = {
            name: "only in the later run" if name not in before else "only in the earlier run"
            for name in texts
            if not (name in before and name in after)
        }
        return {**dict.fromkeys(texts, "text changed"), **only, **dict.fromkeys(labels, "labels changed")}

    @cached_property
    def members(self) -> Bools:
        """Mark the questions of the later run that are compared."""
        return (~self.after.questions["query_id"].isin(list(self.left_out))).to_numpy(np.bool_)

    @cached_property
    def query_ids(self) -> Sequence[str]:
        """The ids of the questions that are compared."""
        ids: list[str] = self.after.questions["query_id"][self.members].tolist()
        return ids

    @cached_property
    def clusters(self) -> Clusters:
        """The source documents of the questions that are compared. Nothing is tested if some of the questions are drafts in either run."""
        chosen = clusters(self.after)[self.members]
        return Clusters(chosen.codes, chosen.query, chosen.document, chosen.equal, chosen.tested and clusters(self.before).tested)

    @cached_property
    def matches(self) -> tuple[MatchedConfiguration, ...]:
        """The finished configurations that both runs have, in the order of the later run."""
        sides = [{name: run.configurations_settings[name] for name in run.names} for run in (self.before, self.after)]
        return matched_configurations(*sides)

    @cached_property
    def added(self) -> tuple[str, ...]:
        """The configurations that only the later run has."""
        return tuple(name for name in self.after.names if name not in {match.after for match in self.matches})

    @cached_property
    def removed(self) -> tuple[str, ...]:
        """The configurations that only the earlier run has."""
        return tuple(name for name in self.before.names if name not in {match.before for match in self.matches})

    @property
    def smallest_difference(self) -> float:
        """The smallest difference that matters: the smaller one of both runs."""
        return min(self.before.smallest_difference, self.after.smallest_difference)

    def values(self, match: MatchedConfiguration, metric: str = "") -> tuple[Floats, Floats]:
        """The values of a metric, the primary one by default, on the questions that are compared. Both of shape (questions,), NaN without one."""
        name = metric or str(self.after.primary)
        return self._before(per_query(self.before, match.before, name)), per_query(self.after, match.after, name)[self.members]

    def _before(self, row: Any) -> Any:
        """Bring an array over the questions of the earlier run into the order of those that are compared."""
        return row[pd.Index(self.before.questions["query_id"]).get_indexer(pd.Index(self.query_ids))]

    @cached_property
    def differences(self) -> tuple[ConfigurationChange, ...]:
        """Every matched configuration with its difference by the primary metric."""
        values = self._values
        rows = np.array([after - before for before, after in values]).reshape(len(values), len(self.query_ids))
        rows = np.where(np.abs(rows) < SAME, 0.0, rows)
        scored = np.flatnonzero(~np.isnan(rows).all(axis=1))
        by_row = dict(zip(scored.tolist(), self._compared(rows[scored]), strict=True))
        return tuple(self._difference(match, *values[row], by_row.get(row)) for row, match in enumerate(self.matches))

    @cached_property
    def _values(self) -> Sequence[tuple[Floats, Floats]]:
        return [self.values(match) for match in self.matches]

    @cached_property
    def _loss(self) -> float:
        """The difference in a total loss of a question."""
        return total_loss(np.concatenate(self._values))

    def _compared(self, rows: Floats) -> list[Comparison]:
        if not len(rows):
            return []
        pairs = from_zero(rows, self.clusters, self._loss)
        family = np.ones(len(rows), dtype=np.bool_)
        return comparisons(pairs, randomise(pairs, family, SEED), family, ["before", *("after" for _ in rows)])

    def _difference(self, match: MatchedConfiguration, before: Floats, after: Floats, comparison: Comparison | None) -> ConfigurationChange:
        known = ~np.isnan(before + after)
        metric = str(self.after.primary)
        applies = [
            self._before(unscored_queries(self.before, match.before, metric)),
            unscored_queries(self.after, match.after, metric)[self.members],
        ]
        wanted = ~np.isnan(before) | ~np.isnan(after) | applies[0] | applies[1]
        means = np.full(2, np.nan)
        if known.any():
            (averaged, _) = self.clusters.averaged(np.where(known, [before, after], np.nan))
            means = np.nanmean(averaged, axis=1)
        missing = wanted & ~known
        covered = known.sum() >= COVERAGE * wanted.sum()
        reading = self._reading(comparison, after - before, missing) if comparison is not None and covered else RunReading.TOO_FEW
        return ConfigurationChange(match, float(means[0]), float(means[1]), int(missing.sum()), comparison, reading)

    def _reading(self, comparison: Comparison, differences: Floats, missing: Bools) -> RunReading:
        if comparison.identical:
            return RunReading.IDENTICAL
        difference = comparison.difference
        if not enough(difference.n, difference.clusters) or np.isnan(comparison.p):
            return RunReading.TOO_FEW
        if comparison.p_adjusted <= ALPHA:
            gained = (difference.value > 0) == self.after.primary.higher_is_better
            return RunReading.BETTER if gained else RunReading.WORSE
        margin = widened_margin(comparison, differences, missing, self.clusters, self._loss)
        return RunReading.EQUIVALENT if margin < self.smallest_difference else RunReading.UNDECIDED

    @cached_property
    def findings(self) -> tuple[Findings, Findings]:
        """The conclusions of both runs."""
        return findings(self.before), findings(self.after)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """The changes between the runs: `kind`, `what`, `before`, `after`, each a text."""
        rows = [("settings", *_texts(change)) for change in self._settings()]
        rows += [("configuration", match.after, "", str(change)) for match in self.matches for change in match.changes]
        rows += [
            ("configuration", match.after, match.before, match.after)
            for match in self.matches
            if match.before != match.after and not match.changes
        ]
        rows += [("configuration", name, "", "added") for name in self.added] + [
            ("configuration", name, "removed", "") for name in self.removed
        ]
        rows += [("dataset", what, "", text) for what, text in self._dataset()]
        rows += [("version", *_texts(change)) for change in self._versions()]
        return pd.DataFrame(rows, columns=["kind", "what", "before", "after"])

    def _settings(self) -> Iterator[SettingChange]:
        sides = list[dict[str, Any]]()
        for run in (self.before, self.after):
            experiment = {name: value for name, value in run.manifest["experiment"].items() if name not in _OF_CONFIGURATIONS}
            sides.append(experiment | {name: run.manifest.get(name) for name in _OF_MANIFEST})
        yield from setting_changes(sides[0], sides[1])

    def _dataset(self) -> Iterator[tuple[str, str]]:
        counts: dict[str, int] = defaultdict(int)
        for reason in self.left_out.values():
            counts[reason] += 1
        yield from (("questions", f"{count:,} {reason}") for reason, count in counts.items())
        fields = changed_questions(question_prints(self.before), question_prints(self.after))[2]
        if fields:
            yield "questions", f"{len(fields):,} with other fields, which define slices"
        sides = [document_prints(run) for run in (self.before, self.after)]
        added, removed, changed = changed_documents(*sides) if all(sides) else ((), (), ())
        yield from (
            ("documents", f"{len(ids):,} {how}: {listed(ids)}")
            for ids, how in ((added, "added"), (removed, "removed"), (changed, "changed"))
            if ids
        )
        corpora = [run.manifest["fingerprints"]["corpus"] for run in (self.before, self.after)]
        if corpora[0] != corpora[1] and not (added or removed or changed):
            yield "documents", "the documents differ, and the runs do not say which"

    def _versions(self) -> Iterator[SettingChange]:
        manifests = [run.manifest for run in (self.before, self.after)]
        yield from setting_changes(*(manifest["versions"] for manifest in manifests))
        yield from (SettingChange(f"stage {stage}", "another version", names) for stage, names in self._stages())
        encoders = [_distinct(manifest.get("encoders", {})) for manifest in manifests]
        if all(encoders) and encoders[0] != encoders[1]:
            yield SettingChange("encoder", *encoders)
        commits = [manifest["commit"] for manifest in manifests]
        if commits[0] != commits[1]:
            yield SettingChange("commit", *commits)

    def _stages(self) -> Iterator[tuple[str, str]]:
        """Yield the stages that compute otherwise although their settings are equal, with their configurations."""
        prints = [run.manifest["fingerprints"].get("settings", {}) for run in (self.before, self.after)]
        names: dict[str, list[str]] = defaultdict(list)
        for match in self.matches:
            before, after = prints[0].get(match.before, {}), prints[1].get(match.after, {})
            changed = {change.path.split(".")[0] for change in match.changes}
            for stage in before.keys() & after.keys() - changed:
                if before[stage] != after[stage]:
                    names[stage].append(match.after)
        yield from ((stage, f"of {listed(names[stage], 3)}") for stage in sorted(names))

    @cached_property
    def configurations(self) -> pd.DataFrame:
        """A row for each matched configuration: its names and settings, means, difference with p and bounds, corrected for all rows, and reading."""
        columns = "configuration before changed value_before value_after difference low high p p_adjusted low_adjusted high_adjusted n clusters missing reading"
        rows = []
        for row in self.differences:
            known = row.comparison
            tested = [np.nan] * 7 + [0, 0]
            if known is not None:
                mean = known.difference
                tested = [
                    mean.value,
                    mean.low,
                    mean.high,
                    known.p,
                    known.p_adjusted,
                    known.low_adjusted,
                    known.high_adjusted,
                    mean.n,
                    mean.clusters,
                ]
            named = (row.match.after, row.match.before, "; ".join(map(str, row.match.changes)), row.before, row.after)
            rows.append((*named, *tested, row.missing, str(row.reading)))
        return pd.DataFrame(rows, columns=columns.split())

    @cached_property
    def questions(self) -> pd.DataFrame:
        """A row for each configuration and question with another value, the largest changes first, with the cause of a miss in each run."""
        texts = dict(zip(self.after.questions["query_id"], self.after.questions["text"], strict=True))
        rows = []
        for match in self.matches:
            before, after = self.values(match)
            changed = np.flatnonzero(np.abs(np.nan_to_num(after - before)) > SAME)
            sides = self._before(loss_causes(self.before, match.before)), loss_causes(self.after, match.after)[self.members]
            for row in changed.tolist():
                name = self.query_ids[row]
                rows.append(
                    (name, texts[name], match.after, before[row], after[row], after[row] - before[row], sides[0][row], sides[1][row])
                )
        columns = ["query_id", "question", "configuration", "before", "after", "difference", "cause_before", "cause_after"]
        table = pd.DataFrame(rows, columns=columns)
        return table.sort_values("difference", key=np.abs, ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """Every configuration of either run: its place, mark and score in each, by the questions of that run. Missing where a run lacks it."""
        boards = [_board(one) for one in self.findings]
        pairs = [
            *((match.before, match.after) for match in self.matches),
            *(("", name) for name in self.added),
            *((name, "") for name in self.removed),
        ]
        unknown = (pd.NA, "", np.nan)
        rows = [(after or before, *boards[0].get(before, unknown), *boards[1].get(after, unknown)) for before, after in pairs]
        columns = ["configuration", "place_before", "mark_before", "score_before", "place", "mark", "score"]
        table = pd.DataFrame(rows, columns=columns).astype({"place_before": "Int64", "place": "Int64"})
        return table.sort_values(["place", "place_before"], kind="stable", ignore_index=True)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """The costs of each matched configuration in both runs; `differs` only if they are shown to differ, which times of one run rarely are."""
        rows = []
        for match in self.matches:
            sides = [
                (run, name, costs_of(run, standing_of(run, name))) for run, name in ((self.before, match.before), (self.after, match.after))
            ]
            for cost in COSTS:
                before, after = (amounts[cost] for _, _, amounts in sides)
                ranges = [
                    passes_of(timings_of(run, name), f"latency_question_{cost}")
                    if cost in TIMES
                    else CostRange(amounts[cost], amounts[cost])
                    for run, name, amounts in sides
                ]
                differs = not np.isnan(before + after) and separated(cost, *ranges)
                rows.append((match.after, cost, COSTS[cost].unit, before, after, differs))
        return pd.DataFrame(rows, columns=["configuration", "cost", "unit", "before", "after", "differs"])

    @cached_property
    def omitted(self) -> pd.DataFrame:
        """The questions that are not compared, each with the reason."""
        texts = {**_texts_by_id(self.before), **_texts_by_id(self.after)}
        return pd.DataFrame(
            [(name, texts[name], reason) for name, reason in self.left_out.items()], columns=["query_id", "question", "reason"]
        )

    def by_metric(self, before: str, after: str) -> pd.DataFrame:
        """Tabulate the difference of two configurations (after - before) by each metric of both runs, with its 95 % interval. Nothing is tested."""
        self.require_common_questions()
        match, rows = MatchedConfiguration(before, after), []
        for metric in (name for name in self.after.measures if name in self.before.measures):
            first, last = self.values(match, metric)
            if np.isnan(first + last).all():
                continue
            (mean,) = paired_differences(last[None], first[None], self.clusters)
            rows.append((metric, mean.value, mean.low, mean.high, mean.n, mean.clusters, mean.conditional))
        columns = ["metric", "difference", "low", "high", "n", "clusters", "conditional"]
        return pd.DataFrame(rows, columns=columns).set_index("metric")


def run_label(run: RunTables) -> str:
    """Name a run by its folder, or by its experiment if it has none."""
    return str(run.folder) if run.folder.name else run.name


def matched_configurations(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> tuple[MatchedConfiguration, ...]:
    """Match the configurations of two runs, each a mapping of names to settings: by equal settings, by name, then where a single setting differs.

    A configuration whose only change could be that from several others has no match.
    """
    left, partners = dict(before), dict[str, MatchedConfiguration]()
    by_settings = {fingerprint(settings): name for name, settings in before.items()}
    for name, settings in after.items():
        candidates = (name, by_settings.get(fingerprint(settings), name), *left)
        if (same := next((other for other in candidates if other in left and same_settings(left[other], settings)), None)) is not None:
            del left[same]
            partners[name] = MatchedConfiguration(same, name)
    for name in after:
        if name not in partners and name in left:
            partners[name] = MatchedConfiguration(name, name, setting_changes(left.pop(name), after[name]))
    rest = {name: settings for name, settings in after.items() if name not in partners}
    partners |= {match.after: match for match in _single_changes(left, rest)}
    return tuple(partners[name] for name in after if name in partners)


def _single_changes(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> list[MatchedConfiguration]:
    """Match configurations that differ in one setting, if neither has another such partner."""
    found: list[MatchedConfiguration] = []
    for stage in dict.fromkeys(stage for settings in (*before.values(), *after.values()) for stage in settings):
        groups: dict[str, list[str]] = defaultdict(list)
        for name, settings in before.items():
            groups[fingerprint({**settings, stage: None})].append(name)
        for name, settings in after.items():
            for other in groups.get(fingerprint({**settings, stage: None}), ()):
                changes = setting_changes(before[other], settings)
                found += [MatchedConfiguration(other, name, changes)] if len(changes) == 1 else []
    sides = [[match.before for match in found], [match.after for match in found]]
    return [match for match in found if sides[0].count(match.before) == 1 and sides[1].count(match.after) == 1]


def _texts(change: SettingChange) -> tuple[str, str, str]:
    return change.path, *change.texts


def _distinct(encoders: Mapping[str, Mapping[str, Any]]) -> str:
    """The backends and precisions of a run, in a few words."""
    return listed(sorted({" ".join(str(each[name]) for name in ("backend", "precision") if each.get(name)) for each in encoders.values()}))


def _board(one: Findings) -> dict[str, tuple[Any, str, float]]:
    """The place, the mark and the score of each finished configuration."""
    metric, order = str(one.primary), one.standings
    places = {standing.name: place for place, standing in enumerate(order.ranked, 1) if standing.means[metric].n}
    return {each.name: (places.get(each.name, pd.NA), one.mark(each.name), each.means[metric].value) for each in order.finished}


def _texts_by_id(run: RunTables) -> dict[str, str]:
    return dict(zip(run.questions["query_id"], run.questions["text"], strict=True))
