"""Label claims and answers in a notebook: a thin layer between a session and its view in the browser."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.api.arguments import require
from workbench.api.results import Results, opened
from workbench.api.widgets.labelling_panel import FOLDER, LabellingPane, LabellingPanel, joined
from workbench.core.environment import login
from workbench.core.errors import InputError
from workbench.core.text.display import table_html
from workbench.core.text.formatting import listed, meant
from workbench.people.labelling.answer_labelling import AnswerLabelling
from workbench.report.analysis.labels import METRICS_OF
from workbench.report.results.judge_labels import LABELS_FILE

_SCRIPTS = (
    *(FOLDER / f"labeller_{name}.js" for name in ("parts", "connection", "opening")),
    Path(__file__).with_name("answer_labeller.js"),
)
_ASKED = {
    "support": "Do the passages say what the claim says, the contrary, or nothing?",
    "correctness": "Does the answer agree with the expected answer?",
    "answer_relevance": "Does the answer answer the question?",
}
_MOST_QUESTIONS = 100_000


class AnswerLabellerPane(LabellingPane):
    """The pane of the labeller of claims and answers."""

    _esm = joined(*_SCRIPTS)


class AnswerLabeller(LabellingPanel):
    """The labeller of claims and answers, as `label_answers` returns it. `session` does everything without a screen."""

    _writing = ("label", "undo")

    def __init__(self, session: AnswerLabelling, folder: Path) -> None:
        self.session = session
        self._folder = folder
        super().__init__("Labels are saved at once.")

    def _new_pane(self) -> AnswerLabellerPane:
        return AnswerLabellerPane(state=self.state)

    def act(self, content: Mapping[str, Any]) -> None:
        """Do what a message of the view asks for. One from an earlier drawing is ignored: its item is no longer shown."""
        if content.get("drawing", self._drawings) == self._drawings:
            super().act(content)
            return
        self._draw(f"Ignored: a key that was pressed before this item was shown. {self.session.progress}.", True)
        self.pane.state = self.state

    def _do(self, content: Mapping[str, Any]) -> str:
        session, kind = self.session, content["kind"]
        if kind == "label":
            session.label("" if session.line.label == content["label"] else content["label"])
        undone = session.undo() if kind == "undo" else None
        if kind in ("previous", "next", "go", "open"):
            session.refresh()
            places = {"previous": session.place - 1, "next": session.place + 1, "go": int(content.get("place") or 0)}
            session.go(places[kind]) if kind in places else session.go_to_open()
        if kind == "undo" and undone is None:
            return "There is nothing to undo."
        return f"Saved: {session.progress}." if kind in self._writing else ""

    def _drawn(self, message: str, error: bool) -> dict[str, Any]:
        session, line = self.session, self.session.line
        return {
            "place": session.place,
            "total": len(session.lines),
            "labelled": sum(bool(item.label) for item in session.lines),
            "progress": session.progress,
            "file": f"labels of {session.annotator} in {session.path}",
            "asked": _ASKED[session.task],
            "question": line.question,
            "claim": line.claim,
            "expected": line.expected,
            "answer": line.answer,
            "passages": list(line.passages),
            "labels": list(session.labels),
            "label": line.label,
            "by": line.annotator if line.label else "",
            "undoable": session.undoable,
            "message": message,
            "error": error,
        }

    def __repr__(self) -> str:
        return f"AnswerLabeller({str(self.session.path)!r}, {self.session.progress})"

    @property
    def static_html(self) -> str:
        """The numbers of labels so far, which a saved notebook shows without a kernel."""
        counts = Counter(line.label for line in self.session.lines)
        rows = [{"label": label or "without a label", "items": counts[label]} for label in (*self.session.labels, "") if counts[label]]
        note = f"Run the cell to go on. When you have labelled: workbench judge calibrate {self._folder}"
        return table_html(f"{self.session.progress} for {self.session.task}, in {self.session.path}", rows, note)


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
    workbench.core.errors.InputError: the run sizes has no judged claims under retrieved; add `judging` to the experiment and run workbench sweep, or name another --condition or --task
    """
    run = opened(results, "results")
    require(annotator, str, "annotator")
    if task not in METRICS_OF:
        raise InputError(f"there is no task {task!r}{meant(str(task), METRICS_OF)}", f"choose one of {listed(list(METRICS_OF))}")
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= _MOST_QUESTIONS:
        raise InputError(f"number is {number!r}", f"give a whole number from 1 to {_MOST_QUESTIONS:,}")
    path = Path(file) if file else run.folder / LABELS_FILE
    return AnswerLabeller(AnswerLabelling(run, path, annotator or login(), task, number, condition), run.folder)
