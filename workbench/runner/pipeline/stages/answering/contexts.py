"""Make the contexts in which a configuration answers the questions, or take those of a target."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.components.answering.base import Generator
from workbench.components.answering.prompt_tokens import prompt_tokens
from workbench.components.context.conditions import CLEAN_TWINS, COUNTERFACTUAL, INJECTION, IRRELEVANT_ONLY, NONE, RANKED, RETRIEVED
from workbench.components.context.context_packing import ContextPacking, PackedContext
from workbench.components.context.contexts import ContextBuilder, ContextOutcome
from workbench.components.context.delivered_slices import DeliveredSlices
from workbench.components.context.question_labels import QuestionLabels, passage_of, question_labels
from workbench.components.perturb.planting import attack_texts, plant
from workbench.core.errors import InputError, RunError
from workbench.core.fingerprint import fingerprint
from workbench.core.memo import memoised
from workbench.core.records import Passage, Variant
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenised, vocabulary_digest
from workbench.measures.metrics.case import Case
from workbench.measures.metrics.delivery import delivered
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.runner.pipeline.stage_results import retrieved
from workbench.runner.pipeline.target_tables import RETURNED

_PASSAGES = {
    "query": "int64",
    "number": "int64",
    "doc_id": "str",
    "start": "int64",
    "end": "int64",
    "text": "str",
    "title": "str",
    "planted": "str",
    "tokens": "int64",
}
_CUTS = {"query": "int64", "rank": "int64", "doc_id": "str", "start": "int64", "end": "int64", "reason": "str"}
_CONTEXTS = {
    "query": "int64",
    "reason": "str",
    "tokens": "int64",
    "gold": "bool",
    "packing_recall": "float64",
    "relevant": "int64",
    "planted": "str",
}
_RANKING = ("hits", "reranked", "neighbours")
# The passages whose surroundings in a prompt are part of a key.
_PROBED = 50
CANNOT_BE_GIVEN = "the target cannot be given a context"


class ContextsStage(Stage):
    """The contexts of all questions under the condition and the perturbation of a variant, which its repeats share.

    Table `contexts`, a row for each question: `reason` (why the condition does not apply, or empty), `tokens` of the prompt, `gold` (whether the
    passages contain all evidence), `packing_recall` (the share of the delivered passages with evidence that reached the context; NaN without any
    or in another condition than `retrieved`), `relevant` (the number of passages with evidence), `planted` (a record as JSON, or empty).
    Table `passages`: query, number (from 0, in the order of the prompt), doc_id, start, end, text, title, planted, tokens. Table `cuts`: query,
    rank, doc_id, start, end, reason of candidates, or of their ends, that are not in the context. Value `unknown`: the questions whose context is
    not known, since a target named no sources, or none that could be placed.
    """

    name = "contexts"
    version = 3
    inputs = ("corpus", "questions", "labels", "expected", "chunks", *_RANKING, "responses")
    setting = "context"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.answering is not None

    def variant(self, variant: Variant) -> Variant:
        return replace(variant, repeat=0)

    def inputs_of(self, node: Node) -> tuple[str, ...]:
        """Return the inputs without the ranking, the chunks or the expected answers where the condition does not need them."""
        condition = node.variant.condition
        if condition == NONE:
            return ("questions", "labels")
        unused = {"expected"} if condition == RETRIEVED else {"responses", *(() if condition in RANKED else _RANKING)}
        return tuple(name for name in self.inputs if name not in unused)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the settings of packing with the condition and its attacks, the tokens of prompts, and the limits of passages not retrieved."""
        generator, packing, variant = _generator(node.configuration), node.configuration.context, node.variant
        attacks = attack_texts(variant.perturbation) if variant.condition == INJECTION else ()
        overheads, around = _overheads(run, generator)
        prompts = [vocabulary_digest(generator.vocabulary), fingerprint(overheads), around]
        condition, filters, evidence = variant.condition, run.filters, {need.query_id for need in run.dataset.needs}
        limited = condition in RANKED | {IRRELEVANT_ONLY} or any(
            query.query_id not in evidence for query in run.dataset.queries if query.answerable
        )
        limits = list(node.configuration.delivery(run.primary)) if condition != NONE and limited else []
        settings = [packing.identity() if packing else None, str(variant), *attacks]
        return Identity(settings, [prompts, limits, filters.identity if filters and condition != NONE else None])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Make the context of every question."""
        variant, maker = inputs.node.variant, _maker(inputs)
        made = own_contexts(inputs) or [_made(maker, variant, query) for query in range(len(maker.labels))]
        about = (_about(maker, variant, query, context) for query, context in enumerate(made))
        writer.table("contexts", _table(about, _CONTEXTS))
        writer.table("passages", _table((row for query, context in enumerate(made) for row in _passage_rows(query, context)), _PASSAGES))
        writer.values("unknown", _unknown(inputs, made))
        writer.table("cuts", _table((row for query, context in enumerate(made) for row in _cut_rows(query, context)), _CUTS))


def _unknown(inputs: Inputs, made: Sequence[ContextOutcome]) -> list[int]:
    """Return the questions for which a target named no sources, or none that could be placed. An empty list of sources is known."""
    if inputs.node.variant.condition != RETRIEVED or "responses" not in inputs.entries:
        return []
    responses = inputs.entry("responses")
    empty = set(responses.values("named")) - set(responses.table("sources")["query"].tolist())
    return [query for query, context in enumerate(made) if not context.packed.passages and query not in empty]


def _generator(configuration: Configuration) -> Generator:
    if configuration.answering is None or configuration.context is None:
        raise RunError(f"{configuration.name} answers no question", "run the sweep again")
    return configuration.answering


@memoised(8)
def _overheads(run: RunContext, generator: Generator) -> tuple[list[int], list[int]]:
    """Return the tokens of each question's prompt without passages, and those around each of the first passages."""
    prompts = [generator.overhead(query.text) for query in run.dataset.queries]
    return prompts, [generator.passage_overhead(number + 1) for number in range(_PROBED)]


