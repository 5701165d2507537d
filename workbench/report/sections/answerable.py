"""How well the score of the first hit separates answerable from unanswerable questions."""

from workbench.analysis.answerable import separation_of
from workbench.analysis.findings import Findings
from workbench.core.formatting import count, plural
from workbench.report.cells import Scale, mean_cell, words
from workbench.report.model import Cell, Column, Prose, Row, Section, Table, Term, Terms

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


def answerable(findings: Findings) -> Section | None:
    """Tabulate the area under the ROC curve of every configuration. Returns None unless the dataset has both kinds of questions."""
    questions = findings.run.questions["answerable"]
    names = [standing.name for standing in findings.standings.finished]
    areas = {name: area for name in names if (area := separation_of(findings.run, name))}
    if not areas:
        return None
    scale = Scale.over([0.5, *(bound for area in areas.values() for bound in (area.low, area.value, area.high))])
    rows = [Row([Cell(name), mean_cell(area), scale.cell(area)]) for name, area in areas.items()]
    known, unknown = int(questions.sum()), int((~questions).sum())
    caption = f"{METRIC}, from {plural(known, 'answerable question')} and {count(unknown)} unanswerable"
    sentence = (
        f"{plural(unknown, 'question has', 'questions have')} no answer in the documents. Could a threshold on the score reject them?"
    )
    table = Table(caption, [words("configuration"), Column("AUROC", note="95 % interval"), scale.column()], rows, _NOTE)
    defined = Terms([Term(METRIC, _MEANING, _SOURCE)])
    return Section("Answerable and unanswerable questions", "answerable", [Prose(sentence), table, defined], "Answerable")
