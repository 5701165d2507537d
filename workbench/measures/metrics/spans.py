"""Metrics over delivered text: chunks that have evidence, and evidence spans, character by character, at k chunks or at N tokens.

D is the union of the delivered text, counting overlaps once. Each need is represented by its best-covered alternative
(largest covered share, then the shorter, then the first); E is the union of these, A the union of all alternatives. Lengths
are code points. The definitions are ours; with one alternative for each need they are recall, precision and IoU of
character sets. Where needs have alternatives of very different lengths, more text can lower span_recall: it may complete a
short alternative, which then takes the place of a long one in E. need_recall never falls.

Under `spans: chroma` recall, precision and IoU are those of Chroma's report "Evaluating Chunking Strategies for Retrieval" (Smith
and Troynikov 2024), read from `chunking_evaluation/evaluation_framework/base_evaluation.py`. Every alternative is plain evidence.
Only numerators are unions: evidence that overlaps itself counts as often as it is listed in recall's denominator and in what IoU
misses; retrieved text that overlaps itself counts as often as it is retrieved in the denominators of precision and IoU. A delivered
slice (a parent) corresponds to Chroma's chunk, and k may be any number; the report uses the number of chunks that touch evidence.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from workbench.measures.metrics.case import Case, Cut, Delivered, MetricValues, Slices, delivered, delivered_documents, slices
from workbench.measures.metrics.coverage import Bools, Floats, Ints, Union, meeting, ratio, sharing_half, totals
from workbench.measures.metrics.definition import ANSWERABLE, EITHER, EVIDENCE, RELEVANT, WORKBENCH, MetricDefinition
from workbench.measures.metrics.inputs import Labels


def chunk_precision(case: Case, cut: Cut) -> MetricValues:
    """Relevant chunks among the first k delivered / k; at most min(k, all relevant chunks) / k.

    A chunk is relevant if it overlaps an evidence alternative by at least half of the shorter of the two or, for a query
    without any evidence, if it comes from a relevant document.
    """
    labels, table, text = case.labels, case.shared(slices), case.shared(delivered, cut)
    evident = case.shared(_evident)
    by_evidence = np.isin(text.query * len(table.starts) + text.piece, evident)
    by_document = np.isin(delivered_documents(case, cut), labels.relevant_pairs)
    relevant = np.where(labels.has_evidence[text.query], by_evidence, by_document)
    value = totals(text.query, relevant, labels.queries) / cut.depth
    return MetricValues(value, np.minimum(case.shared(_available), cut.depth) / cut.depth)


def _evident(case: Case, _: Cut) -> Ints:
    """The distinct keys query * slices + slice of all slices that overlap evidence by at least half of the shorter of the two."""
    labels, table = case.labels, case.shared(slices)
    alternative, piece = sharing_half(table.starts, table.ends, labels.alternative_start, labels.alternative_end)
    return np.unique(labels.alternative_query[alternative] * len(table.starts) + piece)


def _available(case: Case, _: Cut) -> Ints:
    labels, table = case.labels, case.shared(slices)
    by_evidence = np.bincount(case.shared(_evident) // max(len(table.starts), 1), minlength=labels.queries)
    query, doc = np.divmod(labels.relevant_pairs, labels.documents)
    by_document = totals(query, np.bincount(table.doc, minlength=labels.documents)[doc], labels.queries)
    return np.where(labels.has_evidence, by_evidence, by_document).astype(np.int64)


def hit_recall(case: Case, cut: Cut) -> MetricValues:
    """Relevant documents among those of the first k chunks / relevant documents; at most min(k, R) / R."""
    relevant = np.maximum(case.labels.relevant_counts, 1).astype(np.float64)
    return MetricValues(case.shared(_documents, cut)[0] / relevant, np.minimum(relevant, cut.depth) / relevant)


def hit_precision(case: Case, cut: Cut) -> MetricValues:
    """Relevant documents among those of the first k chunks / distinct documents of these chunks; 0 without results."""
    relevant, distinct = case.shared(_documents, cut)
    return MetricValues(ratio(relevant, distinct), np.ones(case.labels.queries))


def _documents(case: Case, cut: Cut) -> tuple[Floats, Floats]:
    """Count the relevant distinct documents and the distinct documents. Shape (queries,) each."""
    labels, pairs = case.labels, np.unique(delivered_documents(case, cut))
    query, good = pairs // labels.documents, np.isin(pairs, labels.relevant_pairs)
    return totals(query, good, labels.queries), totals(query, np.ones_like(query), labels.queries)


class SpanOverlap(NamedTuple):
    """Lengths (queries) of D, E, A and of the intersections of D with E and A.

    `listed` sums the lengths of alternatives, `missed` those of their parts outside D, `paid` those of delivered slices.
    """

    text: Floats
    chosen: Floats
    every: Floats
    text_chosen: Floats
    text_every: Floats
    listed: Floats
    missed: Floats
    paid: Floats

    @property
    def most(self) -> Floats:
        """The largest |D ∩ A| possible with the same amount of distinct text. Shape (queries,)."""
        return np.minimum(self.text, self.every)


def span_recall(case: Case, cut: Cut) -> MetricValues:
    """|D ∩ E| / |E|; at most min(1, |D| / |E|) for the same amount of text. Chroma: |D ∩ A| / the sum of the alternatives' lengths."""
    of = case.shared(_overlap, cut)
    if case.spans == "chroma":
        return MetricValues(ratio(of.text_every, of.listed), ratio(of.most, of.listed))
    return MetricValues(ratio(of.text_chosen, of.chosen), np.minimum(1, ratio(of.text, of.chosen)))


