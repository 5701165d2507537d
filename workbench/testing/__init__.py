"""Check components of your own package: `check_chunker(PageChunker())` raises LawError if one breaks a law.

Each check runs all laws of one kind of component on small data with awkward cases: no network, no model but the component's own.
The laws are functions, so that pytest can report each by its name:
`@pytest.mark.parametrize("law", CHUNKER_LAWS)`, then `law(PageChunker())`.

Test a RAG system: `assert_recall(results, 0.8)` and the other assertions take the results of a sweep, or a system and a dataset.
"""

from workbench.testing.assertions.behaviour import assert_absent, assert_fresh, assert_refuses
from workbench.testing.assertions.scores import assert_end_to_end, assert_faithful, assert_recall
from workbench.testing.chunkers import CHUNKER_LAWS, check_chunker
from workbench.testing.embedders import EMBEDDER_LAWS, check_embedder
from workbench.testing.generators import GENERATOR_LAWS, check_generator
from workbench.testing.judges import JUDGE_LAWS, SPLITTER_LAWS, check_judge, check_splitter
from workbench.testing.metrics import METRIC_LAWS, check_metric
from workbench.testing.rerankers import RERANKER_LAWS, check_reranker
from workbench.testing.retrievers import RETRIEVER_LAWS, check_retriever
from workbench.testing.rewriters import REWRITER_LAWS, check_rewriter
from workbench.testing.targets import TARGET_LAWS, check_target

__all__ = [
    "CHUNKER_LAWS",
    "EMBEDDER_LAWS",
    "GENERATOR_LAWS",
    "JUDGE_LAWS",
    "METRIC_LAWS",
    "RERANKER_LAWS",
    "RETRIEVER_LAWS",
    "REWRITER_LAWS",
    "SPLITTER_LAWS",
    "TARGET_LAWS",
    "assert_absent",
    "assert_end_to_end",
    "assert_faithful",
    "assert_fresh",
    "assert_recall",
    "assert_refuses",
    "check_chunker",
    "check_embedder",
    "check_generator",
    "check_judge",
    "check_metric",
    "check_reranker",
    "check_retriever",
    "check_rewriter",
    "check_splitter",
    "check_target",
]
