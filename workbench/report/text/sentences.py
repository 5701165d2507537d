"""Sentences about the data, metrics and single configurations."""

import math
from collections.abc import Mapping, Sequence

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import CostKind, CostRange
from workbench.analysis.standings import COVERAGE, Mean, Standing
from workbench.core.formatting import NONE, capitalised, count, interval, listed, number, plural, share, signed, spread
from workbench.metrics.names import Metric
from workbench.report.cells import digits_for
from workbench.results.run_tables import RunTables
from workbench.statistics.screening import ScreenedConfiguration, Screening

_MOST_UNCOVERED = 3


def folder_of(run: RunTables) -> str:
    """The folder of a run as written in the documentation."""
    return f"outputs/{run.name}"


def about_dataset(run: RunTables) -> str:
    """The dataset: documents, questions and evidence, and questions that repeat another's text."""
    data = run.dataset
    unanswerable, needs = data["unanswerable"], data["needs"]
    evidence = f", {plural(needs, 'piece of evidence', 'pieces of evidence') if needs else 'no evidence'}"
    not_there = f" ({plural(unanswerable, 'of them has', 'of them have')} no answer in the documents)" if unanswerable else ""
    missing = data["missing"]
    deleted = f" (labels name {plural(missing, 'deleted document')}, which can never be found)" if missing else ""
    return f"{data['name']}: {plural(data['documents'], 'document')}{deleted}, {plural(data['queries'], 'question')}{not_there}{evidence}.{repeated_sentence(run)}{unread_sentence(run)}"


def unread_sentence(run: RunTables) -> str:
    """Count the files that are not among the documents, after a blank. Empty without any."""
    return (
        f" {plural(len(run.unread), 'file of the folder is', 'files of the folder are')} not in it (listed under Provenance)."
        if run.unread
        else ""
    )


def repeated_sentence(run: RunTables) -> str:
    """Count the questions that repeat another's text, after a blank. Empty without any."""
    repeated, relabelled = run.dataset["repeated"], run.dataset["relabelled"]
    if not repeated:
        return ""
    other = "all" if relabelled == repeated else count(relabelled) if relabelled else "none"
    effect = "every search ranks the same for both" if relabelled else "such a text counts more than once"
    repeat = plural(repeated, "question repeats", "questions repeat")
    return f" {repeat} the text of another, {other} with other labels: {effect} (workbench dataset check lists them)."


def about_trust(run: RunTables) -> list[str]:
    """Name the code and the pickled weights of a run. Empty without any."""
    code = [f"This run executed code named in the experiment: {', '.join(run.code)}."] if run.code else []
    return code + [f"The weights of {model} were loaded from pickles: {', '.join(files)}." for model, files in run.pickles.items()]


def about_primary(run: RunTables) -> str:
    """Describe the primary metric and whether it compares configurations at equal context."""
    metric = run.primary
    if metric.tokens is not None:
        same = all(fact["token_budget"] == metric.tokens for fact in run.facts.values())
        return (
            f"The primary metric is {metric}: it reads the chunks of every configuration by rank until {plural(metric.tokens, 'token')} are "
            "reached, so that large and small chunks are compared on the same amount of text."
            f"{' An export delivers the same tokens.' if same else ''}"
        )
    if not run.dataset["needs"]:
        return (
            f"The questions have no evidence, so equal context does not apply: "
            f"the primary metric is {metric}, over distinct documents, each ranked by its highest chunk."
        )
    return f"The primary metric is {metric}: it does not compare at equal context, because larger chunks deliver more text."


def less_than_matters(run: RunTables, difference: float) -> str:
    """Say that a difference is smaller than what matters to the experiment. Empty if it is not."""
    smallest = run.smallest_difference
    return f"less than {number(smallest)}, the smallest difference that matters to the experiment" if abs(difference) < smallest else ""


def defined(kind: CostKind) -> str:
    """Define a cost."""
    return f"{capitalised(kind.label)}: {kind.unit} {kind.definition}."


def time_text(value: float, passes: CostRange, unit: str = "") -> str:
    """The range of a time, `15 (one measurement)` without a range, or a dash for an unknown time."""
    if math.isnan(value):
        return NONE
    return f"{spread(passes.low, passes.high)}{unit}" if passes.repeated else f"{spread(value, value)}{unit} (one measurement)"


