"""Open the labeller: `workbench.label`."""

import getpass
from pathlib import Path

from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.errors import InputError
from workbench.guessed_names import checked_names
from workbench.labelling.actions import labels_by_annotator
from workbench.labelling.applying import judged_dataset
from workbench.labelling.checking import LabelChecker
from workbench.labelling.label_file import LabelFile
from workbench.labelling.pooling import document_rankings, pool_of_run, pool_of_search
from workbench.labelling.priority import queue, queue_without_run
from workbench.labelling.session import LabellingSession, LabellingTask
from workbench.records import Dataset
from workbench.widgets.labeller.widget import Labeller

_MOST_K = 1000


@checked_names
def label(
    dataset: Dataset,
    results: Results | str | Path | None = None,
    *,
    annotator: str = "",
    file: str | Path = "",
    k: int = 10,
    again: bool = False,
) -> Labeller:
    """Label a dataset in a notebook: judge documents, mark evidence, write answers, accept, rewrite or refuse questions.

    Every label is appended to `file` at once, with the annotator and the time. The same call finds all labels again. Several people can write
    to one file, or each to their own. Questions whose labels can change the comparison of the leading configurations most come first.

    Parameters
    ----------
    dataset: the dataset; load it with `unlabelled=True` if its questions have no labels yet.
    results: a run on the dataset, or its folder. Its configurations provide the documents to judge: the first `k` of each, in an order that hides which of
        them found a document. Without results, BM25 provides them.
    annotator: the name of the person who labels, by default that of the login.
    file: the label file, by default `labels/<dataset>.jsonl`.
    k: how many documents of each configuration are judged.
    again: also judge the documents that the dataset judges, without seeing how.

    Raises
    ------
    InputError: the file cannot be written or labels another dataset, or the run has other questions.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> labeller = wb.label(dataset, annotator="ann", file="labels/new.jsonl")
    >>> labeller.session.progress(dataset.qrels[0].query_id)[1] >= 10
    True
    >>> labeller.labels.empty
    True
    """
    require(dataset, Dataset, "dataset")
    require(annotator, str, "annotator")
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= _MOST_K:
        raise InputError(f"k is {k!r}", f"give a whole number from 1 to {_MOST_K:,}")
    if not dataset.queries:
        raise InputError(f"the dataset {dataset.name} has no questions", "add questions, or generate them with workbench dataset generate")
    run = None if results is None else opened(results, "results")
    checker = LabelChecker(dataset)
    labels = LabelFile.begin(Path(file or f"labels/{dataset.name}.jsonl"), checker.header)
    if run is None:
        pool, order = pool_of_search(dataset, k), queue_without_run(dataset)
    else:
        asked = set(run.tables.questions["query_id"])
        if unknown := [query.query_id for query in dataset.queries if query.query_id not in asked]:
            raise InputError(f"the run {run.name} has no question {unknown[0]!r}", "load the dataset and split that were swept")
        rankings = document_rankings(run.tables, run.folder)
        pool = pool_of_run(dataset, run.tables, rankings, k)
        order = queue(judged_dataset(dataset, labels_by_annotator(checker.checked(labels)[0])), run.tables, rankings)
    return Labeller(LabellingSession(LabellingTask(dataset, pool, order, again), checker, labels, annotator or _login()))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("the login has no name", 'write your name: annotator="ann"') from None
