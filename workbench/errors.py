"""Every error that Workbench raises on purpose.

WorkbenchError             exit 3, what happened; the fix
├── InputError             exit 2, the input is wrong
│   ├── FaultsError        all that is wrong with one thing, in one report
│   │   ├── ExperimentError    the experiment file
│   │   └── DatasetError       documents, questions, labels
│   └── ModelError         a model or a vocabulary that cannot be had
└── RunError               exit 3, it broke while running; what was done is kept
    ├── StoreError         the store is corrupt or cannot be written
    ├── IndexBuildError    a Chroma index that does not pass its audit
    ├── NotebookError      a notebook that did not run to its end
    └── WorkerError        a worker that is lost, or cannot do its part
"""

from collections.abc import Sequence
from typing import Any


class WorkbenchError(Exception):
    """What happened and where, and the fix, as one line."""

    exit_code = 3

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what}; {fix}" if fix else what)
        self.what = what
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs to raise it again."""
        return type(self), (self.what, self.fix)

    @property
    def lines(self) -> list[str]:
        """The error as a person reads it: one line a fault, no traceback."""
        return [" ".join(str(self).split())]


class InputError(WorkbenchError):
    """What was given is wrong: a file, a key, a value."""

    exit_code = 2


class FaultsError(InputError):
    """Everything that is wrong with one file or folder, in one report: `faults` in `where`."""

    def __init__(self, where: str, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.where = where
        self.faults = tuple(faults)

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs to raise it again."""
        return type(self), (self.where, self.faults)

    @property
    def lines(self) -> list[str]:
        """One line a fault."""
        return [" ".join(f"{fault} in {self.where}".split()) for fault in self.faults]


class ExperimentError(FaultsError):
    """Everything that is wrong with an experiment file."""


class DatasetError(FaultsError):
    """Documents, questions or labels that do not hold together."""


class ModelError(InputError):
    """A model or vocabulary that cannot be found or is not what it should be."""


class RunError(WorkbenchError):
    """Something broke while running; what was finished is kept."""


class StoreError(RunError):
    """The store is corrupt, locked or cannot be written."""


class IndexBuildError(RunError):
    """A Chroma index could not be built or does not hold what it should."""


class NotebookError(RunError):
    """A notebook did not run to its end."""


class WorkerError(RunError):
    """A worker, or all of them, that was lost or cannot do its part of a sweep."""
