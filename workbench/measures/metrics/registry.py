"""All metrics. To add one, add its definition to the tuple of the module that has its kind, or declare an entry point in another package."""

from workbench.core.registry import Registry
from workbench.measures.metrics.answers import ANSWER_METRICS
from workbench.measures.metrics.definition import MetricDefinition
from workbench.measures.metrics.documents import DOCUMENT_METRICS, MARGIN_METRICS
from workbench.measures.metrics.judged import JUDGED_METRICS
from workbench.measures.metrics.spans import TEXT_METRICS

_BUILTIN = (*DOCUMENT_METRICS, *TEXT_METRICS, *MARGIN_METRICS, *ANSWER_METRICS, *JUDGED_METRICS)
METRICS: Registry[MetricDefinition] = Registry(
    {definition.name: definition for definition in _BUILTIN},
    "workbench.metrics",
    MetricDefinition,
    ("workbench.answer_metrics", "workbench.judged_metrics"),
)
