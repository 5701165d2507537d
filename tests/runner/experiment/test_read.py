from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from workbench.core.errors import ExperimentError
from workbench.llm.models.files import MINILM, locate
from workbench.report.results.history import history_path, scores_path
from workbench.runner.experiment.read import experiment_of, read_experiment

# Reads what asks most of a model's settings in a process that could load none.
READ = """
import importlib.abc, importlib.machinery, sys
class Blocked(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        heavy = ("torch", "openvino", "transformers", "sentence_transformers")
        return importlib.machinery.ModuleSpec(name, self) if name.partition(".")[0] in heavy else None
    def create_module(self, spec):
        raise ImportError(spec.name)
    def exec_module(self, module):
        raise ImportError(module.__name__)
sys.meta_path.insert(0, Blocked())
from workbench.runner.experiment.read import experiment_of
settings = {"name": "x", "dataset": {"kind": "golden", "path": "."}, "metrics": ["recall@5"]}
chunkings = [{"kind": "fixed", "size": 64}, {"kind": "semantic", "size": 64}]
embeddings = [{}, {"pooling": "late"}, {"kind": "static"}, {"kind": "openai", "model": "text-embedding-3-small"}]
sweep = {"chunking": chunkings, "embedding": embeddings}
print(len(experiment_of(settings | {"sweep": sweep}, "x").configurations))
print(experiment_of(settings | {"pipeline": {"embedding": {"backend": "openvino"}}}, "x").configurations[0].name)
sys.modules["openvino"] = None
try:
    experiment_of(settings | {"pipeline": {"embedding": {"backend": "openvino"}}}, "x")
except Exception as error:
    print(*error.lines)
"""
DATASET = {"kind": "golden", "path": "experiments/handbook"}


def named(**sections) -> list[str]:
    settings = {"name": "x", "dataset": DATASET, "metrics": ["recall@5"], **sections}
    return [configuration.name for configuration in experiment_of(settings, "x.yaml").configurations]


def faults(**sections) -> tuple[str, ...]:
    with pytest.raises(ExperimentError) as caught:
        experiment_of({"name": "x", "dataset": DATASET, "metrics": ["recall@5"], **sections}, "x.yaml")
    return tuple(caught.value.lines)


def test_a_list_in_a_field_is_a_grid_and_axes_multiply():
    sweep = {"chunking": [{"kind": "fixed", "size": [128, 256], "overlap": [0, 64]}, {"kind": "whole"}], "retrieval": [{"k": [5, 10]}]}
    assert named(sweep=sweep) == [
        f"{chunking}{k}" for chunking in ("fixed-128-0", "fixed-128-64", "fixed-256-0", "fixed-256-64", "whole") for k in ("-k5", "")
    ]


def test_names_are_kind_and_sizes_then_what_is_not_at_its_default():
    chunkings = [{"kind": "recursive", "size": 400, "overlap": 200}, {"kind": "hierarchical", "child": 128, "parent": 512}]
    assert named(sweep={"chunking": chunkings}) == ["recursive-400-200", "hierarchical-128-512"]
    enriched = {"kind": "markdown", "size": 256, "enrich": [False, True]}
    assert named(sweep={"chunking": enriched}) == ["markdown-256", "markdown-256-enriched"]
    assert named(sweep={"embedding": [{"kind": "sentence-transformers", "max_tokens": [128, 256]}]}) == [
        "fixed-256-0-window128",
        "fixed-256-0-window256",
    ]


def test_a_backend_is_in_a_name_unless_it_is_the_default():
    assert named(pipeline={"embedding": {"backend": "torch"}}) == ["fixed-256-0-torch"]
    assert named(sweep={"embedding": {"backend": ["auto", "torch"]}}) == ["fixed-256-0", "fixed-256-0-torch"]
    assert "backend" in faults(pipeline={"embedding": {"backend": "onnx"}})[0]


def test_without_a_sweep_there_is_one_configuration():
    assert named() == ["fixed-256-0"]
    assert named(pipeline={"chunking": {"kind": "sentence", "size": 64}}) == ["sentence-64"]


def test_an_item_without_a_kind_changes_the_default():
    assert named(pipeline={"chunking": {"kind": "fixed", "size": 64}}, sweep={"chunking": {"overlap": [0, 16]}}) == [
        "fixed-64-0",
        "fixed-64-16",
    ]