def span_precision(case: Case, cut: Cut) -> MetricValues:
    """|D ∩ A| / |D|, where D includes text of other documents; at most min(1, |A| / |D|) for the same amount of text. 0 for no text.

    Chroma: |D ∩ A| / the sum of the slices' lengths.
    """
    of = case.shared(_overlap, cut)
    if case.spans == "chroma":
        return MetricValues(ratio(of.text_every, of.paid), ratio(of.most, of.paid))
    return MetricValues(ratio(of.text_every, of.text), np.minimum(1, ratio(of.every, of.text)))


def span_iou(case: Case, cut: Cut) -> MetricValues:
    """|D ∩ A| / (|D| + |E \\ D|); at most min(1, |D| / |E|) · min(1, |A| / |D|) for the same amount of text.

    Chroma: |D ∩ A| / (the sum of the slices' lengths + evidence that they miss).
    """
    of = case.shared(_overlap, cut)
    if case.spans == "chroma":
        return MetricValues(ratio(of.text_every, of.paid + of.missed), ratio(of.most, of.paid + of.every - of.most))
    most = np.minimum(1, ratio(of.text, of.chosen)) * np.minimum(1, ratio(of.every, of.text))
    return MetricValues(ratio(of.text_every, of.text + of.chosen - of.text_chosen), most)


def need_recall(case: Case, cut: Cut) -> MetricValues:
    """The share of needs for which every non-blank character of an alternative is delivered.

    Blanks are ignored: chunks are stripped, so blanks may be missing between two delivered chunks.
    """
    queries = case.labels.queries
    needs = np.bincount(case.labels.need_query, minlength=queries).astype(np.float64)
    return MetricValues(ratio(totals(case.labels.need_query, case.shared(met, cut), queries), needs), np.ones(queries))


def complete(case: Case, cut: Cut) -> MetricValues:
    """1 if every need is met by the definition of `need_recall`."""
    missed = totals(case.labels.need_query, ~case.shared(met, cut), case.labels.queries)
    return MetricValues((missed == 0).astype(np.float64), np.ones(case.labels.queries))


def _overlap(case: Case, cut: Cut) -> SpanOverlap:
    labels, delivery = case.labels, case.shared(delivered, cut)
    # A line with one copy of the corpus for each query.
    width, queries = labels.width, labels.queries
    text = Union.of(delivery.query * width + delivery.starts, delivery.query * width + delivery.ends)
    lows, highs = labels.evidence
    covered = text.covered(lows, highs)
    share = ratio(covered.astype(np.float64), (highs - lows).astype(np.float64))
    order = np.lexsort((highs - lows, -share, labels.alternative_need))
    best = order[np.unique(labels.alternative_need[order], return_index=True)[1]]
    chosen, every = Union.of(lows[best], highs[best]), Union.of(lows, highs)
    return SpanOverlap(
        text=text.by_group(width, queries),
        chosen=chosen.by_group(width, queries),
        every=every.by_group(width, queries),
        text_chosen=text.shared_by_group(chosen, width, queries),
        text_every=text.shared_by_group(every, width, queries),
        listed=totals(labels.alternative_query, highs - lows, queries),
        missed=totals(labels.alternative_query, highs - lows - covered, queries),
        paid=totals(delivery.query, delivery.ends - delivery.starts, queries),
    )


def met(case: Case, cut: Cut) -> Bools:
    """Mask of the needs of which an alternative is delivered, apart from blanks. Shape (needs,)."""
    return met_by(case.labels, case.shared(delivered, cut))


def met_by(labels: Labels, text: Delivered) -> Bools:
    """Mask of the needs of which the text contains every non-blank character of an alternative. Shape (needs,)."""
    delivered, length = delivered_characters(labels, text)
    return totals(labels.alternative_need, (length > 0) & (delivered == length), len(labels.need_query)) > 0


def delivered_characters(labels: Labels, text: Delivered) -> tuple[Ints, Ints]:
    """Count each alternative's non-blank characters in its query's text, and all of them. Shape (alternatives,)."""
    width = labels.width
    solid = Union.of(text.query * width + labels.solid(text.starts), text.query * width + labels.solid(text.ends))
    lows = labels.alternative_query * width + labels.solid(labels.alternative_start)
    highs = labels.alternative_query * width + labels.solid(labels.alternative_end)
    return solid.covered(lows, highs), highs - lows


