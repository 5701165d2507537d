import pandas as pd

from workbench.measures.attribution.causes import CAUSE_NAMES, CAUSES, EVIDENCE_CAUSES, causes_by_query, earliest

LAYERS = ("indexing", "chunking", "embedding", "retrieval", "packing", "answering", "judging")


def test_causes_are_in_the_order_of_their_layers() -> None:
    places = [LAYERS.index(cause.layer) for cause in CAUSES]
    assert places == sorted(places)
    assert CAUSES[: len(EVIDENCE_CAUSES)] == EVIDENCE_CAUSES
    assert len(set(CAUSE_NAMES)) == len({cause.words for cause in CAUSES}) == len(CAUSES)


def test_the_earliest_layer_takes_precedence() -> None:
    assert earliest(["budget", "", "rank"]) == "rank"
    assert earliest(["window", "boundary", "not_indexed"]) == "not_indexed"
    assert earliest([]) == earliest([""]) == ""


def test_the_cause_of_a_query_is_its_earliest() -> None:
    table = pd.DataFrame({"query": [0, 0, 2, 3, 3], "cause": ["rank", "boundary", "budget", "budget", "rank"]})
    assert causes_by_query(table, 5).tolist() == ["boundary", "", "budget", "rank", ""]
