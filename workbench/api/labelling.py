"""Use labels that people wrote with `label`: measure their agreement, and make a dataset of them."""

from collections.abc import Sequence
from pathlib import Path

from workbench.api.arguments import require
from workbench.core.errors import InputError
from workbench.core.records import Dataset
from workbench.core.text.formatting import meant, plural
from workbench.people.labelling.agreement import LabelAgreement, agreement_of
from workbench.people.labelling.applying import AppliedLabels, apply_to
from workbench.people.labelling.checking import LabelChecker, read_label_files


def apply_labels(dataset: Dataset, *files: str | Path, adjudicator: str = "") -> AppliedLabels:
    """Make a dataset of a dataset and the labels that people wrote for it. The source stays as it is.

    If people label the same thing differently, the label of the `adjudicator` holds, else that of more than half of them. Without either,
    nothing is applied, and the conflict is listed. A dataset whose documents are only relevant or not stays so unless a label says partly
    relevant; then relevant documents have grade 2 and partly relevant ones grade 1. Synthetic questions that are refused are left out, and
    accepted or rewritten ones have the names of the people whose text holds: their newest rewrite, or the text that they accepted. Questions that
    people added come after those of the dataset.

    Parameters
    ----------
    dataset: the dataset that was labelled.
    files: the label files.
    adjudicator: the person whose labels hold where people disagree.

    Returns
    -------
    A value with the new `dataset`, the `conflicts`, the questions that are `left_out` with the reason, and `notes` on skipped lines.

    Raises
    ------
    InputError: a file does not exist or labels another dataset, or the adjudicator labelled nothing.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> session = wb.label(dataset, annotator="ann", file="labels/ann.jsonl").session
    >>> session.go_to(dataset.qrels[0].query_id)
    >>> session.judge(session.documents[0].doc_id, 2)
    >>> wb.apply_labels(dataset, "labels/ann.jsonl")  # doctest: +ELLIPSIS
    AppliedLabels(Dataset('handbook', ...), 0 conflicts, 0 questions left out)
    """
    require(dataset, Dataset, "dataset")
    checker = LabelChecker(dataset)
    labels, notes = read_label_files(checker, [Path(file) for file in files])
    return apply_to(checker.dataset, labels, adjudicator, notes)


def label_agreement(dataset: Dataset, files: str | Path | Sequence[str | Path], first: str = "", second: str = "") -> LabelAgreement:
    """Measure how far two people agree on what both labelled.

    Parameters
    ----------
    dataset: the dataset that was labelled.
    files: the label file that both wrote to, or the files.
    first, second: the names of the two people; not needed if the files have labels of two people.

    Returns
    -------
    A value with Cohen's `kappa` of the judgements, weighted by squared differences of grades, and the share with the `same` grade, each with a
    95 % interval over questions, the number of passages marked as evidence by both and by one, and the `disagreements` as a DataFrame.

    Raises
    ------
    InputError: a file does not exist or labels another dataset, or the two people have nothing in common.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> for name, grade in (("ann", 2), ("bob", 1)):
    ...     session = wb.label(dataset, annotator=name, file="labels/both.jsonl").session
    ...     session.go_to(dataset.qrels[0].query_id)
    ...     session.judge(session.documents[0].doc_id, grade)
    >>> wb.label_agreement(dataset, "labels/both.jsonl").disagreements[["first", "second"]].values.tolist()
    [['relevant', 'partly relevant']]
    """
    require(dataset, Dataset, "dataset")
    checker = LabelChecker(dataset)
    paths = [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]
    labels, _ = read_label_files(checker, paths)
    names = [first, second] if first or second else list(labels)
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(
            f"the labels are of {plural(len(labels), 'person', 'people')} ({', '.join(labels) or 'nobody'})",
            "name two of them: first, second",
        )
    for name in names:
        if name not in labels:
            raise InputError(f"{name!r} has labelled nothing{meant(name, labels)}", f"the labels are of {', '.join(labels) or 'nobody'}")
    return agreement_of(labels[names[0]], labels[names[1]], checker.scale)
