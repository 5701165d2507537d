"""Open the labeller of claims and answers: `workbench.label_answers`."""

from pathlib import Path

from workbench.analysis.judging.labels import METRICS_OF
from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.core.environment import login
from workbench.core.formatting import listed, meant
from workbench.errors import InputError
from workbench.labelling.answer_labelling import AnswerLabelling
from workbench.results.judge_labels import LABELS_FILE
from workbench.widgets.answer_labeller.widget import AnswerLabeller

_MOST = 100_000


def label_answers(
    results: Results | str | Path,
    *,
    task: str = "support",
    annotator: str = "",
    file: str | Path = "",
    number: int = 60,
    condition: str = "retrieved",
) -> AnswerLabeller:
    """Label claims or answers of a run in a notebook, to calibrate its judges: one item at a time, without what the judge says.

    The items are drawn as `workbench judge sample` draws them, and every label is saved at once in the file that `workbench judge calibrate`
    reads. The same call goes on with the file.

    Parameters
    ----------
    results: a run with judges, or its folder.
    task: `support` labels claims as supported, contradicted or absent, `correctness` and `answer_relevance` answers as yes or no.
    annotator: the name of the person who labels, by default that of the login.
    file: the file of labels, by default `judge_labels.jsonl` in the folder of the run. A second person needs another file.
    number: the random questions of each configuration.
    condition: the condition of the contexts.

    Raises
    ------
    InputError: the run has no such items, the file cannot be read or written, or it has labels of another draw.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.label_answers("outputs/sizes")
    Traceback (most recent call last):
    workbench.errors.InputError: the run sizes has no judged claims under retrieved; add `judging` to the experiment and run workbench sweep, or name another --condition or --task
    """
    run = opened(results, "results")
    require(annotator, str, "annotator")
    if task not in METRICS_OF:
        raise InputError(f"there is no task {task!r}{meant(str(task), METRICS_OF)}", f"choose one of {listed(list(METRICS_OF))}")
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= _MOST:
        raise InputError(f"number is {number!r}", f"give a whole number from 1 to {_MOST:,}")
    path = Path(file) if file else run.folder / LABELS_FILE
    return AnswerLabeller(AnswerLabelling(run.tables, path, annotator or login(), task, number, condition), run.folder)
