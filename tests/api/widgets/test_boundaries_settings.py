"""Whatever the sliders say is a valid chunker, and its YAML is a valid setting of an experiment."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.api.widgets.boundaries import KINDS, UNITS, ChunkingSettings
from workbench.components.registry import CHUNKERS
from workbench.runner.experiment.read import experiment_of

MOVED = st.builds(
    ChunkingSettings,
    kind=st.sampled_from(KINDS),
    size=st.integers(-5, 5_000),
    overlap=st.integers(-5, 5_000),
    parent=st.integers(-5, 5_000),
    enrich=st.booleans(),
    tokens=st.sampled_from(UNITS),
)


@given(MOVED)
def test_the_yaml_of_any_setting_gives_the_same_chunker_in_an_experiment(settings: ChunkingSettings) -> None:
    written = yaml.safe_load(settings.as_yaml)
    spec = experiment_of(
        {
            "name": "moved",
            "dataset": {"kind": "golden", "path": "experiments/handbook"},
            "pipeline": {**written, "retrieval": {"kind": "bm25"}},
        },
        "here",
    )
    (configuration,) = spec.configurations
    assert configuration.chunking == settings.chunker


@given(MOVED)
def test_the_settings_of_a_chunker_are_those_that_made_it(settings: ChunkingSettings) -> None:
    found = ChunkingSettings.of(settings.chunker)
    assert found is not None
    assert found.chunker == settings.chunker


def test_sizes_that_contradict_each_other_move_to_the_nearest_that_do_not() -> None:
    settings = ChunkingSettings("hierarchical", size=300, overlap=400, parent=100)
    assert (settings.overlap, settings.parent) == (299, 301)
    assert ChunkingSettings(size=1).size == 8


def test_every_kind_without_vectors_or_foreign_code_is_offered() -> None:
    foreign = {"langchain", "chonkie", "callable", "semantic"}
    builtin = {kind for kind, chunker in CHUNKERS.items() if chunker.__module__.startswith("workbench.")}
    assert set(KINDS) == builtin - foreign
    assert ChunkingSettings.of(wb.SemanticChunker(size=256)) is None
