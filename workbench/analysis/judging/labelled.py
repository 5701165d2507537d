"""Join labels with the judged items of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workbench.analysis.judging.items import judged_items, label_of, verdict_of
from workbench.analysis.judging.sample import drawn_items
from workbench.analysis.values import clusters, places
from workbench.metrics.coverage import Floats
from workbench.results.judge_labels import LabelLine
from workbench.results.run_tables import RunTables
from workbench.statistics.judging.items import LabelledItems


@dataclass(frozen=True, eq=False)
class LabelledRun:
    """The judged items of a task and condition with their labels.

    `items` are those of `judged_items` with `label` (empty without one) and `second` (the label of another person, empty without one), `at_random` and
    `drawn`. `elsewhere` are labelled lines that are no items of this run.
    """

    run: RunTables
    task: str
    condition: str
    items: pd.DataFrame
    elsewhere: tuple[LabelLine, ...]

    @property
    def labelled(self) -> pd.DataFrame:
        """The items with a label."""
        return self.items[self.items["label"] != ""]

    @property
    def configurations(self) -> tuple[str, ...]:
        """The configurations with judged items, in the order of the run."""
        present = set(self.items["configuration"])
        return tuple(name for name in self.run.names if name in present)

    def of(self, configuration: str, metric: str) -> LabelledItems:
        """Return the items of a configuration for a metric, with the labels of drawn items."""
        rows = self.items[self.items["configuration"] == configuration]
        label = np.asarray(label_of(rows["label"].where(rows["drawn"], ""), metric), dtype=np.float64)
        query = places(self.run, rows["query_id"]).astype(np.int64)
        observed = clusters(self.run)
        weight = item_weights(rows)
        if observed.equal:
            present = np.unique(query)
            sizes = np.bincount(observed.codes[present], minlength=int(observed.codes.max()) + 1)
            weight *= len(present) / np.count_nonzero(sizes) / sizes[observed.codes[query]]
        judged = np.asarray(verdict_of(rows, metric), dtype=np.float64)
        return LabelledItems(query, weight, judged, label, rows["at_random"].to_numpy(np.bool_), replace(observed, equal=False))


def item_weights(rows: pd.DataFrame) -> Floats:
    """The weight of each item of a configuration in the mean over questions: repeats of a question count equally, and items of a repeat."""
    repeats = rows.groupby("query_id")["repeat"].transform("nunique")
    items = rows.groupby(["query_id", "repeat"])["item_id"].transform("size")
    return np.asarray(1 / (repeats * items), dtype=np.float64)


def labelled_run(run: RunTables, task: str, condition: str, lines: Sequence[LabelLine]) -> LabelledRun:
    """Join lines with the items of a run. Of several labels of an item the most frequent counts, among equally frequent ones the first."""
    items = judged_items(run, task, condition)
    own = [line for line in lines if line.task == task and line.label]
    known = set(items["item_id"])
    given: dict[str, list[str]] = {}
    for line in own:
        given.setdefault(line.item_id, []).append(line.label)
    label = [max(given.get(item_id, [""]), key=given.get(item_id, [""]).count) for item_id in items["item_id"]]
    second = [given[item_id][1] if len(given.get(item_id, [])) > 1 else "" for item_id in items["item_id"]]
    first = [given[item_id][0] if len(given.get(item_id, [])) > 1 else "" for item_id in items["item_id"]]
    at_random, drawn = _draws(items, [line for line in own if line.item_id in known])
    joined = items.assign(label=label, first=first, second=second)
    joined = joined.assign(at_random=joined["item_id"].isin(at_random), drawn=joined["item_id"].isin(drawn))
    return LabelledRun(run, task, condition, joined, tuple(line for line in own if line.item_id not in known))


def _draws(items: pd.DataFrame, lines: Sequence[LabelLine]) -> tuple[set[str], set[str]]:
    """The items that the lines' draw drew at random, and all that it drew. Lines without a draw are not a random sample."""
    seeds = [line.seed for line in lines if line.number]
    if not seeds:
        return set(), set()
    number, each_class = max(line.number for line in lines), max(line.each_class for line in lines)
    drawn = drawn_items(items, number, seeds[0], each_class).values()
    at_random = {item_id for each in drawn for item_id in each.at_random}
    return at_random, at_random | {item_id for each in drawn for item_id in each.by_class}
