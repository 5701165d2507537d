"""Write what a sweep leaves under outputs/<name>/; each file whole or not at all, and nothing where all of it is there already."""

from pathlib import Path

from workbench.core.files import write_text
from workbench.core.fingerprint import fingerprint
from workbench.execution.collect import collect
from workbench.execution.local import Outcome
from workbench.execution.tables import run_lines
from workbench.notebook_runner.notebooks import code_digest
from workbench.results.run_tables import RunTables
from workbench.results.tables import write_table
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import content_digest

_KIND = "outputs"
# Differs from run to run.
_ALWAYS_WRITTEN = "timings"


def write_outputs(outcome: Outcome) -> RunTables:
    """All tables, the run files and the manifest; run files of configurations that are gone are taken away.

    Where the store remembers the digests of these files and the folder holds exactly them, only timings and manifest are written.
    """
    run, folder, store, key = collect(outcome), outcome.folder, outcome.context.workspace.store, _key(outcome)
    written = store.get(_KIND, key)
    if written is not None and _digests(folder) == written.values("files"):
        write_table(folder, SCHEMAS[_ALWAYS_WRITTEN], run.table(_ALWAYS_WRITTEN))
        run.write_manifest(folder)
        return RunTables.read(folder)
    run.write(folder)
    runs = folder / "runs"
    for result in outcome.results:
        write_text(runs / f"{result.configuration.name}.trec", run_lines(outcome.context, result))
    for stale in set(runs.glob("*.trec")) - {runs / f"{name}.trec" for name in run.names}:
        stale.unlink()
    store.obtain(_KIND, key, lambda draft: draft.values("files", _digests(folder)))
    return run


def _key(outcome: Outcome) -> str:
    """All that decides the files: results by their keys, settings, failures, what was screened, the answers (no metric reads those), the code."""
    experiment, graph = outcome.experiment, outcome.graph
    results = {one.configuration.name: graph.fingerprint(one.configuration) for one in outcome.results}
    screening = experiment.screening.as_json() if experiment.screening else None
    answers = [query.answer for query in outcome.context.dataset.queries]
    return fingerprint(experiment.settings, str(outcome.primary), results, outcome.failures, screening, answers, code_digest())


def _digests(folder: Path) -> dict[str, str]:
    """The digest of each file that does not differ between equal runs, but for the manifest, which holds the commit."""
    files = [*(folder / f"{name}.parquet" for name in SCHEMAS if name != _ALWAYS_WRITTEN), *sorted((folder / "runs").glob("*.trec"))]
    return {path.relative_to(folder).as_posix(): content_digest(path) for path in files if path.is_file()}
