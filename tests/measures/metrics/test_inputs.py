import sys

import numpy as np
import pandas as pd

from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.measures.metrics.inputs import _BLANK, filled_ranks


def test_documents_lie_on_one_line_with_a_gap(make_labels) -> None:
    labels = make_labels(["four", "", "seven ."], {"needs": [[(2, 0, 5)], [(0, 0, 4), (2, 6, 7)]], "qrels": {2: 1}})
    assert labels.offsets.tolist() == [0, 5, 6, 14]
    assert labels.alternative_start.tolist() == [6, 0, 12]
    assert labels.alternative_end.tolist() == [11, 4, 13]
    assert labels.alternative_need.tolist() == [0, 1, 1]
    assert labels.alternative_query.tolist() == [0, 0, 0]


def test_blanks_are_what_strip_strips() -> None:
    assert _BLANK.tolist() == [code for code in range(sys.maxunicode + 1) if not chr(code).strip()]


def test_solid_positions_count_visible_characters(make_labels) -> None:
    labels = make_labels(["a b\u00a0\n😀c"], {"needs": [[(0, 0, 7)]]})
    assert labels.solid(np.arange(8)).tolist() == [0, 1, 1, 2, 2, 2, 3, 4]


def test_token_starts_are_those_of_the_budget_vocabulary(make_labels) -> None:
    texts = ["Evidence spans, naïvely.", "", "two words"]
    labels = make_labels(texts)
    starts = [tokens.starts.tolist() for tokens in tokenise(texts, BUDGET_VOCABULARY)]
    assert labels.token_starts.tolist() == starts[0] + [start + len(texts[0]) + 2 for start in starts[2]]


def test_places_are_documents_and_characters_in_them(make_labels) -> None:
    labels = make_labels(["four", "", "seven ."])
    chunks = pd.DataFrame({"doc": [0, 2, 2], "start": [0, 0, 6], "end": [4, 5, 7]})
    starts, ends = labels.positions(chunks, "start", "end")
    assert list(labels.places(starts, ends)) == [(0, 0, 4), (2, 0, 5), (2, 6, 7)]


def test_half_of_a_surrogate_pair_is_a_visible_character(make_labels) -> None:
    labels = make_labels(["a \ud83d b"], {"needs": [[(0, 0, 5)]]})
    assert labels.solid(np.arange(6)).tolist() == [0, 1, 1, 2, 2, 3]


def test_an_empty_rank_is_filled_with_a_document_outside_the_dataset():
    ranking = pd.DataFrame({"query": [0, 0, 1, 1], "rank": [2, 4, 1, 2], "doc": [7, 8, 9, 7], "score": [0.9, 0.5, 0.4, 0.3]})
    filled = filled_ranks(ranking)
    assert filled["rank"].tolist() == [1, 2, 3, 4, 1, 2]
    assert filled["doc"].tolist() == [-1, 7, -1, 8, 9, 7]
    assert filled["score"].tolist() == [0.9, 0.9, 0.9, 0.5, 0.4, 0.3]
    whole = ranking[ranking["query"] == 1]
    assert filled_ranks(whole) is whole
