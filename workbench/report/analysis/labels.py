"""The judged claims or answers of a run as items: drawn for labelling, and joined with their labels."""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.memo import memoised
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.registry import METRICS
from workbench.measures.statistics.judge_corrections import LabelledItems
from workbench.measures.statistics.samples import EACH_CLASS, DrawableItem, draw, shuffled
from workbench.report.analysis.passages import text_of
from workbench.report.analysis.values import clusters, places
from workbench.report.results.judge_labels import LabelLine
from workbench.report.results.run_tables import RunTables

# What can be labelled, with the metrics that labels correct.
LabelTask = Literal["support", "correctness", "answer_relevance"]
METRICS_OF: dict[str, tuple[str, ...]] = {
    task: tuple(metric.name for metric in METRICS.builtin.values() if metric.tasks == (task,)) for task in get_args(LabelTask)
}
# A score of at least this counts as a yes.
YES = 0.5
_ANSWER_KEYS = ["configuration", "condition", "variant", "repeat", "query_id"]


@memoised(8)
def judged_items(run: RunTables, task: str, condition: str) -> pd.DataFrame:
    """Return item_id, configuration, condition, repeat, query_id, number, claim, answer, score, verdict, confidence, passage, judge and `yes`.

    Rows are claims for `support`, else answers. `yes` is 1 or 0, NaN if the judge gave no verdict: `supported`, or a score of at least 0.5 of a judge
    that only scores. Answers that were not judged have no row. Callers must not change the table.

    Raises
    ------
    InputError
        If the run has no such items.
    """
    rows = _judged_rows(run, task, condition)
    return rows.drop(columns="passages").assign(item_id=_item_ids(rows, task, condition, rows["configuration"]))


def _judged_rows(run: RunTables, task: str, condition: str) -> pd.DataFrame:
    if task == "support":
        rows = run.claims[run.claims["number"] >= 0]
    else:
        rows = run.answer_judgements[(run.answer_judgements["task"] == task) & (run.answer_judgements["passage"] == -1)]
        rows = rows.assign(number=-1, claim="", verdict="", confidence=np.nan)
    rows = rows[[*_ANSWER_KEYS, "number", "claim", "score", "verdict", "confidence", "passage", "judge"]]
    rows = rows[(rows["condition"] == condition) & (rows["variant"] == "")]
    if rows.empty:
        judged = "claims" if task == "support" else f"answers with {task}"
        fix = "add `judging` to the experiment and run workbench sweep, or name another --condition or --task"
        raise InputError(f"the run {run.name} has no judged {judged} under {condition}", fix)
    answers = run.answers[[*_ANSWER_KEYS, "answer", "passages"]]
    rows = rows.merge(answers, how="left", on=_ANSWER_KEYS).reset_index(drop=True)
    # A judge that gives verdicts for some claims only scores none of the others.
    if (rows["verdict"] != "").any():
        yes = (rows["verdict"] == "supported").astype(np.float64).mask(rows["verdict"] == "")
    else:
        yes = (rows["score"] >= YES).astype(np.float64).mask(rows["score"].isna())
    return rows.assign(yes=yes)


def _item_ids(rows: pd.DataFrame, task: str, condition: str, configurations: Iterable[str]) -> list[str]:
    """Return the id of each item of configurations with these names."""
    names = [rows[name].astype(str) for name in ("query_id", "repeat", "number", "claim", "answer", "passages")]
    # Texts and passages are part of the id, so that a label belongs to no other text and no other context.
    return [fingerprint(task, condition, *parts)[:16] for parts in zip(map(str, configurations), *names, strict=True)]


def lines_of_run(run: RunTables, task: str, condition: str, lines: Sequence[LabelLine]) -> list[LabelLine]:
    """Return the lines of a task. Those that were drawn when their configuration had another name get its present name and ids.

    A configuration with equal settings has equal answers and contexts, so the former ids of its items are known.
    """
    items, rows = judged_items(run, task, condition), _judged_rows(run, task, condition)
    own, known, renamed = [line for line in lines if line.task == task], set(items["item_id"]), dict[str, LabelLine]()
    strange = [line for line in own if line.item_id not in known]
    for name in dict.fromkeys(line.configuration for line in strange):
        former = items.assign(former=_item_ids(rows, task, condition, itertools.repeat(name, len(rows))))
        shared = former[former["former"].isin([line.item_id for line in strange])]
        # Several configurations can give an answer.
        for present in shared["configuration"].mode()[:1]:
            ids = dict(shared.loc[shared["configuration"] == present, ["former", "item_id"]].itertuples(index=False))
            renamed |= {
                line.item_id: replace(line, item_id=ids[line.item_id], configuration=present) for line in strange if line.item_id in ids
            }
    return [renamed.get(line.item_id, line) for line in own]


