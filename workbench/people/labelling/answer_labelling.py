"""A person labelling claims or answers of a run, in the file that `workbench judge calibrate` reads. No screen is needed."""

from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from workbench.core.errors import InputError, StoreError
from workbench.core.text.formatting import plural
from workbench.measures.statistics.samples import EACH_CLASS
from workbench.report.analysis.labels import lines_to_label
from workbench.report.results.judge_labels import LabelLine, labels_of, merged, read_labels, write_labels
from workbench.report.results.run_tables import RunTables

# A writer holds the lock for milliseconds.
_PATIENCE = 20.0


class AnswerLabelling:
    """The items of a run to label for a task, one in hand. A label is on disk before the method returns, and no line is ever lost.

    Items are drawn as by `workbench judge sample`; a file that it wrote is continued with its draw. The file is written with the first label.
    Raises InputError for a label that does not fit, and if the file cannot be read or written.
    """

    def __init__(
        self, run: RunTables, path: Path, annotator: str, task: str = "support", number: int = 60, condition: str = "retrieved"
    ) -> None:
        if not annotator.strip():
            raise InputError("the annotator has no name", 'write your name: annotator="ann"')
        self.path, self.annotator, self.task, self.labels = path, annotator.strip(), task, labels_of(task)
        before = [line for line in self._read() if line.task == task and line.number]
        seed, each_class = (before[0].seed, before[0].each_class) if before else (0, EACH_CLASS)
        self._drawn = lines_to_label(run, task, condition, max([number, *(line.number for line in before)]), seed, each_class)
        self._done: list[LabelLine] = []
        self.refresh()
        # The number of the item in hand, from 0.
        self.place = self._next_open(-1) or 0

    @property
    def line(self) -> LabelLine:
        """Return the item in hand."""
        return self.lines[self.place]

    @property
    def undoable(self) -> bool:
        """True if a label of this session can be taken back."""
        return bool(self._done)

    @property
    def progress(self) -> str:
        """Say how many items are labelled."""
        return f"{sum(bool(line.label) for line in self.lines)} of {plural(len(self.lines), 'item')} labelled"

    def refresh(self) -> None:
        self.lines = [line for line in merged(self._read(), self._drawn) if line.task == self.task]

    def label(self, label: str) -> None:
        """Label the item in hand and go to the next one without a label, or remove the label with an empty text."""
        if label and label not in self.labels:
            raise InputError(f"there is no label {label!r}", f"choose one of {', '.join(self.labels)}")
        before = self._write(replace(self.line, label=label, annotator=self.annotator if label else ""))
        self._done.append(before)
        if label:
            self.go_to_open()

    def undo(self) -> LabelLine | None:
        """Take back the latest label of this session and go to its item. None without one."""
        if not self._done:
            return None
        before = self._done[-1]
        self._write(before)
        self._done.pop()
        self.place = next(place for place, line in enumerate(self.lines) if line.item_id == before.item_id)
        return before

    def go(self, place: int) -> None:
        """Go to the item with this number, from 0, or to the first or last."""
        self.place = max(0, min(place, len(self.lines) - 1))

    def go_to_open(self) -> None:
        """Go to the next item without a label, after this one or else from the first. Stay without one."""
        found = (self._next_open(self.place), self._next_open(-1))
        self.place = next((place for place in found if place is not None), self.place)

    def _next_open(self, after: int) -> int | None:
        return next((place for place in range(after + 1, len(self.lines)) if not self.lines[place].label), None)

    def _read(self) -> list[LabelLine]:
        return read_labels(self.path) if self.path.exists() else []

    def _write(self, changed: LabelLine) -> LabelLine:
        """Write a line in place of that with its id, and return that one. All others stay as they are in the file now."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=_PATIENCE):
                lines = merged(self._read(), self._drawn)
                before = next(line for line in lines if (line.item_id, line.task) == (changed.item_id, self.task))
                if before.label and before.annotator != self.annotator:
                    raise InputError(f"{before.annotator or 'somebody'} has labelled this item", "name a file of your own to label it too")
                write_labels(self.path, [changed if line is before else line for line in lines])
        except Timeout:
            raise StoreError(f"{self.path} is locked by another process", "close the notebook that hangs, and label again") from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be written ({error.strerror or error})", "name another file") from error
        self.refresh()
        return before
