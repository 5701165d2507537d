"""All metrics. To add one, write its function and definition, and a line here, or an entry point of another package."""

from workbench.core.registry import Registry
from workbench.metrics.answers.citations import CITATION_METRICS
from workbench.metrics.answers.given import LABELLED_CORRECTNESS, PACKING_RECALL
from workbench.metrics.answers.overlap import OVERLAP_METRICS
from workbench.metrics.answers.planted import PLANTED_METRICS
from workbench.metrics.answers.refusals import REFUSAL_METRICS
from workbench.metrics.answers.similarity import ANSWER_SIMILARITY
from workbench.metrics.definition import MetricDefinition
from workbench.metrics.families.chunks import CHUNK_METRICS
from workbench.metrics.families.documents import DOCUMENT_METRICS
from workbench.metrics.families.margins import MARGIN_METRICS
from workbench.metrics.families.spans import SPAN_METRICS
from workbench.metrics.judged.answers import ANSWER_CORRECTNESS, ANSWER_RELEVANCE, RUBRIC
from workbench.metrics.judged.claims import CLAIM_METRICS
from workbench.metrics.judged.contexts import CONTEXT_METRICS
from workbench.metrics.judged.end_to_end import END_TO_END

_BUILTIN = (
    *DOCUMENT_METRICS,
    *CHUNK_METRICS,
    *SPAN_METRICS,
    *MARGIN_METRICS,
    *OVERLAP_METRICS,
    ANSWER_SIMILARITY,
    *CITATION_METRICS,
    PACKING_RECALL,
    *REFUSAL_METRICS,
    *PLANTED_METRICS,
    LABELLED_CORRECTNESS,
    *CLAIM_METRICS,
    ANSWER_CORRECTNESS,
    *CONTEXT_METRICS,
    ANSWER_RELEVANCE,
    RUBRIC,
    END_TO_END,
)
METRICS: Registry[MetricDefinition] = Registry(
    {definition.name: definition for definition in _BUILTIN},
    "workbench.metrics",
    MetricDefinition,
    ("workbench.answer_metrics", "workbench.judged_metrics"),
)


def __getattr__(name: str) -> object:
    if name == "Kind":
        # Packages for earlier versions import it.
        raise ImportError("Kind is now workbench.metrics.definition.MetricDefinition: see docs/extending.md")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
