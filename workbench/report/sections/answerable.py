"""How well the score of the first hit separates answerable from unanswerable questions."""

from workbench.analysis.findings import Findings
from workbench.core.formatting import count, plural
from workbench.report.cells import value_cell, words
from workbench.report.model import Cell, Column, Prose, Row, Section, Table, Term, Terms

METRIC = "answerable_auroc"
_MEANING = (
    "The probability that the first hit of an answerable question has a higher score than that of an unanswerable one; a tie counts as one half. "
    "At 1 a threshold on the score would reject exactly the unanswerable questions, .5 is chance, and below .5 they score higher."
)
_SOURCE = "Mann and Whitney's U divided by the number of pairs: Bamber (1975), Hanley and McNeil (1982)"
_NOTE = "The values have no intervals, so that a difference between two configurations may be due to the choice of questions."


def answerable(findings: Findings) -> Section | None:
    """Tabulate the area under the ROC curve of every configuration. Returns None unless the dataset has both kinds of questions."""
    run = findings.run
    areas = run.metrics[(run.metrics["metric"] == METRIC) & (run.metrics["slice"] == "all")].set_index("configuration")["value"]
    if not len(areas):
        return None
    ranked = [standing.name for standing in (*findings.standings.ranked, *findings.standings.windowed)]
    rows = [Row([Cell(name), value_cell(areas[name])]) for name in ranked if name in areas]
    known = int(run.questions["answerable"].sum())
    unknown = len(run.questions) - known
    caption = f"{METRIC}, from {plural(known, 'answerable question')} and {count(unknown)} unanswerable"
    sentence = (
        f"{plural(unknown, 'question has', 'questions have')} no answer in the documents. Could a threshold on the score reject them?"
    )
    defined = Terms([Term(METRIC, _MEANING, _SOURCE)])
    table = Table(caption, [words("configuration"), Column("AUROC", note=".5 is chance")], rows, _NOTE)
    return Section("Answerable and unanswerable questions", "answerable", [Prose(sentence), table, defined], "Answerable")
