"""Score a configuration by one metric for each query and variant."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from workbench.core.records import Variant
from workbench.core.storage.result_store import ResultWriter
from workbench.measures.metrics.definition import Source
from workbench.measures.metrics.evaluate import values_of
from workbench.measures.metrics.names import Metric
from workbench.runner.pipeline.answered_cases import answered_case
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.runner.pipeline.stage_results import ranking_case, retrieved
from workbench.runner.pipeline.stages.responses import without_unscored

_COLUMNS = ["condition", "variant", "repeat", "query", "value", "state", "reason", "attainable"]
# The inputs that give each part of a case.
_INPUTS: Mapping[Source, Sequence[str]] = {
    "ranking": ("labels", "chunks", "hits", "reranked", "neighbours", "responses"),
    "context": ("labels", "expected", "contexts"),
    "answer": ("labels", "expected", "contexts", "answers"),
    "judgement": ("labels", "expected", "contexts", "claims", "verdicts", "judgements", "judge_tests"),
}


class ScoresStage(Stage):
    """A result for each metric: table `scores` (condition, variant, repeat, query, value, state, reason, attainable).

    A metric of rankings scores the evaluated search, one of answers all variants, and one of judgements all judged variants. Value `change`:
    the approximate search's mean minus the exact one's, or None unless both ran.
    """

    name = "scores"
    version = 5
    inputs = tuple(dict.fromkeys(name for names in _INPUTS.values() for name in names))

    def parts(self, configuration: Configuration, run: RunContext) -> Sequence[str]:
        answered, judged = configuration.answering is not None, run.judging is not None
        return tuple(str(metric) for metric in run.metrics if not metric.of_answers or (answered and (judged or not metric.judged)))

    def inputs_of(self, node: Node) -> tuple[str, ...]:
        wanted = {name for source in Metric.parse(node.part).definition.reads for name in _INPUTS[source]}
        return tuple(name for name in self.inputs if name in wanted)

    def is_local(self, node: Node) -> bool:
        """Return True if the metric may embed texts of answers."""
        return Metric.parse(node.part).of_answers

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the metric's version, the definition of span metrics, the thresholds that it reads, and the variants in their order."""
        metric = Metric.parse(node.part)
        definition = metric.definition
        read = run.judging.thresholds.model_dump(include=set(definition.thresholds)) if run.judging and definition.thresholds else None
        return Identity(
            run={
                "version": definition.version,
                "spans": run.spans if "ranking" in definition.reads else None,
                "thresholds": read,
                "variants": [str(variant) for variant in _variants(metric, run)],
            }
        )

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        metric = Metric.parse(inputs.node.part)
        tables, change = (_of_variants(metric, inputs), None) if metric.of_answers else _of_searches(metric, inputs)
        about = pd.DataFrame([(each.condition, each.perturbation, each.repeat) for each in tables], columns=_COLUMNS[:3])
        rows = np.repeat(np.arange(len(tables)), [len(table) for table in tables.values()])
        scores = pd.concat(tables.values(), ignore_index=True)
        writer.table("scores", pd.concat([about.iloc[rows].reset_index(drop=True), scores], axis=1)[_COLUMNS])
        writer.values("change", change)


def _variants(metric: Metric, run: RunContext) -> Sequence[Variant]:
    if not metric.of_answers:
        return (Variant(),)
    return run.judged_variants if metric.judged else run.variants


def _of_variants(metric: Metric, inputs: Inputs) -> dict[Variant, pd.DataFrame]:
    run, configuration, definition = inputs.run, inputs.configuration, metric.definition
    ranking = retrieved(configuration, inputs.entry("chunks"), inputs.final_hits) if "ranking" in definition.reads else None
    cases = {variant: answered_case(inputs, variant, ranking) for variant in _variants(metric, run)}
    return {variant: values_of(case, definition, metric.cut) for variant, case in cases.items()}


def _of_searches(metric: Metric, inputs: Inputs) -> tuple[dict[Variant, pd.DataFrame], float | None]:
    """Score the evaluated search, and compare the approximate one with the exact one."""
    configuration = inputs.configuration
    tables = {
        search: values_of(ranking_case(inputs, search), metric.definition, metric.cut)
        for search in inputs.final_hits.values("searches")["names"]
    }
    scores = tables[configuration.evaluated]
    if "responses" in inputs.entries:
        scores = without_unscored(scores, metric.family, inputs.entry("responses"))
    means = [
        table.loc[table["state"] == "scored", "value"].mean() for search in ("exact", "ann") if (table := tables.get(search)) is not None
    ]
    return {Variant(): scores}, float(means[1] - means[0]) if len(means) == 2 and not np.isnan(means).any() else None
