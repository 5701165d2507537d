"""Make the contexts in which a configuration answers the questions, or take those of a target, and answer from them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.components.answering.base import AnswerRequest, Generator, prompt_tokens
from workbench.components.answering.prompted import CITATIONS_VERSION
from workbench.components.answering.refusals import VERSION as REFUSALS_VERSION
from workbench.components.answering.refusals import is_refusal
from workbench.components.context.conditions import CLEAN_TWINS, COUNTERFACTUAL, INJECTION, IRRELEVANT_ONLY, NONE, RANKED, RETRIEVED
from workbench.components.context.context_packing import ContextPacking, PackedContext
from workbench.components.context.contexts import ContextBuilder, ContextOutcome
from workbench.components.context.delivered_slices import DeliveredSlices
from workbench.components.context.planting import attack_texts, plant
from workbench.components.context.question_labels import QuestionLabels, passage_of, question_labels
from workbench.core.errors import InputError, RunError
from workbench.core.fingerprint import fingerprint
from workbench.core.memo import memoised
from workbench.core.records import Answer, Passage, Variant
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.core.text.progress import ProgressBar
from workbench.llm.base import lost_tries
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenised, vocabulary_digest
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.llm.replies.answers import separated
from workbench.measures.metrics.case import Case, delivered
from workbench.runner.pipeline.answered_cases import answer_rows, any_unopened, outcomes_of, passages_of
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults, retrieved
from workbench.runner.pipeline.stages.responses import RETURNED

T = TypeVar("T")
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
    condition = inputs.node.variant.condition
    chunks = inputs.entry("chunks") if condition != NONE else None
    return _builder(inputs.run, inputs.configuration, condition == NONE, chunks, inputs.final_hits if condition in RANKED else None)


@memoised(2)
def _builder(
    run: RunContext, configuration: Configuration, empty: bool, chunks: StoredResult | None, hits: StoredResult | None
) -> ContextBuilder:
    """Return the builder that conditions with a ranking share, or the one for those without; `empty` for contexts without passages."""
    generator, packing = _generator(configuration), configuration.context
    overheads = dict(zip((query.text for query in run.dataset.queries), _overheads(run, generator)[0], strict=True))
    if packing and not empty and overheads and min(overheads.values()) >= packing.budget:
        what = f"a context of {packing.budget} tokens has no room for passages: prompt and question alone have {min(overheads.values())} or more"
        raise InputError(what, "raise the budget of context")

    return ContextBuilder(
        slices=_slices(run, chunks),
        labels=_labels(run),
        packing=packing or ContextPacking(),
        prompt=lambda question: prompt_tokens(generator, overheads[question]),
        ranking=_ranking(run, configuration, chunks, hits) if chunks and hits else (),
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


_COLUMNS = {
    "query": "int64",
    "text": "str",
    "refused": "bool",
    "citations": "str",
    "confidence": "float64",
    "error": "str",
    "correct": "boolean",
    "outcome": "str",
    "input_tokens": "Int64",
    "output_tokens": "Int64",
    "cost": "float64",
    "model": "str",
    "truncated": "boolean",
    "reasoned": "bool",
    "unopened": "bool",
}


def _answers_table(results: StageResults) -> pd.DataFrame:
    """Tabulate every answer with its context. A question without a context in a variant has a `reason` and no answer."""
    unopened = any_unopened(results.run, results.configuration, tuple(results.parts("answers")))
    parts = [_variant_rows(results, variant, answer_rows(results.of("answers", variant), unopened)) for variant in results.run.variants]
    return pd.concat(parts, ignore_index=True)


def _variant_rows(results: StageResults, variant: Variant, answers: pd.DataFrame) -> pd.DataFrame:
    contexts = results.contexts_of(variant)
    rows = contexts.table("contexts").set_index("query").join(answers.set_index("query"))
    passages, outcomes = passages_of(contexts), outcomes_of(contexts, answers)
    return rows.assign(
        query_id=results.run.query_ids[rows.index.to_numpy(np.int64)],
        condition=variant.condition,
        variant=variant.perturbation,
        repeat=variant.repeat,
        answer=rows["text"].fillna(""),
        refused=rows["refused"].eq(True),
        citations=rows["citations"].fillna("[]"),
        error=rows["error"].fillna(""),
        model=rows["model"].fillna(""),
        context_tokens=rows["tokens"].astype("float64").mask(rows.index.isin(contexts.values("unknown"))),
        passages=[json.dumps([_slice(passage) for passage in passages.get(query, ())], ensure_ascii=False) for query in rows.index],
        outcome=[outcomes.get(query, "") for query in rows.index],
    )


def _slice(passage: Passage) -> dict[str, Any]:
    where = {"doc_id": passage.doc_id, "start": passage.start, "end": passage.end}
    return where | ({"planted": passage.planted, "text": passage.text} if passage.planted else {})


class AnswersStage(Stage):
    """Table `answers`, a row for each question that has a context in the variant, with the columns of `Answer`.

    `citations` is a JSON list. Values `calls`: the seconds of each answer, whether it came from the cache of calls, and its lost tries.
    """

    name = "answers"
    version = 5
    inputs = ("questions", "contexts", "responses")
    setting = "answering"
    uses_cache: ClassVar[bool] = True
    tables: ClassVar[TableMakers] = {SCHEMAS["answers"]: _answers_table}

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.answering is not None

    def variant(self, variant: Variant) -> Variant:
        return variant

    def inputs_of(self, node: Node) -> tuple[str, ...]:
        """Return the inputs without the responses of a target, unless their sources are the context."""
        return self.inputs if node.variant == Variant(RETRIEVED) else self.inputs[:-1]

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the generator's settings with the variant that a recorded answer or a call belongs to, the ids of the questions, by which a generator can know them, and the versions of the readers of replies."""
        generator = node.configuration.answering
        versions = (REFUSALS_VERSION, CITATIONS_VERSION, REPLIES_VERSION)
        return Identity([generator.identity() if generator else None, str(node.variant)], [run.questions_identity, *versions])

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        generator, run = _generator(inputs.configuration), inputs.run
        contexts = passages_of(inputs.entry("contexts"))
        queries, failed = run.dataset.queries, _failed(inputs)
        numbers = [number for number in contexts if number not in failed]
        requests = [AnswerRequest(queries[number], contexts[number], inputs.node.variant) for number in numbers]
        title = f"answer {inputs.configuration.name} {inputs.node.variant}"
        asked = generator.answer(requests, run.answer_resources)
        given = in_order(asked, len(requests), f"answering {generator.kind!r}", title, generator.calls_model, item="answer")
        read = given if generator.verbatim else map(_without_reasoning, given)
        made = failed | dict(zip(numbers, read, strict=True))
        answers = [made[number] for number in contexts]
        rows = [_row(number, queries[number].text, answer) for number, answer in zip(contexts, answers, strict=True)]
        writer.table("answers", pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS))
        calls = {"seconds": [answer.seconds for answer in answers], "cached": [answer.cached for answer in answers]}
        writer.values("calls", calls | lost_tries(answers))
        # The next run makes failed calls again.
        if generator.calls_model and any(answer.error for answer in answers):
            writer.mark_incomplete()


