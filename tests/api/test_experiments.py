from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.small_sweep import FEW, write_experiment
from workbench.api.experiments import ExperimentSettings
from workbench.core.errors import ExperimentError
from workbench.core.schemas import SCHEMAS
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.file import KEYS


@pytest.fixture(scope="module")
def corner(handbook_corner: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_corner, split="dev")


@pytest.fixture
def built(corner: wb.Dataset) -> wb.Experiment:
    """The experiment of the fixture `few`, built from values."""
    return wb.Experiment(
        "few",
        corner,
        pipeline={"retrieval": wb.BM25Retriever(k=5)},
        configurations=[
            {"name": chunker.name, "chunking": chunker}
            for chunker in (
                *(wb.FixedChunker(size=size, overlap=overlap) for size in (64, 128) for overlap in (0, 16)),
                wb.HierarchicalChunker(child=64, parent=256),
            )
        ],
        metrics=[wb.span_recall @ wb.tokens(500), wb.recall @ 5, wb.ndcg @ 10, wb.irrelevant @ 3, wb.margin],
    )


def test_an_experiment_of_values_leaves_the_tables_of_the_same_file(built: wb.Experiment, few: Outcome, tmp_path: Path) -> None:
    made = run_experiment(built._spec, tmp_path, lambda _: None)
    write_outputs(made)
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        pd.testing.assert_frame_equal(pd.read_parquet(made.folder / f"{name}.parquet"), pd.read_parquet(few.folder / f"{name}.parquet"))


def test_a_written_file_reads_as_the_same_experiment(built: wb.Experiment, handbook_corner: Path, tmp_path: Path) -> None:
    again = wb.Experiment.from_yaml(built.to_yaml(tmp_path / "few.yaml"))
    assert repr(again) == repr(built)
    by_hand = wb.Experiment.from_yaml(write_experiment(FEW, handbook_corner, tmp_path / "by-hand.yaml"))
    assert (again.names, again.metrics) == (by_hand.names, by_hand.metrics)
    assert wb.Experiment.from_yaml(tmp_path / "few.yaml", ["name=other"]).name == "other"


def test_a_pipeline_is_the_default_of_every_stage(corner: wb.Dataset) -> None:
    pipeline = wb.Pipeline(chunking=wb.SentenceChunker(size=64), retrieval=wb.BM25Retriever())
    assert wb.Experiment("one", corner, pipeline=pipeline).names == ["sentence-64-bm25"]


def test_every_fault_of_an_experiment_is_listed_at_once(corner: wb.Dataset) -> None:
    with pytest.raises(wb.ExperimentError) as caught:
        wb.Experiment("No name", corner, sweep={"chunkin": [wb.WholeChunker()]}, metrics=["recal@5"], baseline="none")  # type: ignore[dict-item]  # the fault
    text = str(caught.value)
    assert "name is 'No name'" in text
    assert "did you mean 'chunking'" in text
    assert "did you mean recall@5" in text


def test_a_dataset_changed_in_python_is_refused_until_it_is_saved(corner: wb.Dataset, tmp_path: Path) -> None:
    fewer = replace(corner, queries=corner.queries[:-1])
    with pytest.raises(wb.InputError, match=r"differs from its files; pass workbench.save_dataset"):
        wb.Experiment("changed", fewer)
    made = wb.Dataset("made", corner.documents, corner.queries, corner.qrels, corner.needs)
    with pytest.raises(wb.InputError, match=r"is only in memory; pass workbench.save_dataset"):
        wb.Experiment("made", made)
    saved = wb.save_dataset(made, tmp_path / "saved")
    assert (saved.documents, saved.queries, saved.needs) == (made.documents, made.queries, made.needs)
    assert wb.Experiment("saved", saved).names == ["fixed-256-0"]
    with pytest.raises(wb.InputError, match="exists and is not an empty folder"):
        wb.save_dataset(made, tmp_path / "saved")


def test_a_plan_says_what_is_missing_and_what_is_reused(built: wb.Experiment, few: Outcome, tmp_path: Path) -> None:
    assert built.plan(few.run.workspace.outputs).complete
    plan = built.plan(tmp_path)
    assert not plan.complete
    assert "fixed-64-16" in str(plan)
    assert "fixed-64-16" in plan._repr_html_()


@pytest.mark.slow
def test_what_fails_is_named_and_what_does_not_stays(corner: wb.Dataset, tmp_path: Path) -> None:
    failing, good = {"kind": "callable", "callable": "json:loads"}, wb.FixedChunker(size=64)
    broken, mixed = (
        wb.Experiment("mine", corner, pipeline={"retrieval": wb.BM25Retriever()}, sweep={"chunking": chunking})
        for chunking in ([failing], [failing, good])
    )

    def files() -> dict[Path, tuple[int, bytes]]:
        return {path: (path.stat().st_ino, path.read_bytes()) for path in tmp_path.glob("mine/**/*") if path.is_file()}

    # A sweep without any result.
    with pytest.raises(
        wb.RunError, match=r"every configuration failed; the first, .*JSONDecodeError.*; the tracebacks are in \S+\.errors/mine$"
    ):
        wb.sweep(broken, tmp_path, allow_code=True)
    assert not (tmp_path / "mine").exists()
    (traceback,) = tmp_path.glob(".errors/mine/*.txt")
    assert traceback.read_text().startswith("Traceback")
    # One configuration fails and leaves the other.
    results = wb.sweep(mixed, tmp_path, allow_code=True)
    assert sorted(results.configurations["configuration"]) == sorted(mixed.names)
    ((name, line),) = results.failures.items()
    assert "JSONDecodeError" in line
    assert "fixed-64-0-bm25" in results.leaderboard().index
    with pytest.raises(wb.InputError, match=f"the configuration {name} failed: .*JSONDecodeError"):
        results.configuration(name)
    assert not (tmp_path / ".errors" / "mine").exists()
    before, history = files(), (tmp_path / "history.parquet").read_bytes()
    assert tmp_path / "mine" / "report.html" in before
    assert {path.name for path in before if path.suffix == ".ipynb"} == {"fixed-64-0-bm25.ipynb", "comparison.ipynb"}
    # A sweep without any result leaves the earlier run as it was.
    with pytest.raises(wb.RunError, match=r"\.errors/mine; \S+mine was left as it is: its results are of an earlier run$"):
        wb.sweep(broken, tmp_path, allow_code=True)
    assert files() == before
    assert (tmp_path / "history.parquet").read_bytes() == history


