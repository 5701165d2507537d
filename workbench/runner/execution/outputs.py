"""Write the outputs of a sweep to outputs/<name>/: tables, run files, history, notebooks and report.

One process at a time writes to the folder, so all of its files come from one sweep.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from workbench.components.retrieval.rank import Floats
from workbench.core.environment import missing_package
from workbench.core.errors import RunError, WorkbenchError
from workbench.core.files import in_order, store_errors, write_text
from workbench.core.fingerprint import code_digest, file_digest, fingerprint
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter, Store
from workbench.core.text.formatting import number, plural
from workbench.data.formats.trec import NOT_SCORED, escaped
from workbench.llm.models.tokenizers import Ints
from workbench.measures.metrics.inputs import filled_ranks
from workbench.report.answer_sentences import cut_sentences
from workbench.report.results.history import append
from workbench.report.results.run_tables import MANIFEST, TRACEBACKS, RunTables, run_mark, write_table
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, Say
from workbench.runner.execution.missing import (
    incomplete_replies,
    left_out_judges,
    missing_answers,
    missing_judgements,
    missing_replies,
    mixed_models,
)
from workbench.runner.pipeline.stage_results import StageResults
from workbench.runner.pipeline.stages.responses import unscored_reasons
from workbench.systems.callable.threads import left_running

_OUTPUTS, _REPORTS = "outputs", "reports"
_TERMINAL = "terminal"
# The folder of outputs for tracebacks of runs without any result.
_TRACEBACKS_ALONE = ".errors"
# These files differ between equal runs.
_ALWAYS_WRITTEN = "timings"
# In place of a document of the dataset, from 0, or one outside it, -1.
_UNSCORED = -2


def publish(outcome: Outcome, say: Say, remember: bool = True, notebooks: bool = True) -> Outcome:
    """Write all outputs of a run, and its history if `remember`, and return it with these. Waits for another process that writes to the folder.

    Without `notebooks`, which take most of the time, those of an earlier run are deleted.

    Raises RunError if every configuration failed. The folder is then left as it is, and the tracebacks are in `.errors/<name>/`.
    """
    with writing(outcome.folder, say):
        aside = outcome.folder.parent / _TRACEBACKS_ALONE / outcome.folder.name
        if not outcome.results:
            _write_texts(aside, "txt", outcome.tracebacks)
            raise _nothing_to_publish(outcome, aside)
        shutil.rmtree(aside, ignore_errors=True)
        store, folder, errors = outcome.run.workspace.local_store, outcome.folder, list[str]()
        replaced = run_mark(folder) not in (None, outcome.before)
        notes = [f"{folder} was written by another sweep at the same time and is replaced"] if replaced else []
        run = write_outputs(outcome)
        if remember:
            try:
                append(run, outcome.run.workspace.outputs, datetime.now(UTC))
            except WorkbenchError as error:
                errors.append(f"this run is not in the history: {'; '.join(error.lines)}")
        failed, unread = missing_judgements(outcome)
        errors += missing_replies(run) + missing_answers(run) + ([failed] if failed else [])
        notes += [
            *([unread] if unread else []),
            *left_out_judges(outcome),
            *incomplete_replies(run),
            *cut_sentences(run),
            *mixed_models(run),
            *_lost_tries(outcome),
            *left_running(),
        ]
        # Papermill runs them in kernels of IPython, and their pages are made with the other two.
        absent = missing_package("papermill", "ipykernel", "nbformat", "nh3", extra="lab") if notebooks else None
        if absent:
            notes.append(f"the notebooks were left out: they need {absent[0]}; {absent[1]}")
        if notebooks and not absent:
            from workbench.runner.notebook_runner.notebooks import run_notebooks  # Jupyter is heavy

            errors += [f"notebook {name}: {line}" for name, line in run_notebooks(run, folder, store, say).items()]
        else:
            shutil.rmtree(folder / "notebooks", ignore_errors=True)
        outcome.report, outcome.lines = publish_report(run, folder, store)
        notes += _index_notes(run, folder)
        outcome.notes, outcome.errors, outcome.written = notes, errors, RunTables.read(folder)
        return outcome


def _index_notes(run: RunTables, folder: Path) -> list[str]:
    """Write the index of the runs beside a run, and say why if it was not written."""
    from workbench.report.runs.index import PAGE, write_index

    place = folder.parent / PAGE
    try:
        written = write_index(folder.parent, run, folder.name)
    except WorkbenchError as error:
        return [f"{place} was not written: {'; '.join(error.lines)}"]
    return [] if written else [f"{place} is not an index of Workbench, and is left as it is"]


def _lost_tries(outcome: Outcome) -> list[str]:
    """Say what tries without a usable reply may have cost."""
    spent = outcome.run.calls.budget.spent
    if not spent.lost_tries:
        return []
    money = f", up to {number(spent.lost_usd, 2)} of {number(spent.usd, 2)} USD" if spent.lost_usd else ""
    return [
        f"{plural(spent.lost_tries, 'try', 'tries')} of calls without a usable reply: limits count such tries, which may be billed{money}"
    ]


def _nothing_to_publish(outcome: Outcome, tracebacks: Path) -> RunError:
    name, error = next(iter(outcome.failures.items()))
    earlier = (outcome.folder / MANIFEST).is_file()
    kept = f"; {outcome.folder} was left as it is: its results are of an earlier run" if earlier else ""
    lost = "".join(f"; {line}" for line in _lost_tries(outcome))
    return RunError(f"every configuration failed; the first, {name}: {error}{lost}", f"the tracebacks are in {tracebacks}{kept}")


@contextmanager
def writing(folder: Path, say: Say) -> Iterator[None]:
    """Hold the lock of outputs/<name>, and say so if another process has it. The lock of a killed process is free."""
    path = folder.parent / ".locks" / f"{folder.name}.lock"
    with store_errors(folder.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"waiting for another process that writes to {folder}")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()


def publish_report(run: RunTables, folder: Path, store: Store) -> tuple[Path, Sequence[str]]:
    """Write `report.html` into the folder and return it with the lines for the terminal. Both come from the store if unchanged."""
    run = RunTables.view(run, folder)
    key = fingerprint(run.digest(), run.manifest["commit"], code_digest(), str(folder))
    entry = store.obtain(_REPORTS, key, lambda writer: _render(run, writer))
    path = folder / "report.html"
    entry.copy(path.name, path)
    return path, entry.values(_TERMINAL)


def _render(run: RunTables, writer: ResultWriter) -> None:
    # Imported here because it takes longer than everything else and only a report needs it.
    from workbench.report.render.html import write_report
    from workbench.report.topics.registry import summary_lines

    write_report(run, writer.folder / "report.html")
    writer.values(_TERMINAL, summary_lines(run))


def write_outputs(outcome: Outcome) -> RunTables:
    """Write all tables, the run files, tracebacks and the manifest atomically, and delete files of other configurations.

    If the folder holds exactly the files whose digests the store has for this outcome, only timings and manifest are written.
    """
    run, folder, store = collect(outcome), outcome.folder, outcome.run.workspace.store
    key = _key(outcome, run)
    _write_texts(folder / TRACEBACKS, "txt", outcome.tracebacks)
    written = store.get(_OUTPUTS, key)
    if written is not None and _digests(folder, run.schemas) == written.values("files"):
        write_table(folder, SCHEMAS[_ALWAYS_WRITTEN], run.table(_ALWAYS_WRITTEN))
        run.write_manifest(folder)
        return RunTables.read(folder)
    # Without a manifest nobody reads a folder whose files are partly of an earlier run, also after a kill.
    (folder / MANIFEST).unlink(missing_ok=True)
    _write_texts(folder / "runs", "trec", {result.configuration.name: run_lines(result) for result in outcome.results})
    run.write(folder)
    store.obtain(_OUTPUTS, key, lambda writer: writer.values("files", _digests(folder, run.schemas)))
    return run


def _write_texts(folder: Path, ending: str, texts: Mapping[str, str]) -> None:
    """Write a text file for each configuration, and delete those of others."""
    paths = {folder / f"{name}.{ending}": text for name, text in texts.items()}
    for path, text in paths.items():
        write_text(path, text)
    for stale in set(folder.glob(f"*.{ending}")) - paths.keys():
        stale.unlink()


def _key(outcome: Outcome, run: RunTables) -> str:
    """Hash everything that determines the files: settings, result keys, failures, screening, answers (no metric reads those), code."""
    experiment, manifest = outcome.experiment, run.manifest
    screening = experiment.screening.as_json() if experiment.screening else None
    answers = [query.answer for query in outcome.run.dataset.queries]
    results = manifest["fingerprints"]["configurations"]
    # The key of an incomplete result does not tell what is lacking.
    lacking = [entry.files for result in outcome.results for entry in result.incomplete]
    return fingerprint(experiment.settings, manifest["primary"], results, outcome.failures, screening, answers, lacking, code_digest())


def _digests(folder: Path, tables: Iterable[str]) -> dict[str, str]:
    """Return the digests of the files that equal runs share. The manifest is excluded, since it contains the commit."""
    files = [*(folder / f"{name}.parquet" for name in tables if name != _ALWAYS_WRITTEN), *in_order((folder / "runs").glob("*.trec"))]
    return {path.relative_to(folder).as_posix(): file_digest(path, "blake2b") for path in files if path.is_file()}


def run_lines(results: StageResults) -> str:
    """Format the document ranking as a TREC run.

    Scores are the cosines, lowered to the next 32-bit float at ties, so that trec_eval, which reads 32-bit floats and breaks ties
    in its own way, sees exactly our ranks. Ids are written as in `workbench.data.formats.trec.escaped`. A document outside the dataset,
    which a target returned, is named after its rank. A question for which nothing was found has no line, and one without a score the line
    `not-scored`, so that the file can be read as a recorded target with the same scores.
    """
    run, ranking = results.run, filled_ranks(results.ranked("ranking"))
    if "responses" in results.entries:
        reasons = unscored_reasons(results.entry("responses"), "documents", len(run.query_ids))
        unscored = [query for query, reason in enumerate(reasons) if reason]
        marks = pd.DataFrame({"query": unscored, "rank": 1, "doc": _UNSCORED, "score": 0.0}).astype(ranking.dtypes)
        ranking = pd.concat([ranking[~ranking["query"].isin(unscored)], marks]).sort_values("query", kind="stable")
    rank = ranking["rank"].to_numpy(np.int64)
    outside = [f"not-in-the-dataset-{number}" for number in range(int(rank.max(initial=0)) + 1)]
    queries, documents = [escaped(query_id) for query_id in run.query_ids], [*map(escaped, run.doc_ids), *outside, NOT_SCORED]
    doc = ranking["doc"].to_numpy(np.int64)
    doc = np.select([doc == _UNSCORED, doc < 0], [len(documents) - 1, len(run.doc_ids) + rank], doc)
    scores = strictly_descending(ranking["score"].to_numpy(np.float64), rank)
    texts = pa.string()
    columns = [
        pa.array(queries, texts).take(pa.array(ranking["query"])),
        "Q0",
        pa.array(documents, texts).take(pa.array(doc)),
        pa.array(rank).cast(texts),
        pa.array(scores.astype(np.float64)).cast(texts),
        escaped(results.configuration.name),
    ]
    # Work by columns: line by line takes three times as long, as much as all tables together.
    lines = pc.binary_join_element_wise(*columns, " ").to_pylist()
    return "".join(f"{line}\n" for line in lines)


def strictly_descending(scores: Floats, rank: Ints) -> NDArray[np.float32]:
    """Return scores as 32-bit floats (n) that strictly decrease with rank. `rank` (n) restarts at 1 with each ranking."""
    falling = scores.astype(np.float32)
    for depth in range(2, int(rank.max(initial=1)) + 1):
        rows = np.flatnonzero(rank == depth)
        falling[rows] = np.minimum(falling[rows], np.nextafter(falling[rows - 1], np.float32(-np.inf)))
    return falling
