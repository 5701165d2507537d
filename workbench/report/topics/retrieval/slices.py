"""The primary metric by slices of the questions, such as type or domain, and how well scores separate unanswerable questions."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from workbench.core.records import PRODUCTION, SOURCE
from workbench.core.text.formatting import count, number, plural, shortened
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.metrics.documents import answerable_auroc
from workbench.measures.statistics.clusters import FEWEST_FOR_INTERVAL, Clusters, weighted
from workbench.measures.statistics.intervals import ALPHA, THIS_CORPUS, Interval, by_unit, robust, t_quantile
from workbench.report.analysis.decision import RunDecision, decide, shown_first
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import Standing, slice_means
from workbench.report.analysis.values import FEWEST_QUERIES, clusters, detail, per_query
from workbench.report.analysis.values import clusters as question_clusters
from workbench.report.analysis.values import slices as query_slices
from workbench.report.cells import NAME_LENGTH, Scale, count_cell, digits_for, gap_cell, key_of, mean_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.questions import slice_name
from workbench.report.topics.topic import COMPARED, Topic

_RESAMPLES = 2_000
_NOTE = (
    "Differences on slices are exploratory, with a 95 % interval of each by itself: it suggests, it does not prove. That on all questions is tested, with the "
    "interval of the ranking."
)
# Means that differ by less are equal.
_TIE = 1e-9


def source_agreement(run: RunTables, configurations: Sequence[str]) -> Interval | None:
    """Kendall's tau between the orders of at least 3 configurations by the questions of users and by the others, on the primary metric.

    Only questions with a value in all of them count. Returns None without questions of both kinds.
    """
    real = query_slices(run).get(f"{SOURCE}={PRODUCTION}")
    if real is None or len(configurations) < 3:
        return None
    values = np.array([per_query(run, name, str(run.primary)) for name in configurations])
    codes, known = clusters(run).codes, ~np.isnan(values).any(axis=0)
    chosen = [known & members for members in (real, ~real)]
    if not all(members.any() for members in chosen):
        return None
    first, second = ((values[:, members], codes[members]) for members in chosen)
    return order_agreement(first, second)


def order_agreement(first: tuple[Floats, Ints], second: tuple[Floats, Ints]) -> Interval:
    """Return tau-b (Kendall 1945) of the means of c configurations on two sets of questions, with a percentile interval.

    A set is its values (c, q), without NaN, and the clusters of its questions (q), which are resampled 2,000 times. Fewer than 5 clusters give no interval, and
    equal means everywhere no tau. Random errors of the means lower tau, so a low one can also mean few questions.
    """
    random, sums, resampled = np.random.default_rng(0), [], []
    for values, own in (first, second):
        codes = np.unique(own, return_inverse=True)[1]
        parts, sizes = by_unit(values, codes).T, np.bincount(codes)
        drawn = random.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=_RESAMPLES)
        sums.append(parts.sum(axis=0)[None] / sizes.sum())
        resampled.append((drawn @ parts) / (drawn @ sizes)[:, None])
    value, n = float(_tau(*sums)[0]), first[0].shape[1] + second[0].shape[1]
    count = min(len(np.unique(own)) for _, own in (first, second))
    if count < FEWEST_FOR_INTERVAL or np.isnan(value):
        return Interval(value, np.nan, np.nan, n, count)
    low, high = np.nanquantile(_tau(*resampled), [ALPHA / 2, 1 - ALPHA / 2]).tolist()
    return Interval(value, low, high, n, count)


def _tau(first: Floats, second: Floats) -> Floats:
    """Tau-b of rows of means (r, c), NaN where all means of a row are equal. Shape (r,)."""
    gaps = (means[:, :, None] - means[:, None, :] for means in (first, second))
    one, other = (np.where(np.abs(gap) > _TIE, np.sign(gap), 0.0) for gap in gaps)
    norm = np.sqrt((one**2).sum(axis=(1, 2)) * (other**2).sum(axis=(1, 2)))
    return np.asarray(np.divide((one * other).sum(axis=(1, 2)), norm, out=np.full(len(norm), np.nan), where=norm > 0))


def compute(findings: Findings) -> tuple[RunDecision, Standing, dict[str, pd.DataFrame]] | None:
    """Return the configuration shown, and the means of each ranked one by slice. None if none is ranked."""
    decision = decide(findings)
    means = {standing.name: slice_means(findings, standing.name) for standing in findings.standings.ranked}
    return (decision, decision.shown, means) if decision.shown else None


def render(values: tuple[RunDecision, Standing, dict[str, pd.DataFrame]]) -> list[Block]:
    """Name the slice in which the configuration shown is weakest, tabulate it by slice, and collapse small slices and other configurations."""
    decision, shown, means = values
    findings, own = decision.findings, means[shown.name]
    large = [label for label in own.index if label == "all" or own["n"][label] >= FEWEST_QUERIES]
    small = [label for label in own.index if label not in large]
    blocks: list[Block] = [Prose(weakest(decision, shown)), *_agreement(findings)]
    blocks += [_shown(decision, shown, own.loc[large])] if len(large) > 1 else []
    title = f"{plural(len(small), 'slice')} of fewer than {FEWEST_QUERIES} questions: weak evidence"
    blocks += [Collapsible(title, [_shown(decision, shown, own.loc[small])])] if small else []
    table = _map(findings, means)
    return blocks + ([Collapsible("Every configuration by slice", [table])] if table else [])


def _agreement(findings: Findings) -> list[Block]:
    """Say whether the questions of users and the others order the configurations alike."""
    tau = source_agreement(findings, [standing.name for standing in findings.standings.ranked])
    if tau is None:
        return []
    if np.isnan(tau.value):
        return [Prose("Questions of users or the others give all configurations the same mean, so their orders are not compared.")]
    names = plural(len(findings.standings.ranked), "configuration")
    return [
        Prose(
            f"Order of the {names} by questions of users and by the others: Kendall's τ-b {number(tau.value, 2)} {tau.bounds(2)}. It is 1 for the same order, "
            "0 without a relation, and −1 for the reverse. The random errors of few questions lower it."
        )
    ]


def _shown(decision: RunDecision, shown: Standing, table: pd.DataFrame) -> Table:
    """Tabulate a configuration by slice, with its difference from the one it is compared with."""
    parts = {part.name: part for part in decision.contrast.parts} if decision.contrast else {}
    scale = Scale.over(table[["value", "low", "high"]].to_numpy().ravel().tolist())
    columns = [words("slice"), Column("questions", note="documents")]
    columns += [Column(str(decision.findings.primary), note="95 % interval"), scale.column()]
    columns += [Column(f"minus {decision.other.name}", note="interval")] if parts and decision.other else []
    rows = []
    for label, row in table.iterrows():
        mean, part = Interval(*row[["value", "low", "high", "n", "clusters", "conditional"]]), parts.get(str(label))
        cells = [Cell(slice_name(str(label))), count_cell(mean.n, count(mean.clusters)), mean_cell(mean), scale.cell(mean)]
        rows.append(Row([*cells, *([gap_cell(part.difference if part else None)] if parts else [])]))
    limited = [*table["conditional"], *(part.difference.conditional for part in parts.values())]
    return Table(f"{shown.name} by slice", columns, rows, f"{_NOTE}{f' {THIS_CORPUS}' if any(limited) else ''}")


def _map(findings: Findings, means: Mapping[str, pd.DataFrame]) -> Table | None:
    """Shade every configuration by slice. Returns None for a single slice or configuration."""
    labels = list(next(iter(means.values())).index)
    if len(means) < 2 or len(labels) < 2:
        return None
    values = pd.DataFrame({name: table["value"] for name, table in means.items()}).loc[labels]
    known = values.to_numpy().ravel().tolist()
    scale, digits = Scale.over(known), digits_for(known)
    short = shortened(list(means), NAME_LENGTH)
    columns = [Column(short[name], "shade", upright=True) for name in means]
    counts = next(iter(means.values()))["n"]
    rows = [
        Row([Cell(slice_name(str(label))), count_cell(counts[label]), *scale.shades(values.loc[label].tolist(), digits)])
        for label in labels
    ]
    caption = f"{findings.primary} of every configuration by slice; stronger colours are higher"
    return Table(caption, [words("slice"), Column("questions"), *columns], rows, key=key_of(short))


def weakest(decision: RunDecision, shown: Standing) -> str:
    """Name the slice in which the configuration shown scores worst."""
    findings, missed = decision.findings, decision.misses
    if missed is None or missed.weakest is None:
        return "No slice has 20 questions, and smaller ones are too noisy to name one."
    overall, (name, part) = shown.means[str(findings.primary)], missed.weakest
    value, slice_text = f"{number(part.value)} {part.bounds()}", f"{slice_name(name)} ({plural(part.n, 'question')})"
    if (overall.value - part.value) * (1 if findings.primary.higher_is_better else -1) <= _TIE:
        everything = f"all questions together, {number(overall.value)} by {findings.primary}"
        return f"No slice of 20 questions or more is worse than {everything}; {slice_text} comes closest with {value}."
    return f"{shown.name} is weakest on {slice_text}: {findings.primary} {value}, against {number(overall.value)} on all."


slices = Topic(
    "slices",
    "By kind of question",
    "Slices",
    compute,
    render,
    chapter="slices",
    views=COMPARED,
    missing="No configuration can be sliced.",
)


METRIC = "answerable_auroc"
_MEANING = (
    "The probability that the first hit of an answerable question has a higher score than that of an unanswerable one; a tie counts as one half. "
    "At 1 a threshold on the score would reject exactly the unanswerable questions, .5 is chance, and below .5 they score higher."
)
_SOURCE = (
    "Mann and Whitney's U divided by the number of pairs: Bamber (1975), Hanley and McNeil (1982). Interval: DeLong et al. (1988) on the logit, "
    "clustered by source document"
)
_SEPARATION = "An interval that contains .5 does not show that the score separates the questions at all. Configurations are not tested against each other here."


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


def compute_separation(findings: Findings) -> tuple[Mapping[str, Interval], int, int] | None:
    """Return the area under the ROC curve of every configuration, and the numbers of answerable and unanswerable questions. None unless the dataset has both kinds of questions."""
    questions = findings.questions["answerable"]
    names = shown_first(findings, [standing.name for standing in findings.standings.finished])
    areas = {name: area for name in names if (area := separation_of(findings, name))}
    return (areas, int(questions.sum()), int((~questions).sum())) if areas else None


def render_separation(values: tuple[Mapping[str, Interval], int, int]) -> list[Block]:
    """State the area of the configuration shown, which is the first, and tabulate all."""
    areas, answerable, unanswerable = values
    (name, area), *_ = areas.items()
    scale = Scale.over([0.5, *(bound for area in areas.values() for bound in (area.low, area.value, area.high))])
    rows = [Row([Cell(name), mean_cell(area), scale.cell(area)]) for name, area in areas.items()]
    caption = f"{METRIC}, from {plural(answerable, 'answerable question')} and {count(unanswerable)} unanswerable"
    have = plural(unanswerable, "question has", "questions have")
    sentence = f"{have} no answer in the documents. A threshold on the score of {name} separates them with an AUROC of {number(area.value)} {area.bounds()}: 0.5 is chance, 1 is perfect."
    table = Table(caption, [words("configuration"), Column("AUROC", note="95 % interval"), scale.column()], rows, _SEPARATION)
    return [Prose(sentence), Collapsible("Every configuration", [table, Terms([Term(METRIC, _MEANING, _SOURCE)])])]


answerable = Topic(
    "answerable",
    "Answerable and unanswerable questions",
    "Answerable",
    compute_separation,
    render_separation,
    chapter="slices",
    views=COMPARED,
    missing="The run does not have both answerable and unanswerable questions.",
)
