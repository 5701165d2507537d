"""Every error that Workbench raises on purpose.

WorkbenchError             exit 3, the problem and its fix
├── InputError             exit 2, the input is wrong
│   ├── FaultsError        every fault of one file or folder, in one report
│   │   ├── ExperimentError    the experiment file
│   │   └── DatasetError       documents, questions, labels
│   └── ModelError         a model, a vocabulary or a package that is not available
├── LawError               exit 3, also an AssertionError: a component that breaks a law of workbench.testing
└── RunError               exit 3, a failure while running; finished results are kept
    ├── StoreError         the store is corrupt or cannot be written
    ├── IndexBuildError    a Chroma index that does not pass its audit
    ├── NotebookError      a notebook that did not run to its end
    └── WorkerError        a worker that is lost or cannot take part
"""

from collections.abc import Sequence

from workbench.core.text.printable import printable


def error_line(error: BaseException) -> str:
    """Format an error of any kind as one line."""
    line = "; ".join(error.lines) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
    return " ".join(printable(line).split())


def is_panic(error: BaseException) -> bool:
    """Return True if a library written in Rust panicked. Its error is no Exception, and no module has its class, so that it has to be caught by name."""
    return type(error).__name__ == "PanicException"


class WorkbenchError(Exception):
    """An error whose message gives, on one line, what happened, where, and the fix."""

    exit_code = 3

    def __init__(self, what: str, fix: str = "") -> None:
        # Messages repeat names of files and answers of servers.
        self.what = printable(what)
        self.fix = printable(fix)
        # Another process unpickles the error from these arguments.
        super().__init__(self.what, self.fix)

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what

    @property
    def lines(self) -> list[str]:
        """Return the error as lines for people, without a traceback."""
        return [" ".join(str(self).split())]

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in place of a traceback, as on the command line."""
        return [f"{type(self).__name__}: {line}" for line in self.lines]


class InputError(WorkbenchError):
    """An invalid input: a file, a key or a value."""

    exit_code = 2


class FaultsError(InputError):
    """All faults of one file or folder in a single report: `faults` in `source`."""

    def __init__(self, source: str, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.source = printable(source)
        self.faults = tuple(map(printable, faults))
        self.args = (self.source, self.faults)

    @property
    def lines(self) -> list[str]:
        """Return one line for each fault."""
        return [" ".join(f"{self.source}: {fault}".split()) for fault in self.faults]


class ExperimentError(FaultsError):
    """Every fault of an experiment file."""


class DatasetError(FaultsError):
    """Documents, questions or labels that are inconsistent."""


class ModelError(InputError):
    """A model, vocabulary or package that cannot be found, or differs from the expected one."""


class LawError(WorkbenchError, AssertionError):
    """A component that breaks a law of `workbench.testing`: the law, the input and the result."""


class RunError(WorkbenchError):
    """An error while running; finished results are kept."""


class StoreError(RunError):
    """A store that is corrupt, locked or cannot be written."""


class IndexBuildError(RunError):
    """A Chroma index that could not be built or does not pass its audit."""


class NotebookError(RunError):
    """A notebook that did not run to its end."""


class WorkerError(RunError):
    """A worker that was lost or cannot take part in a sweep, or the loss of all workers."""