def _maker(inputs: Inputs) -> ContextBuilder:
    configuration, run, condition = inputs.configuration, inputs.run, inputs.node.variant.condition
    generator, packing = _generator(configuration), configuration.context
    overheads = dict(zip((query.text for query in run.dataset.queries), _overheads(run, generator)[0], strict=True))
    if packing and condition != NONE and overheads and min(overheads.values()) >= packing.budget:
        what = f"a context of {packing.budget} tokens has no room for passages: prompt and question alone have {min(overheads.values())} or more"
        raise InputError(what, "raise the budget of context")

    return ContextBuilder(
        slices=_slices(run, inputs.entry("chunks") if condition != NONE else None),
        labels=_labels(run),
        packing=packing or ContextPacking(),
        prompt=lambda question: prompt_tokens(generator, overheads[question]),
        ranking=_ranking(run, configuration, inputs.entry("chunks"), inputs.final_hits) if condition in RANKED else (),
        k=configuration.delivery(run.primary).k,
        tokens=configuration.delivery(run.primary).tokens,
        findable=lambda query: _findable(run, query),
    )


@memoised(2)
def _labels(run: RunContext) -> list[QuestionLabels]:
    """Return the labels of each question, of documents that its filter allows."""
    labels = question_labels(run.dataset, [(query.answer, *query.answer_variants) for query in run.dataset.queries])
    allowed = [_findable(run, query) for query in range(len(labels))]
    return [each if mask is None else each.within(set(run.doc_ids[mask])) for each, mask in zip(labels, allowed, strict=True)]


@memoised(2)
def _slices(run: RunContext, chunks: StoredResult | None) -> DeliveredSlices:
    empty = pd.DataFrame(columns=["doc", "delivered_start", "delivered_end"], dtype="int64")
    return DeliveredSlices.of(run.dataset.documents, chunks.table("chunks") if chunks else empty)


@memoised(2)
def _ranking(run: RunContext, configuration: Configuration, chunks: StoredResult, hits: StoredResult) -> list[list[Passage]]:
    """Return the passages that retrieval delivers for each question, from which several conditions start."""
    case = Case(run.labels, retrieved(configuration, chunks, hits), run.spans)
    text, documents = delivered(case, configuration.delivery(run.primary)), run.dataset.documents
    ranking: list[list[Passage]] = [[] for _ in run.dataset.queries]
    for query, (doc, start, end) in zip(text.query.tolist(), run.labels.places(text.starts, text.ends), strict=True):
        ranking[query].append(passage_of(documents[doc], start, end))
    return ranking


