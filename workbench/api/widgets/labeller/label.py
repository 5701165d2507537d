"""Open the labeller: `workbench.label`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.api.widgets.labeller.widget import Labeller
from workbench.core.environment import login
from workbench.core.errors import InputError
from workbench.core.records import Dataset
from workbench.core.text.guessed_names import checked_names
from workbench.people.labelling.applying import judged_dataset
from workbench.people.labelling.checking import LabelChecker
from workbench.people.labelling.label_file import AnnotatorLabels, LabelFile, labels_by_annotator
from workbench.people.labelling.pooling import CandidateSearch, LabelPool, document_rankings, joined_pools, pool_of_run
from workbench.people.labelling.priority import QueuedQuestion, queue, queue_without_run
from workbench.people.labelling.session import LabellingSession, LabellingTask

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
    """Label a dataset in a notebook: judge documents, mark evidence, write answers, accept, rewrite, refuse or add questions.

    Every label is appended to `file` at once, with the annotator and the time. The same call finds all labels again. Several people can write
    to one file, or each to their own. Questions whose labels can change the comparison of the leading configurations most come first.

    Parameters
    ----------
    dataset: the dataset; load it with `unlabelled=True` if its questions have no labels yet. It may have no questions.
    results: a run on the dataset, or its folder. Its configurations provide the documents to judge: the first `k` of each, in an order that hides which of
        them found a document. A search by rare words provides them without results, for questions that the run did not ask, and of documents that it lacked.
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
    run = None if results is None else opened(results, "results")
    checker = LabelChecker(dataset)
    labels = LabelFile.begin(Path(file or f"labels/{dataset.name}.jsonl"), checker.header)
    checker.add_questions(labels.actions)
    whole, search = checker.dataset, CandidateSearch(dataset.corpus, k)
    if run is None:
        pool, order = search.pool(whole), queue_without_run(whole)
    else:
        pool, order = _of_run(whole, labels_by_annotator(checker.checked(labels)[0]), run, search)
    return Labeller(LabellingSession(LabellingTask(dataset, pool, order, search, again), checker, labels, annotator or login()))


def _of_run(
    dataset: Dataset, labels: Mapping[str, AnnotatorLabels], run: Results, search: CandidateSearch
) -> tuple[LabelPool, tuple[QueuedQuestion, ...]]:
    """Return the pools and the order of the questions: first those of the run. A search finds what is newer than the run."""
    swept, found = set(run.questions["query_id"]), set(run.table("documents")["doc_id"])
    asked = [query.query_id for query in dataset.queries if query.query_id in swept]
    later = [query.query_id for query in dataset.queries if query.query_id not in swept]
    if dataset.queries and not asked:
        raise InputError(f"the run {run.name} has no question {later[0]!r}", "load the dataset and split that were swept")
    rankings = document_rankings(run, run.folder)
    old, new = dataset.subset(asked), dataset.subset(later)
    pool, order = pool_of_run(old, run, rankings, search.k), queue(judged_dataset(old, labels), run, rankings)
    joined = [document for document in dataset.corpus if document.doc_id not in found] if found else []
    if joined:
        # The judgements of the dataset are in the pool of the run.
        pool = joined_pools(pool, CandidateSearch(joined, search.k).pool(replace(old, qrels=(), needs=())))
    newer = [replace(each, reason=f"it is newer than the run; {each.reason}") for each in queue_without_run(new)]
    return joined_pools(pool, search.pool(new)), (*order, *newer)
