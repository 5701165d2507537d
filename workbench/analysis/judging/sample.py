"""Items of a run to be labelled, drawn at random and without the judge's verdict."""

import numpy as np
import pandas as pd

from workbench.analysis.judging.items import judged_items, passages_shown
from workbench.results.judge_labels import LabelLine
from workbench.results.run_tables import RunTables
from workbench.statistics.judging.drawing import EACH_CLASS, DrawableItem, DrawnItems, draw, shuffled


def drawn_items(items: pd.DataFrame, number: int, seed: int, each_class: int = EACH_CLASS) -> dict[str, DrawnItems]:
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
    chosen = shuffled([item_id for each in drawn.values() for item_id in (*each.at_random, *each.by_class)], seed)
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
        place = (item_id, task, configuration, condition, query_id)
        lines.append(LabelLine(*place, *texts, context, seed=seed, number=number, each_class=each_class))
    return lines