def test_every_fault_is_reported_at_once_with_its_fix():
    lines = faults(
        pipelin={},
        name="No Spaces",
        sweep={
            "chunking": [
                {"kind": "sentense", "size": 5},
                {"kind": "sentence", "max_char": 500},
                {"kind": "fixed", "size": 64, "overlap": 64},
            ]
        },
        metrics=["recal@5", "recall@0"],
    )
    text = "\n".join(lines)
    assert "has no parameter 'pipelin' (did you mean 'pipeline'?)" in text
    assert "name is 'No Spaces'" in text
    assert "chunking has no kind 'sentense' (did you mean 'sentence'?)" in text
    assert "chunking 'sentence' has no parameter 'max_char'" in text
    assert "chunking 'sentence' needs 'size'" in text
    assert "overlap 64 is not smaller than size 64" in text
    assert "recal@5" in text
    assert "recall@0" in text
    assert all("\n" not in line and line.startswith("x.yaml: ") for line in lines)
    assert len(lines) == 8


BM25 = {"kind": "bm25"}
TWO_BY_TWO = {"chunking": {"kind": "fixed", "size": [128, 256]}, "retrieval": [{"kind": "dense"}, BM25]}


def test_a_listed_configuration_adds_one_to_a_sweep_and_leaves_the_other_names():
    swept = named(sweep=TWO_BY_TWO)
    current = {
        "name": "current",
        "chunking": {"kind": "sentence", "size": 300},
        "retrieval": {"k": 20},
        "rerank": {"kind": "mmr", "pool": 30},
    }
    assert named(sweep=TWO_BY_TWO, configurations=[current]) == [*swept, "current"]
    unnamed = {"chunking": {"kind": "sentence", "size": 300}}
    assert named(sweep=TWO_BY_TWO, configurations=[unnamed, current]) == [*swept, "sentence-300", "current"]


def test_listed_configurations_stand_without_a_sweep_and_take_the_rest_from_the_pipeline():
    settings = {
        "name": "x",
        "dataset": DATASET,
        "pipeline": {"chunking": {"kind": "fixed", "size": 64, "overlap": 8}, "retrieval": {"k": 7}},
        "configurations": [
            {"chunking": {"size": 32}},
            {"chunking": {"kind": "sentence", "size": 90}, "retrieval": BM25},
            {"rerank": "none"},
        ],
        "metrics": ["recall@5"],
    }
    made = experiment_of(settings, "x.yaml").configurations
    assert [(each.chunking.name, each.retrieval.kind, each.retrieval.k) for each in made] == [
        ("fixed-32-8", "dense", 7),
        ("sentence-90", "bm25", 10),
        ("fixed-64-8", "dense", 7),
    ]
    assert [each.name for each in made] == ["fixed-32-8-k7", "sentence-90-bm25", "fixed-64-8-k7"]


def test_a_baseline_can_be_a_listed_configuration_and_answers_can_be_left_out():
    both = [{"name": "searches", "answering": "none"}, {"name": "answers", "answering": {"kind": "extractive"}}]
    made = experiment_of({"name": "x", "dataset": DATASET, "configurations": both, "baseline": "searches"}, "x.yaml").configurations
    assert [bool(each.answering) for each in made] == [False, True]


def test_excluded_configurations_are_left_out_by_the_names_that_the_plan_shows():
    assert named(sweep=TWO_BY_TWO, exclude=["fixed-128-*-bm25"]) == ["fixed-128-0", "fixed-256-0", "fixed-256-0-bm25"]
    assert named(sweep=TWO_BY_TWO, exclude=["*-bm25", "fixed-256-0"]) == ["fixed-128-0"]
    assert named(sweep=TWO_BY_TWO, exclude=[]) == named(sweep=TWO_BY_TWO)
    listed = [{"name": "current", "retrieval": {"k": 20}}]
    assert named(sweep=TWO_BY_TWO, configurations=listed, exclude=["curr*"]) == named(sweep=TWO_BY_TWO)


