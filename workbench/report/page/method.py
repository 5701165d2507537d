"""How the numbers were made: the metrics with their definitions and sources, the tests, the causes, and what was run on what."""

from collections.abc import Iterable
from typing import Any

from workbench.analysis.findings import Findings
from workbench.attribution.evidence_causes import CAUSES, DOCUMENT_CAUSES
from workbench.core.formatting import count
from workbench.metrics.names import Metric

_TREC = "trec_eval, over distinct documents, each ranked by its best chunk; relevant is a grade of 1 or more"
_SMITH = "Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval"
# Definition and source; a metric of another package has none here.
_DEFINITIONS = {
    "recall": ("share of the relevant documents among the first k documents", _TREC),
    "precision": ("share of the first k documents that are relevant", _TREC),
    "success": ("1 where a relevant document is among the first k: the hit rate", _TREC),
    "mrr": ("1 / rank of the first relevant document among the first k, else 0", _TREC),
    "ndcg": ("discounted gain of the first k documents, divided by the largest possible", f"{_TREC}; Järvelin and Kekäläinen 2002"),
    "map": ("mean of the precision at each relevant document's rank among the first k", _TREC),
    "recall_cap": ("relevant documents found among the first k, of min(k, relevant)", "here"),
    "judged": ("share of the first k documents that have any judgement", "here"),
    "irrelevant": ("1 where a known-irrelevant document is among the first k; lower is better", "here"),
    "hit_recall": ("share of the relevant documents among those of the first k delivered chunks", "what most test code computes"),
    "hit_precision": ("share of the documents of the first k delivered chunks that are relevant", "what most test code computes"),
    "chunk_precision": ("share of the k delivered chunks that overlap evidence by at least half of the shorter of the two", "here"),
    "span_recall": ("share of the evidence's characters that were delivered", _SMITH),
    "span_precision": ("share of the delivered characters that are evidence", _SMITH),
    "span_iou": ("evidence that was delivered, of all that was delivered or should have been", _SMITH),
    "need_recall": ("share of the pieces of evidence that were delivered whole", "here"),
    "complete": ("1 where every piece of evidence was delivered whole", "here"),
    "span_precision_omega": ("span precision if retrieval were perfect", _SMITH),
    "margin": ("score of the best relevant document minus that of the best other one", "here"),
    "margin_spread": ("the margin in standard deviations of the question's scores", "here"),
}


def metric_definitions(asked: Iterable[Metric]) -> list[tuple[str, str, str]]:
    """Name, definition and source of every metric that was asked for; those at several cuts once."""
    cuts: dict[str, list[str]] = {}
    for metric in asked:
        cuts.setdefault(metric.name, []).append(str(metric))
    return [(", ".join(names), *_DEFINITIONS.get(name, ("defined by the package that brings it", "–"))) for name, names in cuts.items()]


def methods(found: Findings) -> tuple[str, ...]:
    """What was computed and tested, a line each."""
    always = (
        "@5 is after 5 delivered chunks or documents; @2000t is after 2,000 tokens of delivered chunks in rank order, the last one cut.",
        "Means are over scored questions; a question without results scores 0; questions marked unanswerable do not apply to retrieval metrics.",
        "Configurations whose chunks exceed the embedder's window are not ranked: their scores tell of the window, not of the chunking.",
    )
    return always + tuple(f"{line[0].upper()}{line[1:]}." for line in (found.verdict.methods if found.verdict else ()))


def causes(found: Findings) -> list[tuple[str, str]]:
    """Every cause of a miss and what it means, in the order in which they are looked for."""
    of_text = found.primary.family in ("spans", "chunks") and bool(found.dataset.needs)
    return list(CAUSES.items()) if of_text else list(DOCUMENT_CAUSES.items())


def provenance(about: dict[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The manifest as groups of names and values."""
    prints = about["fingerprints"]
    once = {"primary metric": about["primary"], "seed of ties": about["seeds"]["ties"], "commit": about["commit"] or "not under git"}
    groups: dict[str, dict[str, Any]] = {
        "Run": once,
        "Data": {name: count(value) if isinstance(value, int) else value for name, value in about["dataset"].items()},
        "Fingerprints of the data": {name: prints[name] for name in ("corpus", "questions", "labels")},
        "Fingerprints of the configurations": prints["configurations"],
        "Versions": about["versions"],
    }
    return [(title, [(str(name), str(value)) for name, value in group.items()]) for title, group in groups.items() if group]