def _failed(inputs: Inputs) -> dict[int, Answer]:
    """Return the answers that a target failed to give with its sources. Asked again, it would answer from sources that are not known."""
    if "responses" not in inputs.entries:
        return {}
    return {query: Answer(error=error) for query, error in inputs.entry("responses").table("unanswered").itertuples(index=False)}


def in_order(outcomes: Iterable[tuple[int, T]], number: int, who: str, title: str, shown: bool, item: str = "judgement") -> list[T]:
    """Return outcomes in the order of their requests. Raises RunError if a component omits one or gives one twice."""
    placed: dict[int, T] = {}
    # Only the calls of a model take long enough for a bar.
    with ProgressBar(total=number, unit=item, desc=title, disable=not shown) as bar:
        for place, outcome in outcomes:
            if place in placed or not 0 <= place < number:
                raise RunError(f"{who} gave the {item} {place} twice or of no request", "correct its method")
            placed[place] = outcome
            bar.update()
    if len(placed) < number:
        raise RunError(f"{who} gave {len(placed)} of {number} {item}s", "correct its method")
    return [placed[place] for place in range(number)]


def _without_reasoning(answer: Answer) -> Answer:
    """Return an answer without the reasoning of the model that wrote it, whichever program called the model."""
    read = separated(answer.text)
    reasoned, unopened = answer.reasoned or read.reasoned, answer.unopened or read.unopened
    return replace(answer, text=read.answer, error=answer.error or read.failure(answer.truncated), reasoned=reasoned, unopened=unopened)


def _row(query: int, question: str, answer: Answer) -> tuple[Any, ...]:
    refused = not answer.error and (is_refusal(answer.text, question=question) if answer.refused is None else answer.refused)
    citations, labels = json.dumps(answer.citations), (answer.correct, answer.outcome)
    spent, read = (answer.input_tokens, answer.output_tokens, answer.cost), (answer.truncated, answer.reasoned, answer.unopened)
    return query, answer.text, refused, citations, answer.confidence, answer.error, *labels, *spent, answer.model, *read