def test_a_fault_of_a_listed_or_excluded_configuration_names_its_place(wording) -> None:
    cases = {
        "none": {"configurations": []},
        "a mapping": {"configurations": {"chunking": {"kind": "whole"}}},
        "no mapping": {"configurations": [{}, "fixed"]},
        "an unknown stage": {"configurations": [{"chunkin": {"kind": "whole"}}]},
        "a list in a field": {"configurations": [{"chunking": {"size": [64, 128]}}]},
        "a list of alternatives": {"configurations": [{"chunking": [{"kind": "whole"}]}]},
        "a name with capitals": {"configurations": [{"name": "Current"}]},
        "a name that is a number": {"configurations": [{"name": 5}]},
        "a fault of the pipeline": {"pipeline": {"retrieval": {"k": 0}}, "configurations": [{}, {"chunking": {"kind": "whole"}}]},
        "a fault of a replaced default": {"pipeline": {"chunking": {"size": -1}}, "configurations": [{"chunking": {"kind": "whole"}}]},
        "a name twice": {"configurations": [{"name": "a"}, {"name": "a", "retrieval": BM25}]},
        "the name of a swept one": {"sweep": TWO_BY_TWO, "configurations": [{"name": "fixed-128-0", "retrieval": {"k": 9}}]},
        "the same settings twice": {"sweep": TWO_BY_TWO, "configurations": [{"name": "current", "chunking": {"size": 128}}]},
        "a pool below k": {"configurations": [{"retrieval": {"k": 50}, "rerank": {"kind": "mmr", "pool": 20}}]},
        "exclude is a text": {"exclude": "fixed-*"},
        "exclude matches nothing": {"sweep": TWO_BY_TWO, "exclude": ["fixed-129-0"]},
        "exclude leaves out the baseline": {"sweep": TWO_BY_TWO, "exclude": ["fixed-128-0"], "baseline": "fixed-128-0"},
        "exclude leaves nothing": {"sweep": TWO_BY_TWO, "exclude": ["*"]},
    }
    wording(lambda sections: list(faults(**sections)), cases, kind=None)
    (line,) = faults(configurations=[{}, {"chunking": {"kind": "hole"}}])
    assert line.startswith("x.yaml: configurations.1: chunking has no kind 'hole' (did you mean 'whole'?)")


def test_a_list_outside_the_sweep_is_refused():
    assert "what varies belongs under sweep" in faults(pipeline={"chunking": {"kind": "fixed", "size": [1, 2]}})[0]


def test_a_cut_beyond_the_delivered_chunks_is_refused():
    assert "more chunks than retrieval.k, which is 3" in faults(pipeline={"retrieval": {"k": 3}}, metrics=["hit_recall@5"])[0]
    assert named(pipeline={"retrieval": {"k": 3}}, metrics=["recall@5", "span_recall@2000t"]) == ["fixed-256-0-k3"]


def test_a_k_out_of_range_is_refused():
    for k in (0, 1001, "many"):
        assert "retrieval 'dense' k is" in faults(pipeline={"retrieval": {"k": k}})[0]


def test_a_baseline_must_be_a_configuration():
    assert "baseline 'fixed-255-0' is not a configuration (did you mean 'fixed-256-0'?)" in faults(baseline="fixed-255-0")[0]


def test_the_same_configuration_twice_is_refused():
    assert "occurs 2 times" in faults(sweep={"chunking": [{"kind": "whole"}, {"kind": "whole"}]})[0]


def test_what_the_experiment_fills_in_cannot_be_set():
    assert "chunking 'fixed' has no parameter 'model'" in faults(pipeline={"chunking": {"kind": "fixed", "size": 64, "model": "x"}})[0]


def test_the_vocabulary_that_sizes_count_is_that_of_the_embedding():
    folder = str(locate(MINILM))
    experiment = experiment_of({"name": "x", "dataset": DATASET, "pipeline": {"embedding": {"model": folder}}}, "x")
    assert experiment.configurations[0].chunking.model == folder


def test_a_model_that_cannot_be_had_is_found_out_when_the_file_is_read(tmp_path):
    lines = faults(sweep={"embedding": [{"model": ["no-such/model", str(tmp_path)]}]})
    assert "no-such/model" in lines[0]
    assert "all-MiniLM-L6-v2, which comes with Workbench" in lines[0]
    assert "has no config.json" in lines[1]
    assert "beyond the 512 positions" in faults(pipeline={"embedding": {"max_tokens": 1024}})[0]


def test_reading_loads_and_converts_no_model(tmp_path: Path, run_python: Callable[..., str]) -> None:
    printed = run_python(READ, env={"WORKBENCH_CACHE": str(tmp_path / "cache")}).splitlines()
    assert printed[0] == "8"
    assert printed[1] == "fixed-256-0-openvino"
    assert printed[2].startswith("x: embedding: backend: openvino needs openvino; pip install ")
    assert not (tmp_path / "cache").exists()


