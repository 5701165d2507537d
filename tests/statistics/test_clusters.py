import numpy as np

from workbench.metrics.inputs import Labels
from workbench.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.statistics.clusters import query_clusters, units


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
    assert query_clusters(labels).tolist() == [2, 2, 3 + 2, 3 + 3, 1]


def test_from_ten_documents_on_a_document_is_one_observation() -> None:
    found = units(np.repeat(list("jihgfedcba"), 2))
    assert (found.count, found.clusters, found.conditional) == (10, 10, False)
    assert found.codes.tolist() == np.repeat(np.arange(9, -1, -1), 2).tolist()


def test_with_fewer_each_query_is_one_and_the_inference_is_conditional() -> None:
    found = units(np.repeat(np.arange(9), 2))
    assert (found.count, found.clusters, found.conditional) == (18, 9, True)


def test_a_few_queries_of_as_many_documents_are_not_conditional() -> None:
    found = units([7, 3, 5])
    assert (found.codes.tolist(), found.clusters, found.conditional) == ([2, 0, 1], 3, False)
    assert units([]).count == 0
