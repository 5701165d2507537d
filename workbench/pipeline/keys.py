"""What each stage's result is called: a hash of its own settings, its inputs' keys and the version of what computes it.

documents → chunks → vectors → index → hits → scores, with the queries' vectors joining at the hits and the labels at the scores.
A stage whose result changes for equal settings gets a new number in VERSIONS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.core.fingerprint import fingerprint, fingerprint_of_rows
from workbench.metrics.names import Metric
from workbench.models.files import model_fingerprint
from workbench.models.tokenizers import BUDGET_VOCABULARY
from workbench.pipeline.configuration import Configuration
from workbench.records import Dataset
from workbench.retrieval.base import SearchDepth
from workbench.retrieval.chroma_index import index_key
from workbench.retrieval.rank import SEED

VERSIONS = {"chunks": 1, "vectors": 1, "queries": 1, "hits": 4, "scores": 2}


@dataclass(frozen=True)
class Keys:
    """The keys of one configuration's stages; None for those it does without."""

    chunks: str
    vectors: str | None
    queries: str | None
    index: str | None
    hits: str
    scores: str


@dataclass(frozen=True)
class Identity:
    """The fingerprints of a dataset: its documents, its questions' texts, its labels."""

    dataset: Dataset

    @cached_property
    def corpus(self) -> str:
        """Of the documents."""
        return fingerprint_of_rows((document.doc_id, document.title, document.text) for document in self.dataset.documents)

    @cached_property
    def questions(self) -> str:
        """Of the texts of the queries, in order."""
        return fingerprint([query.text for query in self.dataset.queries])

    @cached_property
    def labels(self) -> str:
        """Of queries and judgements: all that metrics read besides what was retrieved."""
        queries = [(query.query_id, query.answerable, dict(query.metadata)) for query in self.dataset.queries]
        qrels = [(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in self.dataset.qrels]
        needs = [(need.query_id, [(span.doc_id, span.start, span.end) for span in need.alternatives]) for need in self.dataset.needs]
        return fingerprint(queries, qrels, needs)


def keys_of(
    configuration: Configuration, identity: Identity, depth: SearchDepth, metrics: Sequence[Metric], spans: str, indexed: bool = True
) -> Keys:
    """The keys of a configuration on a dataset, its vectors `indexed` or not; nothing is computed for them but hashes of files."""
    budget = model_fingerprint(BUDGET_VOCABULARY)
    chunks = fingerprint("chunks", VERSIONS["chunks"], configuration.chunking.identity(), budget, identity.corpus)
    embedding, retrieval = configuration.embedding, configuration.retrieval
    vectors = queries = index = None
    if embedding is not None:
        vectors = fingerprint("vectors", VERSIONS["vectors"], embedding.identity("document"), chunks)
        queries = fingerprint("queries", VERSIONS["queries"], embedding.identity("query"), identity.questions)
        index = index_key(vectors) if indexed else None
    searched = (vectors, queries, index) if embedding is not None else (chunks, identity.questions)
    looked = (depth.slices, depth.tokens, depth.documents, depth.listed)
    hits = fingerprint("hits", VERSIONS["hits"], retrieval.version, retrieval.model_dump(), looked, SEED, searched)
    scores = fingerprint("scores", VERSIONS["scores"], hits, identity.labels, [str(metric) for metric in metrics], spans)
    return Keys(chunks, vectors, queries, index, hits, scores)
