"""The public names, and what importing them loads."""

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.measures.metrics.registry import METRICS

NAMES = [
    "BM25Retriever",
    "CallableChunker",
    "CallableTarget",
    "ChatGenerator",
    "ChonkieChunker",
    "Chunk",
    "Chunker",
    "ClaimSplitter",
    "ContextPacking",
    "CrossEncoderReranker",
    "Dataset",
    "DatasetError",
    "DenseRetriever",
    "Document",
    "Embedder",
    "EndpointReranker",
    "Experiment",
    "ExperimentError",
    "ExtractiveGenerator",
    "FixedChunker",
    "Generator",
    "HierarchicalChunker",
    "Hit",
    "Hits",
    "HttpTarget",
    "HybridRetriever",
    "Index",
    "InputError",
    "Judge",
    "Judging",
    "LangChainChunker",
    "LateInteractionReranker",
    "LawError",
    "LocalGenerator",
    "MMRReranker",
    "MarkdownChunker",
    "McpTarget",
    "Metric",
    "ModelError",
    "Need",
    "OllamaEmbedder",
    "OpenAIEmbedder",
    "OverlapJudge",
    "Pipeline",
    "PipelineTarget",
    "Plan",
    "Qrel",
    "Query",
    "QueryLog",
    "RM3Rewriter",
    "RecordedGenerator",
    "RecordedRewriter",
    "RecordedTarget",
    "RecursiveChunker",
    "Reranker",
    "Results",
    "Retriever",
    "Rewriter",
    "RocchioRewriter",
    "RunError",
    "Scores",
    "SemanticChunker",
    "SentenceChunker",
    "SentenceSplitter",
    "SentenceTransformerEmbedder",
    "Span",
    "StaticEmbedder",
    "StoreError",
    "Target",
    "Verdict",
    "WholeChunker",
    "WorkbenchError",
    "apply_labels",
    "check_freshness",
    "chunk_precision",
    "chunk_table",
    "compare",
    "complete",
    "evaluate",
    "explore",
    "hit_precision",
    "hit_recall",
    "irrelevant",
    "judged",
    "label",
    "label_agreement",
    "label_answers",
    "load",
    "load_dataset",
    "load_history",
    "load_monitoring",
    "margin",
    "margin_spread",
    "metric",
    "mlflow_scorer",
    "mrr",
    "ndcg",
    "need_recall",
    "precision",
    "project_folder",
    "read_freshness",
    "recall",
    "recall_cap",
    "save_dataset",
    "score",
    "show_chunks",
    "span_iou",
    "span_precision",
    "span_precision_omega",
    "span_recall",
    "success",
    "sweep",
    "testing",
    "tokens",
    "try_chunking",
    "what_if",
]
STUB = ast.parse(Path(wb.__file__).with_suffix(".pyi").read_text("utf-8"))

LOADED = """
import json, sys
import workbench
light = sorted({name.partition(".")[0] for name in sys.modules})
for name in sys.argv[1:]:
    getattr(workbench, name)
print(json.dumps([light, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_the_public_names_are_exactly_these() -> None:
    assert wb.__all__ == NAMES
    assert wb.map.name == "map"


def test_a_star_import_hides_nothing_of_python() -> None:
    import builtins

    assert not set(wb.__all__) & set(dir(builtins))


def test_every_name_comes_from_the_module_that_defines_it() -> None:
    for node in ast.walk(STUB):
        if isinstance(node, ast.ImportFrom):
            (alias,) = node.names
            defined = getattr(wb, alias.name)
            if node.module is None:
                assert defined.__name__ == f"workbench.{alias.name}"
                continue
            module = getattr(defined, "__module__", None)
            # A metric is an instance, and its class is in another module.
            assert module == f"workbench.{node.module}" or node.module == "measures.metrics.expressions", alias.name


def test_every_builtin_metric_is_a_name() -> None:
    from workbench.core.registry import Registry

    assert isinstance(METRICS, Registry)
    assert {name for name in METRICS.builtin if hasattr(wb, name)} == {
        name for name, each in METRICS.builtin.items() if not each.of_answers
    }


def test_importing_the_package_loads_no_heavy_one(run_python: Callable[..., str]) -> None:
    light, _ = json.loads(run_python(LOADED))
    assert not {"torch", "chromadb", "pandas", "numpy", "matplotlib", "pydantic", "sentence_transformers"} & set(light)


@pytest.mark.slow
def test_reading_results_splitting_and_naming_metrics_need_neither_torch_nor_chroma(run_python: Callable[..., str]) -> None:
    _, used = json.loads(run_python(LOADED, *NAMES))
    assert not {"torch", "chromadb", "sentence_transformers", "matplotlib"} & set(used)
