"""Execute a run's notebooks: one a configuration, then the comparison of all."""

from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.experiment.notebooks import run_notebook
from workbench.experiment.run import Outcome


def run_notebooks(outcome: Outcome, experiment: Path, overrides: Sequence[str], say: Callable[[str], None]) -> dict[str, str]:
    """Put the executed notebooks under outputs/<name>/notebooks/; the one-line error of each that failed, by name."""
    bench, folder = outcome.bench, outcome.folder / "notebooks"
    common = {"experiment": str(experiment), "outputs": str(bench.workplace.outputs), "overrides": list(overrides)}
    scores = {result.configuration.name: bench.keys(result.configuration).scores for result in outcome.results}
    settings = [outcome.experiment.settings, str(outcome.primary)]
    wanted = [("configuration", name, common | {"configuration": name}, [key, *settings]) for name, key in scores.items()]
    wanted.append(("comparison", "comparison", common, [scores, outcome.failures, *settings]))
    errors: dict[str, str] = {}
    for number, (notebook, name, parameters, shown) in enumerate(wanted, 1):
        try:
            executed = run_notebook(bench.workplace.store, notebook, parameters, shown, folder / f"{name}.ipynb")
        except WorkbenchError as error:
            errors[name] = "; ".join(error.lines)
            say(f"notebook {number}/{len(wanted)} {name}: FAILED, {errors[name]}")
        else:
            say(f"notebook {number}/{len(wanted)} {name}: {'executed' if executed else 'from the store'}")
    for stale in set(folder.glob("*.ipynb")) - {folder / f"{name}.ipynb" for _, name, _, _ in wanted} - set(folder.glob("*.failed.ipynb")):
        stale.unlink()
    return errors
