"""The appendix: files, all metrics and settings, definitions of metrics, tests and causes, and the provenance of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.text.formatting import capitalised, count, plural
from workbench.measures.attribution.causes import CAUSE_WORDS
from workbench.measures.statistics.effects import EFFECT_METHODS
from workbench.report.analysis.answer_values import reasons_without
from workbench.report.analysis.causes import possible_causes
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import Standing
from workbench.report.cells import UNKNOWN, text, value_cell, words
from workbench.report.model import Block, Cell, Column, Lines, Prose, Row, Section, Table, Term, Terms
from workbench.report.sentences import about_primary, about_trust, context_sentence, folder_of, not_scored
from workbench.report.topics.retrieval.parts import shows_parts
from workbench.report.topics.run.configurations import settings
from workbench.report.topics.topic import Topic, same

_MOST_ROWS = 100
_ALWAYS = (
    "@5 is after 5 chunks or documents; @2000t is after 2,000 tokens of the chunks in rank order, the last one cut. Each metric has its own "
    "cut-off, whatever is delivered.",
    "Means are over scored questions; a question without results scores 0; questions marked unanswerable do not apply to retrieval metrics.",
    "Configurations whose chunks exceed the embedder's window are not ranked: their scores reflect the window, not the chunking.",
)
_EQUAL = "Every mean counts documents equally, each with the mean of its questions (average: documents)."


def render(findings: Findings) -> list[Block]:
    """Define the metrics, tests and causes of misses."""
    methods = (*findings.verdict.methods, *(EFFECT_METHODS if shows_parts(findings) else ())) if findings.verdict else ()
    tests = tuple(f"{capitalised(line)}." for line in methods)
    cuts: dict[str, list[str]] = {}
    for name, metric in findings.measures.items():
        cuts.setdefault(metric.name, []).append(name)
    first = {metric.name: metric for metric in findings.measures.values()}
    defined = []
    for name, names in cuts.items():
        missing = {each: reason for each in names if (reason := reasons_without(findings, each))}
        meaning = first[name].meaning
        meaning = f"{meaning}. {not_scored(missing)}".removesuffix(".") if missing else meaning
        defined.append(Term(", ".join(names), meaning, first[name].definition.source))
    causes = [Term(CAUSE_WORDS[name], meaning) for name, meaning in possible_causes(findings).items()]
    equal = [_EQUAL] if findings.average == "documents" else []
    note = Prose("If several causes apply, the one of the earliest stage is named.")
    return [
        Prose(about_primary(findings)),
        Lines([*_ALWAYS, *equal, *tests]),
        Section("Metrics", "metrics", [Terms(defined)]),
        Section("Causes of a miss", "causes", [note, Terms(causes)]),
    ]


def render_files(findings: Findings) -> list[Block]:
    """Name the files that have the numbers, and the code and weights that the run executed."""
    notebooks = "; notebooks/ has the executed notebooks" if findings.has_notebooks else ""
    sentence = (
        f"Every number here is in the tables of {folder_of(findings)}: metrics.parquet (every metric by configuration, condition and slice), queries.parquet "
        "(every question), comparisons.parquet (every difference with its test), causes.parquet, timings.parquet. manifest.json has the settings"
    )
    return [Prose(f"{sentence}{notebooks}."), *map(Prose, about_trust(findings))]


def finished(findings: Findings) -> Findings | None:
    """Return the findings, None if all configurations failed."""
    return findings if findings.standings.finished else None


def render_metrics(findings: Findings) -> list[Block]:
    """Tabulate all metrics of all configurations."""
    standings = findings.standings.finished
    names = [name for name in findings.measures if any(name in each.means and each.means[name].n for each in standings)]
    rows = [Row([Cell(each.name), *(_value(each, name) for name in names)]) for each in standings[:_MOST_ROWS]]
    left = len(standings) - len(rows)
    more = f" {plural(left, 'configuration')} left out: they are in metrics.parquet." if left else ""
    missing = {name: reasons_without(findings, name) or "only in other conditions" for name in findings.measures if name not in names}
    caption = "Means over scored questions; all but the primary metric are exploratory, nothing is tested or corrected"
    note = f"{context_sentence(findings.standings.ranked)} {not_scored(missing)}{more}".strip()
    return [Table(caption, [words("configuration"), *(Column(name, upright=True) for name in names)], rows, note)]


def _value(standing: Standing, name: str) -> Cell:
    mean = standing.means.get(name)
    if mean is None or not mean.n:
        return UNKNOWN
    return value_cell(mean.value, note=f"{count(mean.unscored)} unscored" if mean.unscored else "")


def render_settings(findings: Findings) -> list[Block]:
    """Tabulate the settings and sizes of all configurations, those that they have in common once."""
    known = {each.name: {term.name: term.text for term in settings(findings, each)} for each in findings.standings.finished}
    stages = list(dict.fromkeys(stage for each in known.values() for stage in each))
    values = {stage: [each.get(stage, "–") for each in known.values()] for stage in stages}
    same = [stage for stage in stages if len(known) > 1 and len(set(values[stage])) == 1]
    columns = [words("configuration"), words("name"), *(text(stage) for stage in stages if stage not in same)]
    rows = [
        Row([Cell(name), Cell(name), *(Cell(each.get(stage, "–")) for stage in stages if stage not in same)])
        for name, each in list(known.items())[:_MOST_ROWS]
    ]
    common: list[Block] = [Prose("The same for all:"), Terms([Term(stage, values[stage][0]) for stage in same])] if same else []
    return [*common, Table("Settings that differ, and sizes", columns, rows)]


def compute_unread(findings: Findings) -> Sequence[Mapping[str, str]] | None:
    """Return the files that were left out of the documents with their reasons, None without any."""
    return findings.unread or None


def render_unread(rows: Sequence[Mapping[str, str]]) -> list[Block]:
    """Tabulate the files that were left out."""
    table = [Row([Cell(each["file"]), Cell(each["reason"])]) for each in rows]
    return [Table("The files that workbench init left out, with the reason", [words("file"), text("reason")], table)]


def render_provenance(findings: Findings) -> list[Block]:
    """Convert the manifest to groups of names and values."""
    manifest = findings.manifest
    prints, commit = manifest["fingerprints"], manifest["commit"] or "not under git"
    once = {"primary metric": manifest["primary"], "seed for ties": manifest["seeds"]["ties"], "commit": commit}
    groups: dict[str, dict[str, Any]] = {
        "Run": once,
        "Data": {name: count(value) if isinstance(value, int) else value for name, value in manifest["dataset"].items()},
        "Fingerprints of the data": {name: value for name, value in prints.items() if isinstance(value, str)},
        "Versions": manifest["versions"],
    }
    return [
        Section(title, f"provenance-{number}", [Terms([Term(str(name), str(value)) for name, value in group.items()], "prints")])
        for number, (title, group) in enumerate(groups.items(), 1)
        if group
    ]


files = Topic("files", "Files", "Files", same, render_files, chapter="appendix")
all_metrics = Topic("metrics", "All metrics of all configurations", "Metrics", finished, render_metrics, chapter="appendix", folded=True)
all_settings = Topic("settings", "Settings of all configurations", "Settings", finished, render_settings, chapter="appendix", folded=True)
unread = Topic("unread", "Files that were not read", "Unread", compute_unread, render_unread, chapter="appendix", folded=True)
method = Topic("method", "Method", "Method", same, render, chapter="appendix", folded=True)
provenance = Topic("provenance", "Provenance and versions", "Provenance", same, render_provenance, chapter="appendix", folded=True)
