from workbench.metrics.inputs import Labels
from workbench.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.statistics.clusters import query_clusters


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
