from workbench.components.chunking.plain import FixedChunker
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.measures.metrics.case import Cut
from workbench.measures.metrics.names import Metric, tokens
from workbench.runner.experiment.expand import named
from workbench.runner.pipeline.configuration import PipelineConfiguration


def delivery(primary: str | None, **settings: object) -> Cut:
    configuration = PipelineConfiguration("by-hand", FixedChunker(size=16), None, BM25Retriever(k=5, **settings))
    return configuration.delivery(Metric.parse(primary) if primary else None)


def test_the_tokens_of_deliver_come_before_those_of_the_primary_metric_and_these_before_k() -> None:
    assert delivery("span_recall@2000t", deliver={"tokens": 100}) == Cut(tokens=100)
    assert delivery("span_recall@2000t") == Cut(tokens=2000)
    assert delivery("recall@3", deliver=tokens(100)) == Cut(tokens=100)
    assert delivery("recall@3") == delivery("span_recall@2") == delivery("margin") == delivery(None) == Cut(k=5)


def test_what_is_delivered_is_no_part_of_the_identity_of_a_ranking() -> None:
    assert DenseRetriever(deliver=tokens(100)).identity() == DenseRetriever().identity()


def test_configurations_that_deliver_different_tokens_have_different_names() -> None:
    retrievers = [BM25Retriever(), BM25Retriever(deliver=tokens(100)), BM25Retriever(deliver=tokens(200))]
    faults: list[str] = []
    made = named([PipelineConfiguration("fixed-16-0", FixedChunker(size=16), None, retriever) for retriever in retrievers], faults)
    assert [configuration.name for configuration in made] == [f"fixed-16-0-bm25{words}" for words in ("", "-deliver_100t", "-deliver_200t")]
    assert not faults


def test_a_wrong_delivery_is_one_line(wording) -> None:
    wording(lambda deliver: BM25Retriever(deliver=deliver), [2000, {"token": 5}, {"tokens": 0}, tokens(0), {"tokens": True}])
