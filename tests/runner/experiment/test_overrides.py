from pathlib import Path

import pytest

from workbench.core.errors import ExperimentError
from workbench.runner.experiment.read import read_experiment

QUICKSTART = Path("experiments/quickstart.yaml")


def faults(*overrides: str, path: Path = QUICKSTART) -> list[str]:
    with pytest.raises(ExperimentError) as caught:
        read_experiment(path, overrides)
    return [line.removeprefix(f"{path}: ") for line in caught.value.lines]


def test_an_override_that_every_item_of_the_axis_repeats_is_refused_with_what_wins() -> None:
    assert faults("pipeline.retrieval.k=5") == [
        "--set pipeline.retrieval.k=5 changes nothing: every item of sweep.retrieval names its kind and takes nothing from pipeline.retrieval; "
        "set sweep.retrieval.0.k and sweep.retrieval.1.k"
    ]


def test_an_override_that_every_item_of_an_overridden_axis_repeats_is_refused_with_what_wins() -> None:
    assert faults("sweep.retrieval=[{kind: dense, k: 5}, {kind: bm25, k: 8}]", "baseline=null", "pipeline.retrieval.k=7") == [
        "--set pipeline.retrieval.k=7 changes nothing: sweep.retrieval gives k for every configuration; "
        "set sweep.retrieval.0.k and sweep.retrieval.1.k"
    ]


def test_its_value_is_validated_all_the_same() -> None:
    first, second = faults("pipeline.retrieval.k=0")
    assert first.startswith("--set pipeline.retrieval.k=0 changes nothing: ")
    assert second.startswith("retrieval 'dense' k is 0, smaller than 1")
    assert "(did you mean 'fixed'?)" in faults("pipeline.chunking.kind=fixt")[1]


def test_an_axis_whose_items_name_their_kinds_takes_nothing_of_the_pipeline() -> None:
    (line,) = faults("pipeline.chunking.tokens=characters")
    assert "every item of sweep.chunking names its kind and takes nothing from pipeline.chunking" in line
    assert line.endswith("set sweep.chunking.0.tokens, sweep.chunking.1.tokens and sweep.chunking.2.tokens")
    assert "sweep.chunking gives size for every configuration; set sweep.chunking.0.size and" in faults("pipeline.chunking.size=64")[0]


def test_a_whole_stage_or_pipeline_that_is_repeated_is_refused_too() -> None:
    assert faults("pipeline.retrieval={kind: bm25, k: 3}") == [
        "--set pipeline.retrieval={kind: bm25, k: 3} changes nothing: sweep.retrieval gives kind and k for every configuration; "
        "set sweep.retrieval"
    ]
    assert "changes nothing" in faults("pipeline={retrieval: {k: 3}}")[0]
    assert read_experiment(QUICKSTART, ["pipeline={retrieval: {k: 3}, embedding: {max_tokens: 64}}", "baseline=null"]).configurations


def test_an_override_that_any_item_takes_up_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    text = "name: x\ndataset: {kind: golden, path: .}\nmetrics: [recall@5]\nsweep: {retrieval: [{k: 5}, {search: ann}], chunking: {overlap: [0, 8]}}\n"
    path.write_text(text)
    names = [one.name for one in read_experiment(path, ["pipeline.retrieval.k=7", "pipeline.chunking.size=64"]).configurations]
    assert names[:2] == ["fixed-64-0-k5", "fixed-64-0-k7-ann"]
    (line,) = faults("pipeline.chunking={size: 64, overlap: 16}", "pipeline.chunking.overlap=16", path=path)
    assert line.endswith("sweep.chunking gives overlap for every configuration; set sweep.chunking.overlap")


def test_an_override_counts_for_listed_configurations_too(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    start = "name: x\ndataset: {kind: golden, path: .}\nmetrics: [recall@5]\n"
    path.write_text(start + "configurations: [{retrieval: {kind: bm25, k: 5}}, {retrieval: {k: 9}}]\n")
    assert faults("pipeline.retrieval.k=7", path=path) == [
        "--set pipeline.retrieval.k=7 changes nothing: configurations gives k for every configuration; "
        "set configurations.0.retrieval.k and configurations.1.retrieval.k"
    ]
    # The second item takes the search, and a swept retriever leaves a listed one that takes everything.
    assert read_experiment(path, ["pipeline.retrieval.search=ann"]).configurations
    path.write_text(start + "sweep: {retrieval: [{kind: bm25, k: 5}]}\nconfigurations: [{chunking: {kind: whole}}]\n")
    assert [one.retrieval.k for one in read_experiment(path, ["pipeline.retrieval.k=7"]).configurations] == [5, 7]
    changed = ["configurations.0.chunking={kind: markdown, size: 64}"]
    assert [one.chunking.name for one in read_experiment(path, changed).configurations] == ["fixed-256-0", "markdown-64"]


def test_what_the_error_names_is_a_path_that_works() -> None:
    experiment = read_experiment(
        QUICKSTART, ["sweep.retrieval.0.k=12", "sweep.retrieval.1.k=12", "pipeline.embedding.max_tokens=64", "baseline=null"]
    )
    assert {configuration.retrieval.k for configuration in experiment.configurations} == {12}


def test_a_path_that_does_not_fit_is_one_line_with_the_part_that_does_not(wording) -> None:
    wording(
        lambda override: read_experiment(QUICKSTART, [override]),
        [
            "sweep..k=1",
            "sweep.retrieval.k:3",
            "metrics=[recall@5",
            "sweep.retrieval.7.k=1",
            "sweep.retrieval.k=1",
            "sweep.retrieval.0.kind.x=1",
        ],
    )


def test_a_pipeline_that_the_sweep_completes_need_not_be_complete(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "name: x\ndataset: {kind: golden, path: .}\nmetrics: [recall@5]\n"
        "pipeline: {chunking: {kind: sentence, tokens: [model, characters]}}\nsweep: {chunking: {size: [64, 128]}}\n"
    )
    assert len(read_experiment(path).configurations) == 4