def judge_of(run: RunTables, task: str) -> str:
    """Return the name of the judge of a task, empty without one."""
    table = run.claims if task == "support" else run.answer_judgements[run.answer_judgements["task"] == task]
    names = [name for name in table["judge"].unique().tolist() if name]
    return str(names[0]) if names else ""


def verdict_of(items: pd.DataFrame, metric: str) -> "pd.Series[float]":
    """Return the judge's verdict on a metric of each item: 1, 0 or NaN. A judge that only scores sees no contradictions."""
    if metric != "contradiction_rate":
        return items["yes"]
    if (items["verdict"] == "").all():
        return 1 - items["yes"]
    return (items["verdict"] == "contradicted").astype(np.float64).mask(items["verdict"] == "")


def passages_shown(run: RunTables, condition: str) -> dict[tuple[str, int, str], tuple[str, ...]]:
    """Return the texts of the context of each answer, by configuration, repeat and question."""

    def text(passage: dict[str, Any]) -> str:
        return passage["text"] if "text" in passage else text_of(run, passage["doc_id"], int(passage["start"]), int(passage["end"]))

    rows = run.answers[(run.answers["condition"] == condition) & (run.answers["variant"] == "")]
    keys = zip(rows["configuration"].tolist(), rows["repeat"].tolist(), rows["query_id"].tolist(), strict=True)
    return {key: tuple(map(text, json.loads(each))) for key, each in zip(keys, rows["passages"].tolist(), strict=True)}


def drawn_items(items: pd.DataFrame, number: int, seed: int, each_class: int = EACH_CLASS) -> dict[str, tuple[list[str], list[str]]]:
    """Draw items of each configuration, on the same questions as far as all have items for them."""
    drawn = {}
    for name, rows in items.groupby("configuration", sort=False):
        classes = np.where(rows["yes"].isna(), 2, rows["yes"]).astype(int).tolist()
        columns = (rows["item_id"].tolist(), rows["query_id"].tolist(), rows["repeat"].tolist(), classes, rows["claim"].tolist())
        drawable = [DrawableItem(*values) for values in zip(*columns, strict=True)]
        drawn[str(name)] = draw(drawable, number, seed, each_class)
    return drawn


def lines_to_label(run: RunTables, task: str, condition: str, number: int, seed: int, each_class: int = EACH_CLASS) -> list[LabelLine]:
    """Return the drawn items as lines of a file of labels, in random order."""
    items = judged_items(run, task, condition)
    drawn = drawn_items(items, number, seed, each_class)
    chosen = shuffled([item_id for each in drawn.values() for items in each for item_id in items], seed)
    questions = run.questions.set_index("query_id")
    passages = passages_shown(run, condition) if task == "support" else {}
    rows = {str(row["item_id"]): row for row in items.to_dict("records")}
    lines = []
    for item_id in chosen:
        row = rows[item_id]
        configuration, query_id = str(row["configuration"]), str(row["query_id"])
        question = questions.loc[query_id]
        expected = str(question["answer"]) if task == "correctness" else ""
        texts = (str(question["text"]), str(row["answer"]), str(row["claim"]), expected)
        context = passages.get((configuration, int(row["repeat"]), query_id), ())
        keys = (item_id, task, configuration, condition, query_id)
        lines.append(LabelLine(*keys, *texts, context, seed=seed, number=number, each_class=each_class))
    return lines


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
        given = rows["label"].where(rows["drawn"], "")
        wanted = {"faithfulness": "supported", "contradiction_rate": "contradicted"}.get(metric, "yes")
        label = np.asarray((given == wanted).astype(np.float64).mask(given == ""), dtype=np.float64)
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
    own = [line for line in lines_of_run(run, task, condition, lines) if line.label]
    known = set(items["item_id"])
    given: dict[str, list[str]] = {}
    for line in own:
        given.setdefault(line.item_id, []).append(line.label)
    label = [max(given.get(item_id, [""]), key=given.get(item_id, [""]).count) for item_id in items["item_id"]]
    second = [given[item_id][1] if len(given.get(item_id, [])) > 1 else "" for item_id in items["item_id"]]
    first = [given[item_id][0] if len(given.get(item_id, [])) > 1 else "" for item_id in items["item_id"]]
    # Lines without a draw are not a random sample.
    inside = [line for line in own if line.item_id in known]
    seeds = [line.seed for line in inside if line.number]
    number, each_class = max((line.number for line in inside), default=0), max((line.each_class for line in inside), default=0)
    draws = drawn_items(items, number, seeds[0], each_class).values() if seeds else ()
    at_random = {item_id for first, _ in draws for item_id in first}
    drawn = at_random | {item_id for _, added in draws for item_id in added}
    joined = items.assign(label=label, first=first, second=second)
    joined = joined.assign(at_random=joined["item_id"].isin(at_random), drawn=joined["item_id"].isin(drawn))
    return LabelledRun(run, task, condition, joined, tuple(line for line in own if line.item_id not in known))
