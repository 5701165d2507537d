"""Span metrics as in Chroma's report "Evaluating Chunking Strategies for Retrieval" (Smith and Troynikov 2024).

Read from `chunking_evaluation/evaluation_framework/base_evaluation.py`. Every alternative is plain evidence. Evidence that
overlaps itself counts as often as it is listed in recall's denominator and in what IoU misses; retrieved text that overlaps
itself counts as often as it is retrieved in the denominators of precision and IoU. Only numerators are unions. A delivered
slice (a parent) stands for Chroma's chunk, and k may be any number, where the report takes as many as touch evidence.
"""

from typing import NamedTuple

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Floats, Union, ratio, totals
from workbench.metrics.delivery import delivered


class ChromaOverlap(NamedTuple):
    """(queries) `found` = |∪ (chunk ∩ evidence)|; `listed`, `missed`, `paid`: sums over evidence, its uncovered parts, retrieved chunks.

    `most` is the largest `found` that as much distinct text allows.
    """

    found: Floats
    listed: Floats
    missed: Floats
    paid: Floats
    most: Floats
    every: Floats


def chroma_recall(case: Case, cut: Cut) -> MetricValues:
    """|∪ (chunk ∩ evidence)| / sum of the lengths of the evidence spans."""
    of = case.shared(_overlap, cut)
    return MetricValues(ratio(of.found, of.listed), ratio(of.most, of.listed))


def chroma_precision(case: Case, cut: Cut) -> MetricValues:
    """|∪ (chunk ∩ evidence)| / sum of the lengths of the retrieved chunks."""
    of = case.shared(_overlap, cut)
    return MetricValues(ratio(of.found, of.paid), ratio(of.most, of.paid))


def chroma_iou(case: Case, cut: Cut) -> MetricValues:
    """|∪ (chunk ∩ evidence)| / (sum of the lengths of the retrieved chunks + evidence that they miss)."""
    of = case.shared(_overlap, cut)
    return MetricValues(ratio(of.found, of.paid + of.missed), ratio(of.most, of.paid + of.every - of.most))


def _overlap(case: Case, cut: Cut) -> ChromaOverlap:
    labels, chunks = case.labels, case.shared(delivered, cut)
    width, queries = labels.width, labels.queries
    text = Union.of(chunks.query * width + chunks.starts, chunks.query * width + chunks.ends)
    lows = labels.alternative_query * width + labels.alternative_start
    highs = labels.alternative_query * width + labels.alternative_end
    evidence = Union.of(lows, highs)
    every = evidence.by_group(width, queries)
    missed = highs - lows - text.covered(lows, highs)
    return ChromaOverlap(
        found=text.shared_by_group(evidence, width, queries),
        listed=totals(labels.alternative_query, highs - lows, queries),
        missed=totals(labels.alternative_query, missed, queries),
        paid=totals(chunks.query, chunks.ends - chunks.starts, queries),
        most=np.minimum(text.by_group(width, queries), every),
        every=every,
    )
