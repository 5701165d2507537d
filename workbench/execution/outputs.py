"""Write what a sweep leaves under outputs/<name>/; each file whole or not at all."""

from workbench.core.files import write_text
from workbench.execution.collect import collect
from workbench.execution.local import Outcome
from workbench.execution.tables import run_lines
from workbench.results.run_tables import RunTables


def write_outputs(outcome: Outcome) -> RunTables:
    """All tables, the run files and the manifest; run files of configurations that are gone are taken away."""
    run = collect(outcome)
    run.write(outcome.folder)
    runs = outcome.folder / "runs"
    for result in outcome.results:
        write_text(runs / f"{result.configuration.name}.trec", run_lines(outcome, result))
    for stale in set(runs.glob("*.trec")) - {runs / f"{name}.trec" for name in run.names}:
        stale.unlink()
    return run