def span_precision_omega(case: Case, _: Cut) -> MetricValues:
    """|T ∩ A| / |T|, where T is the text that perfect retrieval delivers and A the union of all evidence alternatives.

    Exact (ours): T is, for each need, every delivered slice that shares a character with the alternative that needs the least
    delivered text (the first of equals). Chroma (its report's precision Ω): T is the union of the slices that touch any evidence,
    a shared border included, and the denominator |T ∪ A|.
    """
    labels, table = case.labels, case.shared(slices)
    touching = case.spans == "chroma"
    alternative, piece = meeting(table.starts, table.ends, labels.alternative_start, labels.alternative_end, touching=touching)
    if not touching:
        least = _least(case, table, alternative, piece)[alternative]
        alternative, piece = alternative[least], piece[least]
    width, queries = labels.width, labels.queries
    origin = labels.alternative_query * width
    text = Union.of(origin[alternative] + table.starts[piece], origin[alternative] + table.ends[piece])
    evidence = Union.of(*labels.evidence)
    shared, total = text.shared_by_group(evidence, width, queries), text.by_group(width, queries)
    if touching:
        total = total + evidence.by_group(width, queries) - shared
    return MetricValues(ratio(shared, total), np.ones(queries))


def _least(case: Case, table: Slices, alternative: Ints, piece: Ints) -> Bools:
    """Mask of each need's cheapest alternative, in characters of delivered text. Shape (alternatives,)."""
    labels = case.labels
    count, width = len(labels.alternative_need), labels.width
    text = Union.of(alternative * width + table.starts[piece], alternative * width + table.ends[piece])
    # An alternative outside all slices cannot be delivered, so it never is the cheapest.
    cost = np.where(np.bincount(alternative, minlength=count) > 0, text.by_group(width, count), np.inf)
    order = np.lexsort((cost, labels.alternative_need))
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order[np.unique(labels.alternative_need[order], return_index=True)[1]]] = True
    return chosen


_SMITH = "Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval"
_metric = partial(MetricDefinition, family="spans", cut="k or tokens", requires=(ANSWERABLE, EVIDENCE), source=_SMITH)
_of_hits = partial(MetricDefinition, family="hits", cut="k", requires=(ANSWERABLE, RELEVANT), source="common in test code")
TEXT_METRICS = (
    _of_hits(
        "hit_recall",
        hit_recall,
        definition="share of the relevant documents among those of the first k delivered chunks",
        formula="relevant documents of the first k chunks / R",
    ),
    _of_hits(
        "hit_precision",
        hit_precision,
        definition="share of the documents of the first k delivered chunks that are relevant",
        formula="relevant documents of the first k chunks / their distinct documents",
        suite_test="context precision",
    ),
    MetricDefinition(
        "chunk_precision",
        chunk_precision,
        "chunks",
        "k",
        (ANSWERABLE, EITHER),
        "share of the k delivered chunks that overlap evidence by at least half of the shorter of the two",
        "relevant chunks among the first k / k",
        WORKBENCH,
        words="the share of {first} with evidence: at least half of the shorter of chunk and evidence overlaps; 1 is all of them",
        reads_index="attainable",
        suite_test="context precision",
    ),
    _metric(
        "span_recall",
        span_recall,
        definition="share of the evidence's characters that were delivered",
        words="the share of the needed evidence inside {first} that a configuration delivers; 1 is all of it",
        quantity="share of the evidence found",
        formula="|D ∩ E| / |E|",
    ),
    _metric(
        "span_precision",
        span_precision,
        definition="share of the delivered characters that are evidence",
        words="the share of evidence in the text of {first} that a configuration delivers; 1 is nothing but evidence",
        quantity="share of evidence in the text",
        formula="|D ∩ A| / |D|",
    ),
    _metric(
        "span_iou",
        span_iou,
        definition="share of delivered evidence in all text that was delivered or should have been",
        words="the share of delivered evidence in all text of {first} and of the evidence that they lack; 1 is exactly the evidence",
        formula="|D ∩ A| / (|D| + |E ∖ D|)",
    ),
    _metric(
        "need_recall",
        need_recall,
        definition="share of the pieces of evidence that were delivered whole",
        words="the share of the pieces of evidence that are whole inside {first} that a configuration delivers; 1 is all of them",
        quantity="share of the pieces of evidence found",
        formula="pieces of evidence with an alternative inside D / pieces of evidence",
        source=WORKBENCH,
    ),
    _metric(
        "complete",
        complete,
        definition="1 if every piece of evidence was delivered whole",
        words="the share of questions whose evidence is whole inside {first} that a configuration delivers; 1 is all of them",
        formula="1 if need_recall = 1, else 0",
        source=WORKBENCH,
    ),
    _metric(
        "span_precision_omega",
        span_precision_omega,
        cut="none",
        definition="span precision if retrieval were perfect",
        formula="|T ∩ A| / |T|",
        reads_index="value",
    ),
)
