import re
from types import SimpleNamespace

import pytest

from workbench.components.chunking.alignment import placed
from workbench.core.errors import ExperimentError
from workbench.runner.experiment.read import experiment_of

TEXT = "One two. One two. Three."


@pytest.mark.parametrize(
    "chunks",
    [
        ["One two.", "One two.", "Three."],
        [(0, 8), [9, 17], (18, 24)],
        [{"start_index": 0, "end_index": 8}, {"start_index": 9, "end_index": 17}, {"start_index": 18, "end_index": 24}],
        [SimpleNamespace(start_index=start, end_index=end) for start, end in ((0, 8), (9, 17), (18, 24))],
        [SimpleNamespace(page_content="One two."), {"text": "One two."}, "Three."],
        ["One two.", " ", "One two.", "Three.", ""],
    ],
)
def test_texts_pairs_mappings_and_objects_become_slices(chunks: list[object]) -> None:
    assert placed(TEXT, chunks) == [(0, 8), (9, 17), (18, 24)]


def test_offsets_that_contradict_their_texts_are_not_believed() -> None:
    wrong = [SimpleNamespace(text="One two.", start_index=0, end_index=8), SimpleNamespace(text="One two.", start_index=8, end_index=16)]
    assert placed(TEXT, wrong) == [(0, 8), (9, 17)]


def test_what_is_no_slice_is_refused_in_a_line(wording) -> None:
    wording(
        lambda chunks: placed(TEXT, chunks), [["One  two."], ["Three.", "One two."], [(0, 25)], [(5, 5)], [7], [(0.5, 2.5)]], ValueError
    )


def test_lists_in_arguments_stay_lists_and_a_list_of_arguments_is_a_grid() -> None:
    chunking = {
        "kind": "langchain",
        "splitter": ["RecursiveCharacterTextSplitter", "MarkdownTextSplitter"],
        "size": [64, 128],
        "arguments": [{}, {"keep_separator": "end", "strip_whitespace": False}],
    }
    chunking_of_user = {
        "kind": "langchain",
        "splitter": "RecursiveCharacterTextSplitter",
        "size": 64,
        "arguments": {"separators": ["\n", ""]},
    }
    settings = {"name": "x", "dataset": {"kind": "golden", "path": "."}, "sweep": {"chunking": [chunking, chunking_of_user]}}
    configurations = experiment_of(settings, "x.yaml").configurations
    assert len({configuration.name for configuration in configurations}) == 2 * 2 * 2 + 1
    assert all(re.fullmatch(r"[a-z0-9._-]+", configuration.name) for configuration in configurations)
    assert configurations[-1].chunking.model_dump()["arguments"] == {"separators": ["\n", ""]}


def test_a_wrong_class_name_is_a_fault_of_the_experiment() -> None:
    settings = {
        "name": "x",
        "dataset": {"kind": "golden", "path": "."},
        "pipeline": {"chunking": {"kind": "chonkie", "chunker": "Sentence", "size": 64}},
    }
    with pytest.raises(
        ExperimentError, match=r"chunking 'chonkie' chunker is 'Sentence': chonkie has no such chunker \(did you mean 'Sentence"
    ):
        experiment_of(settings, "x.yaml")
