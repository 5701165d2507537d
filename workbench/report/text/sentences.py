"""What is said of data, metrics and single configurations, in words made from the numbers."""

from collections.abc import Sequence

from workbench.analysis.standings import Mean, Standing
from workbench.core.formatting import count, number, plural, share
from workbench.metrics.names import Metric
from workbench.records import Dataset


def about_dataset(dataset: Dataset) -> str:
    """What there is to search and to ask."""
    unanswerable = sum(not query.answerable for query in dataset.queries)
    evidence = f", {plural(len(dataset.needs), 'piece')} of evidence" if dataset.needs else ", no evidence spans"
    not_there = f" ({plural(unanswerable, 'of them has', 'of them have')} no answer in the documents)" if unanswerable else ""
    return f"{dataset.name}: {plural(len(dataset.documents), 'document')}, {plural(len(dataset.queries), 'question')}{not_there}{evidence}."


def about_primary(metric: Metric, dataset: Dataset) -> str:
    """What the configurations are ordered by, and whether it compares them at equal context."""
    if metric.tokens is not None:
        return (
            f"The primary metric is {metric}: every configuration delivers its chunks by rank until {count(metric.tokens)} tokens "
            "are there, so that large and small chunks are compared on the same amount of text."
        )
    if not dataset.needs:
        return (
            f"The questions have no evidence spans, so equal context does not apply: "
            f"the primary metric is {metric}, over distinct documents, each ranked by its highest chunk."
        )
    return f"The primary metric is {metric}: it is not taken at equal context, where larger chunks deliver more text."


def said(mean: Mean) -> str:
    """A mean as the predicate of a sentence."""
    metric = Metric.parse(mean.metric)
    if metric.name == "span_recall":
        within = f"within {count(metric.tokens)} tokens" if metric.tokens is not None else f"with {plural(metric.k or 0, 'chunk')}"
        return f"delivers {mean.text(2)} of the evidence {within}"
    return f"has {mean.metric} {mean.text(2)}"


def window_note(standing: Standing) -> str:
    """Why a configuration is not ranked."""
    truncated = standing.result.truncated
    total = int(standing.result.lengths.sum())
    return (
        f"{plural(int((truncated > 0).sum()), 'chunk')} of {count(len(truncated))} longer than the window of "
        f"{count(standing.result.window or 0)} tokens; {count(int(truncated.sum()))} tokens ({share(truncated.sum(), total)}) never embedded"
    )


def context_told(standings: Sequence[Standing]) -> str:
    """How much more text one configuration delivers than another at the same number of chunks."""
    tokens = {standing.name: float(standing.result.summary["delivered_tokens"]) for standing in standings}
    most, least = max(tokens, key=tokens.__getitem__), min(tokens, key=tokens.__getitem__)
    if len(tokens) < 2 or not tokens[least]:
        return "The same number of chunks is not the same amount of text."
    return (
        f"At a fixed number of chunks the amount of text differs: {most} delivers {count(tokens[most])} tokens a question, "
        f"{number(tokens[most] / tokens[least], 1)} times what {least} delivers ({count(tokens[least])}). "
        "Larger chunks gain recall here by construction."
    )
