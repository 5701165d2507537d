"""Verify the store, the caches and the indexes of an outputs folder, and delete or rebuild the damaged and unused parts."""

import stat
import tempfile
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from workbench.components.retrieval import chroma_index
from workbench.components.retrieval.chroma_index import COPY, check_index
from workbench.core.errors import InputError, StoreError
from workbench.core.files import in_order, write_text
from workbench.core.operating_system import is_own
from workbench.core.storage.cache_check import check_cache
from workbench.core.storage.call_cache import CALLS
from workbench.core.storage.folder_check import Finding, FolderCheck, delete, left_alone, left_by_killed
from workbench.core.storage.layout import INDEXES, LAYOUT, MARK, layout_of, mark_text, of_another_version
from workbench.core.storage.stored_files import MANIFEST, entry_fault
from workbench.core.storage.vector_cache import VECTORS
from workbench.report.results.history import history_path, read_history, read_scores, scores_path
from workbench.runner.pipeline.context import Workspace


def examine(workspace: Workspace, repair: bool) -> Iterator[Finding]:
    """Yield everything that is damaged or unused in a workspace, after its repair if `repair`. Raises InputError without a store."""
    roots = [root for root in dict.fromkeys((workspace.store_root, workspace.local_store.root)) if root.is_dir()]
    if not roots and not workspace.indexes.is_dir():
        raise InputError(f"{workspace.outputs} has no store", "give the --outputs of a sweep")
    for root in roots:
        yield from _check_root(root, repair)
    for folder in dict.fromkeys((workspace.indexes, workspace.store_root / INDEXES)):
        yield from FolderCheck(folder, "index", chroma_index.MANIFEST, check_index).findings(repair)
    yield from _check_history(workspace.outputs, repair)
    yield from _unfinished_files(workspace.outputs, repair)
    yield from _unused_copies(repair)


def _check_root(root: Path, repair: bool) -> Iterator[Finding]:
    """Check the entries and caches of a store on this machine. A store of another layout is left alone."""
    try:
        layout = layout_of(root)
    except ValueError:
        layout = LAYOUT
        if repair:
            write_text(root / MARK, mark_text())
        yield Finding("damage", f"{root / MARK} cannot be read", "written again")
    if layout != LAYOUT:
        yield Finding("stuck", of_another_version(root, layout), "use that version")
        return
    for folder in in_order(path for path in root.iterdir() if path.is_dir() and path.name != INDEXES):
        yield from FolderCheck(folder, "store entry", MANIFEST, lambda path: entry_fault(path, path.parent.name, path.name)).findings(
            repair
        )
    yield from check_cache(root / "vectors.sqlite", VECTORS, repair)
    yield from check_cache(root / "calls.sqlite", CALLS, repair)


def _check_history(outputs: Path, repair: bool) -> Iterator[Finding]:
    """Move a corrupt history aside, since runs that are over cannot be made again: the next sweep begins a new one."""
    for path, read in ((history_path(outputs), read_history), (scores_path(outputs), read_scores)):
        try:
            if path.exists():
                read(path)
        except StoreError as error:
            aside = _free_name(path)
            if repair:
                path.replace(aside)
            yield Finding("damage", error.what, f"moved to {aside}")


def _free_name(path: Path) -> Path:
    """Choose a name for a damaged file beside its place, without replacing one that was moved before."""
    endings = chain(("",), (f"-{number}" for number in count(2)))
    return next(aside for ending in endings if not (aside := path.with_suffix(f".damaged{ending}{path.suffix}")).exists())


def _unfinished_files(outputs: Path, repair: bool) -> Iterator[Finding]:
    """Yield files that a killed process was writing: `.<name>.<process>.tmp`."""
    for path, _ in left_alone(path for pattern in ("", "*/", "*/*/") for path in outputs.glob(f"{pattern}.*.tmp")):
        if _is_over(path.name.split(".")[-2]):
            if repair:
                delete(path)
            yield left_by_killed(path)


def _unused_copies(repair: bool) -> Iterator[Finding]:
    """Yield the copies of indexes that a killed process was searching: `workbench-index-<process>-…`, of any outputs of this user."""
    for path, status in left_alone(Path(tempfile.gettempdir()).glob(f"{COPY}*-*")):
        process = path.name.removeprefix(COPY).partition("-")[0]
        if is_own(status) and stat.S_ISDIR(status.st_mode) and _is_over(process):
            if repair:
                delete(path)
            yield left_by_killed(path)


def _is_over(process: str) -> bool:
    import psutil

    return process.isdecimal() and not psutil.pid_exists(int(process))


def exit_code(findings: list[Finding], repair: bool) -> int:
    """Return 0 if all is good or repaired, 1 if a check without repair found damage, 3 if something could not be repaired."""
    states = {finding.state for finding in findings}
    if not repair:
        return 1 if states & {"damage", "stuck"} else 0
    return 3 if "stuck" in states else 0


def summary(findings: list[Finding], repair: bool) -> str:
    """Summarise the findings in a sentence."""
    damaged, unused, stuck = (sum(finding.state == state for finding in findings) for state in ("damage", "unused", "stuck"))
    if not findings:
        return "no damage, nothing unused"
    if not repair:
        return f"{damaged + stuck} damaged, {unused} unused; nothing was changed"
    return f"{damaged} damaged and repaired, {unused} unused and deleted, {stuck} not repaired"