def test_named_code_runs_with_allow_code_and_in_a_pipeline_made_in_python(corner: wb.Dataset, tmp_path: Path) -> None:
    chunker = wb.CallableChunker(callable="builtins:str.splitlines")
    experiment = wb.Experiment("lines", corner, pipeline={"chunking": chunker, "retrieval": wb.BM25Retriever()})
    with pytest.raises(wb.InputError, match=r"the experiment runs code: builtins:str\.splitlines; add --allow-code"):
        wb.sweep(experiment, tmp_path)
    assert experiment.plan(tmp_path).configurations[0].named_code == ("builtins:str.splitlines",)
    assert experiment.plan(tmp_path, allow_code=True).configurations[0].chunks > 0
    pipeline = wb.Pipeline(chunking=chunker, retrieval=wb.BM25Retriever())
    assert len(pipeline.index(corner, tmp_path).search("taxi")) > 0
    with pytest.raises(wb.InputError, match=r"has no 'str\.splitlynes'"):
        wb.Pipeline(chunking=wb.CallableChunker(callable="builtins:str.splitlynes"))


def test_configurations_can_be_pipelines_and_components_by_stage(handbook_few: Path, tmp_path: Path) -> None:
    listed = [
        wb.Pipeline(chunking=wb.SentenceChunker(size=64), retrieval=wb.BM25Retriever()),
        {"name": "current", "chunking": wb.FixedChunker(size=64), "retrieval": {"kind": "bm25", "k": 3}},
        {"chunking": wb.WholeChunker(), "retrieval": wb.BM25Retriever()},
        {"chunking": "sentence", "retrieval": "bm25", "rerank": "none"},
    ]
    experiment = wb.Experiment(
        "listed", str(handbook_few), configurations=listed, exclude=["whole*"], baseline="current", metrics="recall@3"
    )
    assert experiment.names == ["sentence-64-bm25", "current", "sentence-256-bm25"]
    assert wb.Experiment.from_yaml(experiment.to_yaml(tmp_path / "listed.yaml")).names == experiment.names


@pytest.mark.parametrize(
    "settings",
    [
        {"configurations": {"name": "x"}},
        {"configurations": [wb.FixedChunker(size=64)]},
        {"configurations": wb.Pipeline()},
        {"configurations": "x"},
        {"sweep": [wb.FixedChunker(size=64)]},
        {"pipeline": wb.FixedChunker(size=64)},
    ],
)
def test_configurations_of_another_type_are_one_line(settings: dict[str, object], handbook_few: Path) -> None:
    with pytest.raises(wb.InputError, match=r"is of type \w+; give "):
        wb.Experiment("x", str(handbook_few), **settings)  # type: ignore[arg-type]


def test_the_display_of_an_experiment_names_its_configurations(built: wb.Experiment) -> None:
    html = built._repr_html_()
    assert all(name in html for name in built.names)
    assert "span_recall@500t" in html


def test_the_arguments_are_the_keys_of_the_file() -> None:
    assert {"name", "dataset", *ExperimentSettings.__annotations__} == set(KEYS)


def test_an_unknown_argument_is_a_fault_with_a_suggestion(corner: wb.Dataset) -> None:
    with pytest.raises(ExperimentError, match=r"basline.*did you mean 'baseline'"):
        wb.Experiment("mine", corner, basline="fixed-256-0")


def test_jobs_and_a_scheduler_exclude_each_other(built: wb.Experiment, tmp_path: Path) -> None:
    with pytest.raises(wb.InputError, match="jobs and scheduler cannot be combined"):
        wb.sweep(built, tmp_path, jobs=2, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(wb.InputError, match="jobs is 0; give 1 or more"):
        wb.sweep(built, tmp_path, jobs=0)


def test_a_single_component_and_a_single_metric_need_no_list(corner: wb.Dataset) -> None:
    experiment = wb.Experiment("one", corner, sweep={"chunking": wb.FixedChunker(size=64)}, metrics=wb.recall @ 5)
    assert (experiment.names, experiment.metrics) == (["fixed-64-0"], (wb.recall @ 5,))
    with pytest.raises(wb.InputError, match="chunking is 3; give a component, or its settings"):
        wb.Experiment("one", corner, sweep={"chunking": 3})  # type: ignore[dict-item]  # the fault
