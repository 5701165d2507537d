"""Definitions and sources of the metrics, the tests, the causes of misses, and the provenance of a run."""

from typing import Any

from workbench.core.text.formatting import capitalised, count, plural
from workbench.measures.statistics.effects import EFFECT_METHODS
from workbench.measures.statistics.intervals import counts_text
from workbench.report.analysis.answer_values import reasons_without
from workbench.report.analysis.causes import possible_causes
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.values import holding_half
from workbench.report.cells import text, words
from workbench.report.model import Block, Cell, Lines, Prose, Row, Section, Table, Term, Terms
from workbench.report.sentences import about_dataset, about_primary, about_trust, folder_of, not_scored
from workbench.report.topics.retrieval.parts import shows_parts
from workbench.report.topics.topic import Topic, question, same

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
    causes = [Term(name, meaning) for name, meaning in possible_causes(findings).items()]
    equal = [_EQUAL] if findings.average == "documents" else []
    note = Prose("If several causes apply, the one of the earliest stage is named.")
    return [
        Prose(about_primary(findings)),
        Lines([*_ALWAYS, *equal, *tests]),
        Section("Metrics", "metrics", [Terms(defined)]),
        Section("Causes of a miss", "causes", [note, Terms(causes)]),
    ]


def render_provenance(findings: Findings) -> list[Block]:
    """Convert the manifest to groups of names and values."""
    manifest = findings.manifest
    prints, commit = manifest["fingerprints"], manifest["commit"] or "not under git"
    once = {"primary metric": manifest["primary"], "seed for ties": manifest["seeds"]["ties"], "commit": commit}
    groups: dict[str, dict[str, Any]] = {
        "Run": once,
        "Data": {name: count(value) if isinstance(value, int) else value for name, value in manifest["dataset"].items()},
        "Fingerprints of the data": {name: value for name, value in prints.items() if isinstance(value, str)},
        "Fingerprints of the configurations": prints["configurations"],
        "Versions": manifest["versions"],
    }
    notebooks = ", the executed notebooks in notebooks/" if findings.has_notebooks else ""
    sources = f"Every number here is in the parquet tables of {folder_of(findings)}, its settings in manifest.json{notebooks}."
    rows = [Row([Cell(each["file"]), Cell(each["reason"])]) for each in findings.unread]
    table = Table("The files that workbench init left out, with the reason", [words("file"), text("reason")], rows)
    unread = [Section("Files that were not read", "unread", [table])] if rows else []
    parts = [
        Section(title, f"provenance-{number}", [Terms([Term(str(name), str(value)) for name, value in group.items()], "prints")])
        for number, (title, group) in enumerate(groups.items(), 1)
        if group
    ]
    return [Prose(sources), *map(Prose, about_trust(findings)), *unread, *parts]


def data(findings: Findings) -> tuple[str, str]:
    """Describe the documents and questions, and how many questions the primary metric averages."""
    if findings.first is None:
        return about_dataset(findings), ""
    mean = findings.first.means[str(findings.primary)]
    unscored = f"; {count(mean.unscored)} unscored" if mean.unscored else ""
    equally = ", with equal weight" if findings.average == "documents" else ""
    detail = f"{findings.primary} is over {counts_text(mean.n, mean.clusters)}{equally}{unscored}."
    half = holding_half(findings, str(findings.primary))
    if half is not None:
        held = f"{plural(half, 'document')} of {count(mean.clusters)} {'holds' if half == 1 else 'hold'} half of the questions"
        detail += f" {held} and so {'decides' if half == 1 else 'decide'} most; average: documents in the experiment gives all documents equal weight."
    return about_dataset(findings), detail


method = Topic("method", "Method", "Method", same, render)
provenance = Topic("provenance", "Provenance", "Provenance", same, render_provenance, questions=(question(99, "On which data?", data),))
