"""Separation of answerable from unanswerable questions by the score of the first hit."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy

from workbench.core.text.formatting import count, plural
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.metrics.documents import answerable_auroc
from workbench.measures.statistics.clusters import Clusters, weighted
from workbench.measures.statistics.intervals import Interval, robust, t_quantile
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.values import clusters as question_clusters
from workbench.report.analysis.values import detail
from workbench.report.cells import Scale, mean_cell, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import COMPARED, Topic

METRIC = "answerable_auroc"
_MEANING = (
    "The probability that the first hit of an answerable question has a higher score than that of an unanswerable one; a tie counts as one half. "
    "At 1 a threshold on the score would reject exactly the unanswerable questions, .5 is chance, and below .5 they score higher."
)
_SOURCE = (
    "Mann and Whitney's U divided by the number of pairs: Bamber (1975), Hanley and McNeil (1982). Interval: DeLong et al. (1988) on the logit, "
    "clustered by source document"
)
_NOTE = "An interval that contains .5 does not show that the score separates the questions at all. Configurations are not tested against each other here."


def separation_of(run: RunTables, configuration: str) -> Interval | None:
    """The `answerable_auroc` of a configuration with its 95 % interval. None if `metrics` has no such row, as for hits without scores.

    Questions that a target failed to serve take no part. Then neither do those for which it found nothing, which look the same in the tables.
    """
    means = run.of("metrics", configuration)
    counted = means.loc[means["metric"] == METRIC, "n"]
    if counted.empty:
        return None
    scores, answerable = detail(run, configuration, "top_score"), run.questions["answerable"].to_numpy(np.bool_)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    served = np.isfinite(scores) if int(counted.iloc[0]) < len(scores) else np.ones(len(scores), dtype=np.bool_)
    return auroc_interval(scores[served], answerable[served], question_clusters(run)[served])


def auroc_interval(scores: Floats, answerable: Bools, clusters: Clusters | npt.ArrayLike) -> Interval | None:
    """The area under the ROC curve of `scores` (q) with its 95 % interval. None unless the queries (q) are of both kinds.

    The variance is the sum of those of the two kinds' placements, the share of the other kind that a query's score exceeds (DeLong,
    DeLong and Clarke-Pearson 1988), each clustered by document (CR2; Obuchowski 1997 for clusters). The interval is a t interval of
    the area's logit with Welch's degrees of freedom. An area of 0 or 1, or a kind without variance, has no bounds.
    """
    # The area compares questions, whatever means count.
    observed, area = weighted(Clusters.of(clusters), "questions"), answerable_auroc(scores, answerable)
    if area is None:
        return None
    variances, freedoms, ranks = np.zeros(2), np.ones(2), scipy.stats.rankdata(scores)
    for side, kind in enumerate((answerable, ~answerable)):
        placements = (ranks[kind] - scipy.stats.rankdata(scores[kind])) / (~kind).sum()
        means = robust(placements[None], observed[kind])
        variances[side], freedoms[side] = means.error[0] ** 2, means.freedom[0]
    low = high = np.nan
    if 0 < area < 1 and not np.isnan(variances).any():
        freedom = variances.sum() ** 2 / (variances**2 / freedoms).sum()
        half = float(t_quantile(np.array(freedom))) * np.sqrt(variances.sum()) / (area * (1 - area))
        low, high = scipy.special.expit(scipy.special.logit(area) + np.array([-half, half])).tolist()
    return Interval(area, low, high, len(scores), observed.count)


def compute(findings: Findings) -> tuple[Mapping[str, Interval], int, int] | None:
    """Return the area under the ROC curve of every configuration, and the numbers of answerable and unanswerable questions. None unless the dataset has both kinds of questions."""
    questions = findings.questions["answerable"]
    names = [standing.name for standing in findings.standings.finished]
    areas = {name: area for name in names if (area := separation_of(findings, name))}
    return (areas, int(questions.sum()), int((~questions).sum())) if areas else None


def render(values: tuple[Mapping[str, Interval], int, int]) -> list[Block]:
    """Tabulate the areas, and define them."""
    areas, answerable, unanswerable = values
    scale = Scale.over([0.5, *(bound for area in areas.values() for bound in (area.low, area.value, area.high))])
    rows = [Row([Cell(name), mean_cell(area), scale.cell(area)]) for name, area in areas.items()]
    caption = f"{METRIC}, from {plural(answerable, 'answerable question')} and {count(unanswerable)} unanswerable"
    have = plural(unanswerable, "question has", "questions have")
    sentence = f"{have} no answer in the documents. Could a threshold on the score reject them?"
    table = Table(caption, [words("configuration"), Column("AUROC", note="95 % interval"), scale.column()], rows, _NOTE)
    return [Prose(sentence), table, Terms([Term(METRIC, _MEANING, _SOURCE)])]


answerable = Topic(
    "answerable",
    "Answerable and unanswerable questions",
    "Answerable",
    compute,
    render,
    views=COMPARED,
    missing="The run does not have both answerable and unanswerable questions.",
)
