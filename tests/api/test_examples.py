"""The examples of the public API are executed, and there is one for each function and each method of the API's own classes."""

import doctest
import inspect
from pathlib import Path

import pytest

import workbench as wb
from workbench.api.plots import Plots
from workbench.monitor.passes import monitor
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import publish

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CLASSES = (wb.Experiment, wb.Index, wb.Pipeline, wb.Results, Plots)
FUNCTIONS = {name: getattr(wb, name) for name in wb.__all__ if inspect.isfunction(getattr(wb, name))}
METHODS = {
    f"{owner.__name__}.{name}": member
    for owner in CLASSES
    for name, member in inspect.getmembers_static(owner)
    if not name.startswith("_")
    and name not in getattr(owner, "unlisted", ())
    and (inspect.isfunction(member) or isinstance(member, classmethod))
}
OWNERS = {owner.__name__: owner for owner in CLASSES}
EXAMPLES = FUNCTIONS | METHODS | {name: owner for name, owner in OWNERS.items() if ">>>" in (owner.__doc__ or "")}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundled experiments, finished runs `outputs/sizes` and `later/sizes`, and a pass of a monitor."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / "experiments").symlink_to(ROOT / "experiments")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        experiment = wb.Experiment(
            "sizes",
            wb.load_dataset("experiments/handbook", split="dev"),
            sweep={"chunking": [wb.FixedChunker(size=size) for size in (128, 256)], "retrieval": [wb.BM25Retriever()]},
        )
        # The example of `sweep` is this one with notebooks.
        publish(run_experiment(experiment._spec, Path("outputs"), lambda _: None), lambda _: None, notebooks=False)
        retriever = {"chunking": [wb.FixedChunker(size=128)], "retrieval": [wb.BM25Retriever(stemmer="none")]}
        later = wb.Experiment("sizes", wb.load_dataset("experiments/handbook", split="dev"), sweep=retriever)
        publish(run_experiment(later._spec, Path("later"), lambda _: None), lambda _: None, notebooks=False)
        log = wb.QueryLog("logs")
        log.record("who pays for the taxi?", [], "The company.")
        log.close()
        monitor("logs", "outputs/monitoring")
    return folder


@pytest.fixture
def names(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.chdir(workplace)
    # The client of MLflow is enough to write files.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return {"wb": wb, "results": wb.load("outputs/sizes"), "server": (workplace / "mlruns").as_uri()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_gives_what_it_shows(name: str, names: dict[str, object]) -> None:
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(EXAMPLES[name], name, globs=names)
    assert test.examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    written: list[str] = []
    runner.run(test, out=written.append)
    assert runner.failures == 0, "".join(written)
