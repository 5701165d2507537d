import numpy as np
import pytest

from workbench.measures.attribution.evidence_state import second_longest, section_borders

from .conftest import faults_of


@pytest.fixture(scope="module")
def outcome(outcome_of_sizes):
    return outcome_of_sizes()


@pytest.fixture(scope="module")
def faults(outcome):
    def of(start: str):
        (result,) = [one for one in outcome.results if one.configuration.name.startswith(start)]
        return faults_of(outcome, result)

    return of


def test_chunks_beyond_the_window_are_counted_with_their_tokens(faults, outcome):
    beyond = faults("fixed-64")
    lengths = outcome.results[2].input_lengths
    assert beyond["longer than the window"].found == (lengths > 48).sum()
    assert beyond["tokens never embedded"].found == (lengths - 48).clip(0).sum()
    assert faults("fixed-16")["longer than the window"].found == 0


def test_evidence_that_no_chunk_holds_whole_is_cut(faults):
    small, large = faults("fixed-16")["evidence cut by a boundary"], faults("fixed-64")["evidence cut by a boundary"]
    assert small.of == large.of == 6
    assert small.found > large.found
    # The question about opening hours has three alternatives, and one of them is whole.
    assert "q5" not in small.examples


def only(run, name: str, chunking: dict[str, object]):
    outcome = run(name=name, sweep={"chunking": [chunking], "retrieval": [{"kind": "bm25", "k": 5}]})
    return faults_of(outcome, outcome.results[0])


def test_one_section_is_one_topic(run):
    faults = only(run, "sections", {"kind": "markdown", "size": 256})
    assert faults["several topics"].found == 0


def test_the_second_longest_section_of_a_chunk_is_that_of_a_table_of_all_sections():
    """The plain way, which takes memory for every chunk and section: 20,000 headings in 40,000 chunks are 6 GB."""
    random = np.random.default_rng(0)
    for _ in range(200):
        length = int(random.integers(60, 400))
        borders = np.unique(np.r_[0, random.integers(1, length, random.integers(1, 40)), length])
        starts = np.sort(random.integers(0, length - 1, 30))
        ends = np.minimum(starts + random.integers(1, 80, 30), length)
        parts = np.sort(np.diff(np.clip(borders[None, :], starts[:, None], ends[:, None]), axis=1), axis=1)
        assert (second_longest(borders, starts, ends) == parts[:, -2]).all()


def test_several_sections_in_a_chunk_are_several_topics(faults):
    assert faults("fixed-64")["several topics"].found > 0


def test_equal_texts_are_duplicates(run):
    faults = only(run, "repeated", {"kind": "recursive", "size": 32, "tokens": "characters"})
    assert faults["exact duplicates"].found >= 2


@pytest.mark.parametrize(
    ("text", "borders"),
    [
        ("plain text", [0, 10]),
        ("# A\n\ntext", [0, 9]),
        ("# A\n\n## B\n\ntext", [0, 15]),
        ("before\n\n# A\n\ntext", [0, 8, 17]),
        ("# A\n\ntext\n\n## B\n\nmore", [0, 11, 21]),
        ("\n\n# A\n\n## B\n\ntext", [0, 17]),
    ],
)
def test_a_heading_with_nothing_under_it_belongs_to_what_follows(text, borders):
    assert section_borders(text).tolist() == borders