def _findable(run: RunContext, query: int) -> npt.NDArray[np.bool_] | None:
    number = int(run.filters.numbers[query]) if run.filters else -1
    return run.filters.masks[number] if run.filters and number >= 0 else None


def _made(maker: ContextBuilder, variant: Variant, query: int) -> ContextOutcome:
    twin = CLEAN_TWINS.get(variant.condition)
    clean = maker.make(twin or variant.condition, query)
    if clean.reason or twin is None:
        return clean
    labels = maker.labels[query]
    return plant(variant, clean.packed, labels, maker.packing.budget, maker.prompt(labels.query.text))


def _about(maker: ContextBuilder, variant: Variant, query: int, made: ContextOutcome) -> dict[str, Any]:
    labels, packed = maker.labels[query], made.packed
    genuine = [passage for passage in packed.passages if passage.planted != COUNTERFACTUAL]
    relevant = [passage for passage in genuine if labels.is_evident(passage)]
    ranking = maker.ranking[query] if variant.condition == RETRIEVED and maker.ranking else ()
    candidates = list(filter(labels.is_evident, ranking))
    return {
        "query": query,
        "reason": made.reason,
        "tokens": packed.total,
        "gold": labels.query.answerable and labels.is_complete(genuine),
        "packing_recall": len(relevant) / len(candidates) if candidates else float("nan"),
        "relevant": len(relevant),
        "planted": json.dumps(made.planted, ensure_ascii=False) if made.planted else "",
    }


def _passage_rows(query: int, made: ContextOutcome) -> Iterator[dict[str, Any]]:
    for number, (passage, tokens) in enumerate(zip(made.packed.passages, made.packed.tokens, strict=True)):
        place = {"doc_id": passage.doc_id, "start": passage.start, "end": passage.end, "text": passage.text, "title": passage.title}
        yield {"query": query, "number": number, **place, "planted": passage.planted, "tokens": tokens}


def _cut_rows(query: int, made: ContextOutcome) -> Iterator[dict[str, Any]]:
    for cut in made.packed.cuts:
        place = {"doc_id": cut.passage.doc_id, "start": cut.passage.start, "end": cut.passage.end}
        yield {"query": query, "rank": cut.rank, **place, "reason": cut.reason}


def _table(rows: Iterator[dict[str, Any]], columns: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns)).astype(columns)


def own_contexts(inputs: Inputs) -> list[ContextOutcome]:
    """Return the context of each question: the sources that the target's answer names, else what its search returns.

    Empty if the contexts of the variant are packed, and not the target's own.
    """
    run = inputs.run
    if inputs.node.variant.condition != RETRIEVED:
        return [] if inputs.configuration.takes_context else [ContextOutcome(reason=CANNOT_BE_GIVEN)] * len(run.dataset.queries)
    if "responses" not in inputs.entries:
        return []
    responses = inputs.entry("responses")
    named, sources, hits = set(responses.values("named")), responses.table("sources"), responses.table("hits")
    rows = pd.concat([sources, hits[~hits["query"].isin(named)]])
    by_query = {query: list(_passages(table, run)) for query, table in rows.groupby("query")}
    return [ContextOutcome(_packed(by_query.get(query, []))) for query in range(len(run.dataset.queries))]


def _passages(rows: pd.DataFrame, run: RunContext) -> Iterator[Passage]:
    """Yield the text of each hit: that of the document where it is known, else what the target returned."""
    for row in rows.sort_values("rank")[list(RETURNED)].to_dict("records"):
        if row["doc"] >= 0 and not row["fault"]:
            document = run.dataset.documents[row["doc"]]
            whole = row["start"] < 0
            yield passage_of(document, 0 if whole else row["start"], len(document.text) if whole else row["end"])
        elif row["text"].strip():
            # No document and no other text has this id.
            text, name = row["text"], row["doc_id"] or "unnamed"
            yield Passage(f"{name} [not in the dataset, {fingerprint(text)[:8]}]", 0, len(text), text)


def _packed(passages: list[Passage]) -> PackedContext:
    distinct = tuple(dict.fromkeys(passages))
    tokens = tuple(len(text.starts) for text in tokenised([passage.text for passage in distinct], BUDGET_VOCABULARY))
    return PackedContext(distinct, tuple(range(1, len(distinct) + 1)), tokens, total=sum(tokens))
