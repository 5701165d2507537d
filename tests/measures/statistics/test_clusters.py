import numpy as np
import pandas as pd
import pytest

from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.measures.metrics.inputs import Labels
from workbench.measures.statistics.clusters import Clusters, query_clusters, query_slices, weighted


def test_a_cluster_is_the_document_that_holds_the_answer() -> None:
    labels = Labels.of(
        Dataset(
            name="small",
            documents=tuple(Document(name, "text") for name in "abc"),
            queries=tuple(Query(name, "?") for name in ("first span", "one document", "two documents", "nothing", "two needs")),
            qrels=(
                Qrel("first span", "a", 1),
                Qrel("one document", "c", 1),
                Qrel("one document", "a", 0),
                Qrel("two documents", "a", 1),
                Qrel("two documents", "b", 2),
            ),
            needs=(
                Need("two needs", (Span("b", 0, 1), Span("a", 0, 1))),
                Need("first span", (Span("c", 0, 1),)),
                Need("two needs", (Span("a", 0, 1),)),
            ),
        )
    )
    found = query_clusters(labels)
    assert found.codes.tolist() == [1, 1, 2, 3, 0]
    assert found.documents == [[2], [2], [0, 1], [], [1, 0]]


def test_clusters_are_numbered_by_any_names() -> None:
    found = Clusters.of(list("baab"))
    assert (found.codes.tolist(), found.count, len(found)) == ([1, 0, 0, 1], 2, 4)
    assert found.links is None
    assert Clusters.of(found) is found
    assert Clusters.of([]).count == 0


def test_queries_are_linked_by_any_document_they_share() -> None:
    clusters = Clusters.linked([0, 0, 1, 5, 6], [[0], [0, 1], [1], [], [7]])
    links = clusters.links.toarray()
    assert links.tolist() == [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    scored = np.array([[1.0, 1, 0, 1, 1]])
    assert (scored * (scored @ clusters.links)).tolist() == [[2, 2, 0, 1, 1]]


def test_a_part_keeps_its_links() -> None:
    whole = Clusters.linked([0, 0, 1, 5, 6], [[0], [0, 1], [1], [], [7]])
    part = whole[np.array([False, True, True, False, True])]
    assert (part.codes.tolist(), part.documents) == ([0, 1, 2], [[0, 1], [1], [7]])
    assert part.links.toarray().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_the_links_of_a_small_part_are_computed_once() -> None:
    clusters = Clusters.linked([0, 1, 1, 2], [[0, 1], [1], [1], [2]])
    part = np.array([True, True, False, True])
    assert clusters[part].links is clusters[part.copy()].links
    assert len(clusters[~part]) == 1


def test_one_document_for_each_query_links_nothing_beyond_its_clusters() -> None:
    assert Clusters.linked([0, 0, 1], [[0], [0], []]).links is None


def test_too_many_links_are_not_compared() -> None:
    clusters = Clusters.linked(range(5000), [[0, place + 1] for place in range(5000)])
    assert clusters.too_many_links
    assert clusters.links is None


def test_clusters_of_two_dimensions_are_refused() -> None:
    with pytest.raises(InputError, match="one cluster for each value"):
        Clusters.of([[1, 2]])


def test_clusters_are_read_from_a_table_of_questions() -> None:
    found = Clusters.of_table(pd.DataFrame({"cluster": [7, 3, 7], "documents": ["[7, 2]", "[3]", "[]"]}))
    assert found.codes.tolist() == [1, 0, 1]
    assert found.documents == [[7, 2], [3], []]


def test_the_documents_of_a_cluster_are_those_of_its_queries() -> None:
    clusters = weighted(Clusters.linked([0, 0, 1, 2], [[0], [0, 1], [1], [2]]), "documents")
    values, averaged = clusters.averaged(np.array([[1, 0, 0.5, np.nan]]))
    assert values[0] == pytest.approx([0.5, 0.5, np.nan], nan_ok=True)
    assert (averaged.codes.tolist(), averaged.documents) == ([0, 1, 2], [[0, 1], [1], [2]])


def test_questions_of_users_are_a_slice_also_beside_questions_that_do_not_say_where_they_come_from() -> None:
    slices = query_slices([{"source": "production"}, {}, {"source": "production"}], 3)
    assert slices["source=production"].tolist() == [True, False, True]
    assert list(query_slices([{"source": "production"}] * 3, 3)) == ["all"]
    assert list(query_slices([{"source": "handbook"}, {}], 2)) == ["all"], "another source is no more than any other field"
    assert list(query_slices([{"source": "production"}, {"source": "handbook"}], 2)) == ["all", "source=handbook", "source=production"]