def test_a_model_without_a_tokeniser_or_with_another_pooling_is_told_by_its_settings(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert "has no tokenizer.json" in faults(pipeline={"embedding": {"model": str(tmp_path)}})[0]
    (tmp_path / "tokenizer.json").write_bytes((locate(MINILM) / "tokenizer.json").read_bytes())
    (tmp_path / "modules.json").write_text('[{"type": "sentence_transformers.models.StaticEmbedding"}]')
    late = {"model": str(tmp_path), "pooling": "late"}
    assert "pooling: late is not possible with" in faults(pipeline={"embedding": late})[0]


def test_the_first_metric_decides_unless_one_is_named():
    assert experiment_of({"name": "x", "dataset": DATASET, "metrics": ["mrr@10", "recall@5"]}, "x").primary is None
    named_primary = experiment_of({"name": "x", "dataset": DATASET, "metrics": ["mrr@10"], "primary": "recall@5"}, "x")
    assert [str(metric) for metric in named_primary.metrics] == ["recall@5", "mrr@10"]


def test_overrides_change_and_add_values(experiment_file):
    experiment = read_experiment(experiment_file, ["dataset.split=test", "pipeline.retrieval.k=7", "baseline=fixed-128-0-k7"])
    assert experiment.dataset.split == "test"
    assert {configuration.retrieval.k for configuration in experiment.configurations} == {7}


def test_an_override_that_fits_nowhere_is_one_line(experiment_file, wording):
    wording(
        lambda override: read_experiment(experiment_file, [override]),
        [
            "dataset.split",
            "name.x=1",
            "=3",
            "a.b=[1",
        ],
    )


def test_a_mistake_is_one_line_with_what_was_probably_meant(wording):
    sections = [
        {"name": None},
        {"name": "My Experiment"},
        {"name": "“x”"},
        {"name": "x" * 65},
        {"spans": "Chroma"},
        {"average": "document"},
        {"smallest_difference": 0},
        {"smallest_difference": "2 %"},
        {"smallest_difference": True},
        {"metrics": "recall@5"},
        {"metrics": ["Recall@5"]},
        {"dataset": "data/mine"},
        {"dataset": {"path": "x"}},
        {"dataset": {"kind": "Golden", "path": "x"}},
        {"dataset": DATASET | {"split": 1}},
        {"pipeline": {"retrieval": {"k": True}}},
        {"pipeline": {"retrieval": {"top_k": 3}}},
        {"pipeline": {"retrieval": {"kind:dense": None}}},
        {"sweep": {"chunker": []}},
    ]
    wording(
        lambda changed: experiment_of({"name": "x", "dataset": DATASET, "metrics": ["recall@5"], **changed}, "x.yaml"),
        sections,
        ExperimentError,
    )


def test_a_misspelt_section_is_not_reported_as_missing_too():
    with pytest.raises(ExperimentError) as caught:
        experiment_of({"Name": "x", "datasets": DATASET}, "x.yaml")
    assert [line.split(";")[0] for line in caught.value.faults] == [
        "the experiment has no parameter 'Name' (did you mean 'name'?)",
        "the experiment has no parameter 'datasets' (did you mean 'dataset'?)",
    ]


def test_the_experiments_that_are_shipped_are_valid():
    files = sorted(Path("experiments").glob("*.yaml"))
    assert files
    for path in files:
        read_experiment(path)


@pytest.mark.parametrize("path", [history_path(Path()), scores_path(Path()), Path("index.html")], ids=str)
def test_no_experiment_is_named_as_the_files_of_all_runs(path: Path) -> None:
    # Beside each are its lock and, after a repair, the damaged file.
    for name in (path.name, f"{path.name}.lock", path.with_suffix(".damaged.parquet").name):
        with pytest.raises(ExperimentError, match=f"name is {name!r}, but the outputs have files of such names"):
            experiment_of({"name": name, "dataset": DATASET}, "x.yaml")
    assert experiment_of({"name": path.stem, "dataset": DATASET}, "x.yaml").name == path.stem


def test_a_value_that_only_python_can_give_is_a_fault_with_its_place(wording) -> None:
    values = [
        date(2026, 1, 1),
        [1, b"x"],
        {1: "x"},
    ]
    wording(lambda value: experiment_of({"name": "x", "dataset": DATASET | {"note": value}}, "here"), values, ExperimentError)