def predicate(mean: Mean, metric: Metric) -> str:
    """Phrase a mean as the predicate of a sentence."""
    text = mean.text(digits_for((mean.low, mean.value, mean.high)))
    if metric.name == "span_recall":
        within = f"within {plural(metric.tokens, 'token')}" if metric.tokens is not None else f"with {plural(metric.k or 0, 'chunk')}"
        return f"delivers {text} of the evidence {within}"
    return f"has {metric} {text}"


def uncovered_sentence(findings: Findings) -> str:
    """Name the configurations that have too few values to be compared, with their numbers. Without a full stop."""
    means = {each.name: each.means[str(findings.primary)] for each in findings.standings.uncovered}
    shown = listed([f"{name} ({mean.n} of {mean.n + mean.unscored})" for name, mean in means.items()], _MOST_UNCOVERED)
    return f"not compared, because fewer than {round(100 * COVERAGE)} % of the questions have a value of {findings.primary}: {shown}"


def not_scored(reasons: Mapping[str, str]) -> str:
    """Name the metrics without a value with their reasons. Empty without one."""
    names: dict[str, list[str]] = {}
    for metric, reason in reasons.items():
        names.setdefault(reason, []).append(metric)
    return f"Not scored here: {'; '.join(f'{listed(several, 12)} ({reason})' for reason, several in names.items())}." if names else ""


def window_note(standing: Standing) -> str:
    """Say why a configuration is not ranked."""
    facts = standing.facts
    cut, tokens = facts["truncated_chunks"], facts["truncated_tokens"]
    return (
        f"{plural(cut, 'chunk')} of {count(facts['chunks'])} longer than the window of {plural(facts['window'] or 0, 'token')}; "
        f"{plural(tokens, 'token')} ({share(tokens, facts['tokens'])}) never embedded"
    )


def context_sentence(standings: Sequence[Standing]) -> str:
    """The largest ratio of text between configurations at the same number of chunks."""
    tokens = {standing.name: float(standing.facts["k_tokens"]) for standing in standings if standing.facts["k_tokens"] is not None}
    most, least = max(tokens, key=tokens.__getitem__, default=""), min(tokens, key=tokens.__getitem__, default="")
    if len(tokens) < 2 or not tokens[least]:
        return "The same number of chunks is not the same amount of text."
    return (
        f"At a fixed number of chunks the amount of text differs: {first_chunks(standings)} of {most} hold {count(tokens[most])} tokens a "
        f"question, {number(tokens[most] / tokens[least], 1)} times those of {least} ({count(tokens[least])}). "
        "Larger chunks gain recall here by construction."
    )


def first_chunks(standings: Sequence[Standing]) -> str:
    """Name the first k chunks of all configurations by their number, if they have one k."""
    numbers = {standing.facts["k"] for standing in standings}
    return f"the first {plural(max(numbers), 'chunk')}" if len(numbers) == 1 else "the first k chunks"


def screened_sentence(screening: Screening) -> str:
    """The number of configurations screened out, the margin, the proxies and the questions."""
    sample = f"{count(screening.queries)} of" if screening.queries < screening.of else "all"
    by = f"by {listed(screening.proxies)} on {sample} {plural(screening.of, 'question')}"
    if not screening.dropped:
        return f"Nothing was screened out {by}: none of {plural(len(screening.rows), 'configuration')} is far enough behind."
    sentence = f"{count(len(screening.dropped))} of {plural(len(screening.rows), 'configuration')} screened out {by}"
    return f"{sentence}: with 95 % confidence more than {number(screening.margin)} behind in {screening.metric}, and not run in full."


def difference_text(row: ScreenedConfiguration) -> str:
    """The difference of a configuration from the leader by proxy, with its interval."""
    return f"{signed(row.difference)} {interval(row.low, row.high)}"


def screened_lines(screening: Screening | None) -> Sequence[str]:
    """Summarise the screening for the terminal: the sentence, each difference, and configurations with equal proxies. Empty without one."""
    if screening is None:
        return []
    behind = [f"  {row.configuration}: {difference_text(row)} against {row.first}" for row in screening.dropped]
    alike = [f"indistinguishable by proxy, so screened together: {listed(names)}" for names in screening.alike]
    return [screened_sentence(screening), *behind, *alike]
