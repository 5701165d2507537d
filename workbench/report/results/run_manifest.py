"""The manifest of a run: its form, which is checked before anything is read from it, and the commit that it records.

A repository's configuration can name programs: `core.fsmonitor`, hooks, clean filters, a remote's transport. `git describe --dirty` runs
some of them. So git compares the files through a temporary repository that has the objects and a copy of the index but not the configuration.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.measures.metrics.definition import Comparison, LabelsRead, Source
from workbench.measures.metrics.names import Metric

# Larger counts, cuts and seeds are no numbers of a run.
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Settings = dict[str, Any]


class _ManifestPart(BaseModel):
    # Later versions may add keys.
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Component(_ManifestPart):
    kind: str


class _Experiment(_ManifestPart):
    name: Annotated[str, Field(min_length=1, pattern=r"^[^\s/\\`]+$")]
    dataset: _Component
    metrics: list[str | _Settings] = []
    slices: list[Any] = []
    spans: str = "exact"
    gate: _Settings | None = None


class _MetricForm(BaseModel):
    """The record of a metric, see `Metric.record`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    family: str
    k: Annotated[int, Field(ge=1, le=10**9)] | None
    tokens: Annotated[int, Field(ge=1, le=10**9)] | None
    higher_is_better: bool
    proportion: bool
    bounded_by_k: bool
    definition: str
    source: str
    reads: list[Source] = []
    compares: Comparison = ""
    labels_read: LabelsRead = ""


class _Stages(_ManifestPart):
    """The settings of each stage. Those that a configuration does not have are None."""

    __pydantic_extra__: dict[str, _Component | None]

    chunking: _Component | None
    embedding: _Component | None
    retrieval: _Component | None


class _Dataset(_ManifestPart):
    """The name of a dataset and what was counted in it, see `RunTables.dataset`."""

    __pydantic_extra__: dict[str, _Count]

    name: str
    documents: _Count
    queries: _Count
    unanswerable: _Count
    judgements: _Count
    needs: _Count


class _Fingerprints(_ManifestPart):
    questions: str
    corpus: str
    configurations: dict[str, str]
    expected: str = ""
    settings: dict[str, dict[str, str | None]] = {}


class _PlugInTable(_ManifestPart):
    rows: str
    # The type and the phrase of each column.
    columns: dict[str, Annotated[list[str], Field(min_length=2, max_length=2)]]


class _Seeds(_ManifestPart):
    ties: int


class RunManifest(_ManifestPart):
    """The manifest of a run, as `workbench.runner.execution.collect` writes it. Keys with a default are not in those of earlier versions."""

    experiment: _Experiment
    primary: str
    baseline: str | None
    average: Literal["questions", "documents"]
    smallest_difference: Annotated[float, Field(gt=0, strict=False)]
    metrics: dict[str, _MetricForm]
    conditions: Annotated[list[str], Field(min_length=1)] = ["retrieved"]
    repeats: Annotated[int, Field(ge=1, le=10**6)] = 1
    judging: _Settings | None = None
    configurations: dict[str, _Stages]
    dataset: _Dataset
    unread: list[dict[str, str]] = []
    fingerprints: _Fingerprints
    arguments: list[str] = []
    encoders: dict[str, dict[str, str]] = {}
    code: list[str] = []
    pickles: dict[str, list[str]] = {}
    failures: dict[str, str]
    screening: _Settings | None = None
    tables: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], _PlugInTable] = {}
    versions: dict[str, str]
    seeds: _Seeds
    commit: str | None

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        if self.primary not in self.metrics:
            raise ValueError(f"primary {self.primary!r:.80} is none of its metrics")
        if self.baseline is not None and self.baseline not in self.configurations:
            raise ValueError(f"baseline {self.baseline!r:.80} is none of its configurations")
        for name, record in self.metrics.items():
            if (recorded := str(Metric.of_record(record.model_dump()))) != name:
                raise ValueError(f"the metric {name!r:.80} is recorded as {recorded!r:.80}")
        return self


_SECONDS = 10
_INERT = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# Settings that decide whether two files are equal, and run nothing.
_PLAIN = "filemode|symlinks|ignorecase|autocrlf|eol|safecrlf|precomposeunicode|trustctime|checkstat"
_SETTING = re.compile(rf"core\.(?P<name>{_PLAIN}) (?P<value>\w+)")


def commit() -> str | None:
    """Return the working directory's commit, or None outside git."""
    answer = _git("rev-parse", "--verify", "HEAD")
    return answer.stdout.strip() if answer and answer.returncode == 0 else None


def marked_commit() -> str | None:
    """Return the commit, marked with `-dirty` unless all tracked files are known to equal it. None outside git.

    Uncommitted files inside a submodule do not count, and files with a clean filter of the repository count once they are rewritten.
    """
    head = commit()
    return head and (head if _unchanged(head) else f"{head}-dirty")


def _unchanged(head: str) -> bool:
    places = _git("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "objects", "--git-path", "index")
    if places is None or places.returncode:
        return False
    folder, objects, index = places.stdout.splitlines()
    if not Path(index).is_file():
        return False
    settings = _git("config", "--get-regexp", rf"^core\.({_PLAIN})$")
    lines = [f"\t{match['name']} = {match['value']}\n" for match in _SETTING.finditer(settings.stdout if settings else "")]
    with tempfile.TemporaryDirectory(prefix="workbench-git-") as bare:
        for name in ("objects", "refs"):
            Path(bare, name).mkdir()
        Path(bare, "HEAD").write_bytes(f"{head}\n".encode())
        # A copy with its time, since git writes new times of files into the index that it compares.
        copied = shutil.copy2(index, Path(bare, "index"))
        Path(bare, "config").write_bytes("".join(["[core]\n\trepositoryformatversion = 0\n", *lines]).encode())
        environment = {"GIT_DIR": bare, "GIT_WORK_TREE": folder, "GIT_OBJECT_DIRECTORY": objects, "GIT_INDEX_FILE": str(copied)}
        options = ["--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"]
        compared = _git("diff", *options, head, "--", folder, environment=environment)
    return compared is not None and compared.returncode == 0


def _git(*arguments: str, environment: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str] | None":
    """Run git quietly, or return None if it is missing or takes too long."""
    command: Sequence[str] = ["git", "--no-pager", "--no-optional-locks", *_INERT, *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=_SECONDS, check=False, env=os.environ | dict(environment or {})
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
