"""Score the answers of all variants by one metric for each question."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.context.conditions import clean_twin
from workbench.embedding.embed import embed
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.metrics.answers.case import AnswerCase, AnswerLabels, Answers, Contexts
from workbench.metrics.answers.evaluate import answer_values
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Entries, Identity, Inputs, Node, Stage
from workbench.pipeline.stages.answering.answers import answer_rows
from workbench.pipeline.stages.answering.contexts import passages_of
from workbench.pipeline.stages.answering.outcomes import outcomes_of
from workbench.records import Need, Variant
from workbench.storage.result_store import ResultWriter, StoredResult
from workbench.storage.vector_cache import VectorCache

# Of all variants that a run may have.
_CASES = 64
NO_ANSWER = "no answer"
SCORE_COLUMNS = ["condition", "variant", "repeat", "query", "value", "state", "reason"]


class AnswerScoresStage(Stage):
    """A result for each answer metric: table `scores` (condition, variant, repeat, query, value, state, reason) of all variants."""

    name = "answer_scores"
    inputs = ("labels", "expected", "contexts", "answers")
    uses_cache: ClassVar[bool] = True

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether the configuration answers."""
        return configuration.answering is not None

    def parts(self, run: RunContext) -> Sequence[str]:
        """Return the names of the answer metrics."""
        return tuple(str(metric) for metric in run.answer_metrics)

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the metric's version, and the variants in their order."""
        return Identity(run={"version": Metric.parse(node.part).kind.version, "variants": [str(variant) for variant in run.variants]})

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Score each variant."""
        kind = Metric.parse(inputs.node.part).answer_kind
        tables = []
        for variant, case in cases_of(inputs.run, inputs.configuration, inputs.entries).items():
            scores = answer_values(case, kind)
            tables.append(scores.assign(condition=variant.condition, variant=variant.perturbation, repeat=variant.repeat))
        writer.table("scores", pd.concat(tables, ignore_index=True)[SCORE_COLUMNS])


def cases_of(
    run: RunContext, configuration: Configuration, entries: Entries, variants: Sequence[Variant] | None = None
) -> dict[Variant, AnswerCase]:
    """Return the case of each variant, by default of all of the run in its order, from the entries of `contexts` and `answers`."""
    of = run.variants if variants is None else variants
    cases: dict[Variant, AnswerCase] = {}

    def case(variant: Variant) -> AnswerCase:
        if variant not in cases:
            twin = clean_twin(variant)
            clean = case(twin) if twin in of and twin else None
            context = Node("contexts", configuration, Variant(variant.condition, variant.perturbation))
            cases[variant] = _case(
                run,
                variant,
                entries["contexts"][context.result_id],
                entries["answers"][Node("answers", configuration, variant).result_id],
                tuple(entries["answers"].values()),
                configuration,
                clean,
            )
        return cases[variant]

    return {variant: case(variant) for variant in of}


@lru_cache(maxsize=_CASES)
def _case(
    run: RunContext,
    variant: Variant,
    contexts: StoredResult,
    answers: StoredResult,
    of_model: tuple[StoredResult, ...],
    configuration: Configuration,
    clean: AnswerCase | None,
) -> AnswerCase:
    """Return the case of a variant, cached so that all metrics share it."""
    queries, rows = len(run.dataset.queries), answer_rows(answers, of_model)
    shown, given = _contexts(contexts, queries), _answers(rows, queries, outcomes_of(contexts, rows))
    verbatim = configuration.answering is not None and configuration.answering.verbatim
    embed_texts, unknown = partial(_embedded, run.workspace.vectors), frozenset(contexts.values("unknown"))
    return AnswerCase(variant, _labels(run), shown, given, embed_texts, verbatim, clean, unknown)


@lru_cache(maxsize=2)
def _labels(run: RunContext) -> AnswerLabels:
    needs: dict[str, list[Need]] = {}
    for need in run.dataset.needs:
        needs.setdefault(need.query_id, []).append(need)
    return AnswerLabels(run.dataset.queries, [needs.get(query.query_id, []) for query in run.dataset.queries])


def _contexts(entry: StoredResult, queries: int) -> Contexts:
    passages, about = passages_of(entry), entry.table("contexts").set_index("query").reindex(range(queries))
    return Contexts(
        passages=[passages.get(query, ()) for query in range(queries)],
        reasons=about["reason"].fillna("").tolist(),
        gold=about["gold"].eq(True).to_numpy(np.bool_),
        relevant=about["relevant"].fillna(0).to_numpy(np.float64),
        packing_recall=about["packing_recall"].to_numpy(np.float64),
    )


def _answers(rows: pd.DataFrame, queries: int, outcomes: Mapping[int, str]) -> Answers:
    rows = rows.set_index("query").reindex(range(queries))
    texts = rows["text"].fillna("").tolist()
    # A question with a context and without a row has no answer, which must not pass for an empty one.
    errors = rows["error"].fillna(NO_ANSWER).tolist()
    return Answers(
        texts=texts,
        refused=rows["refused"].eq(True).to_numpy(np.bool_),
        errors=errors,
        citations=[json.loads(text) for text in rows["citations"].fillna("[]")],
        confidence=rows["confidence"].to_numpy(np.float64),
        correct=rows["correct"].to_numpy(np.float64, na_value=np.nan),
        outcomes=[outcomes.get(query, "") for query in range(queries)],
        truncated=rows["truncated"].eq(True).fillna(False).to_numpy(np.bool_),
    )


def _embedded(cache: VectorCache, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return unit vectors of texts by all-MiniLM-L6-v2, whichever embedder the configuration searches with."""
    vectors = embed(texts, SentenceTransformerEmbedder(), "document", cache, "answers").vectors
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)
