"""The eight questions about a sweep, each answered by a sentence with a detail."""

from typing import NamedTuple

from workbench.analysis.findings import Findings
from workbench.analysis.misses import cause_meanings, explains_text
from workbench.analysis.values import holding_half
from workbench.attribution.causes import CAUSES
from workbench.core.formatting import capitalised, count, plural, share
from workbench.report.model import Block, Headline, Summary, SummaryItem
from workbench.report.text import verdict
from workbench.report.text.answers import does_it_hold
from workbench.report.text.delivery import delivery_notes
from workbench.report.text.drafts import beside_verdict
from workbench.report.text.sentences import about_dataset, screened_sentence
from workbench.report.topics.answers.causes import failing_answers
from workbench.report.topics.retrieval.costs import cost
from workbench.report.topics.retrieval.parts import part_answers
from workbench.report.topics.retrieval.slices import weakest
from workbench.report.topics.run.gate import gate_opening
from workbench.report.topics.topic import Topic, same
from workbench.statistics.intervals import counts_text

# The cause, after "misses evidence ... because".
_BECAUSE = {cause.name: cause.because for cause in CAUSES}


class SummaryAnswers(NamedTuple):
    """The answers in reading order."""

    won: SummaryItem
    margin: SummaryItem
    certainty: SummaryItem
    cost: SummaryItem
    faults: SummaryItem
    weakest: SummaryItem
    more: SummaryItem
    data: SummaryItem


def answers(findings: Findings) -> SummaryAnswers:
    """Answer all eight questions. Sentences name a winner only if the verdict does."""
    return SummaryAnswers(
        SummaryItem("What won?", *verdict.won(findings)),
        SummaryItem("By how much?", *verdict.margin(findings)),
        SummaryItem("How certain is the result?", *verdict.certainty(findings)),
        SummaryItem("What does it cost?", *cost(findings)),
        SummaryItem("What goes wrong most often?", *faults(findings)),
        SummaryItem("Where is it weakest?", *weakest(findings)),
        SummaryItem("How many more questions would be needed?", *verdict.more(findings)),
        SummaryItem("On which data?", *data(findings)),
    )


def headline(findings: Findings) -> Headline:
    """Name the winner or the tie set. Text in brackets becomes the aside."""
    sentence, bracket, aside = answers(findings).won.sentence.partition(" (")
    return Headline(sentence, f"({aside}" if bracket else "")


def opening(findings: Findings) -> list[str]:
    """Give the outcome of the gate, warn of drafts, and describe configurations that are not ranked, the data and odd deliveries."""
    answer = answers(findings)
    return [
        *gate_opening(findings.run),
        *beside_verdict(findings.run, findings.verdict),
        *(line for line in (answer.won.detail, answer.data.text) if line),
        *delivery_notes(findings.run),
    ]


def answered(findings: Findings) -> Summary:
    """Answer the other questions, whether answers hold third, and for each part that is added whether it is worth it."""
    margin, certainty, *others = list(answers(findings))[1:-1]
    held = does_it_hold(findings)
    return Summary([margin, certainty, *([held] if held else []), *others, *part_answers(findings)])


def faults(findings: Findings) -> tuple[str, str]:
    """Describe the leader's misses and their most frequent cause."""
    first, missed = findings.first, findings.faults
    if first is None or missed is None:
        return "No configuration can be ranked, so no faults are counted.", ""
    if not findings.primary.higher_is_better:
        return f"{findings.primary} counts faults itself, so misses have no causes.", ""
    target, questions = "evidence" if explains_text(findings.run) else "a relevant document", plural(missed.of, "question")
    answers = failing_answers(findings.run, first.name)
    if not missed.known:
        unknown = f"{first.name} does not say what it retrieved, so it is not known what it misses"
        return f"{unknown}; {answers}." if answers else f"{unknown}.", ""
    if not missed.causes:
        where = "the only question" if missed.of == 1 else f"any of {questions}"
        if answers:
            return f"{first.name} does not miss {target} on {where}, but {answers}.", ""
        return f"Nothing: {first.name} does not miss {target} on {where}.", ""
    (cause, (most, _)), *_ = missed.causes.items()
    queries = sum(many for many, _ in missed.causes.values())
    # A question that misses several pieces counts once, by the earliest cause.
    by = f"each time because {_BECAUSE[cause]}" if most == queries else f"on {count(most)} of these first because {_BECAUSE[cause]}"
    if missed.beyond_k:
        has = "has" if missed.beyond_k == 1 else "have"
        by += f"; {count(missed.beyond_k)} of them {has} more than {findings.primary.k} relevant documents, and miss some in every ranking"
    meanings = cause_meanings(findings.run)
    detail = "; ".join(f"{name} ({count(many)}): {meanings[name]}" for name, (many, _) in missed.causes.items())
    failed = f" {capitalised(answers)}." if answers else ""
    return f"{first.name} misses {target} on {count(queries)} of {questions} ({share(queries, missed.of)}), {by}.{failed}", f"{detail}."


def data(findings: Findings) -> tuple[str, str]:
    """Describe the documents and questions, and how many questions the primary metric averages."""
    if findings.first is None:
        return about_dataset(findings.run), ""
    mean = findings.first.means[str(findings.primary)]
    unscored = f"; {count(mean.unscored)} unscored" if mean.unscored else ""
    equally = ", with equal weight" if findings.run.average == "documents" else ""
    return about_dataset(
        findings.run
    ), f"{findings.primary} is over {counts_text(mean.n, mean.clusters)}{equally}{unscored}.{_concentrated(findings, mean.clusters)}"


def _concentrated(findings: Findings, clusters: int) -> str:
    half = holding_half(findings.run, str(findings.primary))
    if half is None:
        return ""
    held = f"{plural(half, 'document')} of {count(clusters)} {'holds' if half == 1 else 'hold'} half of the questions"
    return f" {held} and so {'decides' if half == 1 else 'decide'} most; average: documents in the experiment gives all documents equal weight."


def lines(findings: Findings) -> list[str]:
    """Give the verdict in the terminal: screening, odd deliveries, drafts, the winner, the margin and its certainty."""
    answer = answers(findings)
    return [
        "",
        *([screened_sentence(findings.screening)] if findings.screening else []),
        *delivery_notes(findings.run),
        *beside_verdict(findings.run, findings.verdict),
        answer.won.sentence,
        *([answer.margin.sentence] if findings.first else []),
        *([answer.certainty.sentence, answer.more.sentence] if findings.margin else []),
    ]


def markdown(findings: Findings) -> list[Block]:
    """Answer the questions in Markdown."""
    return [answered(findings)]


# On the page and in the notebook it is the opening.
verdict_topic = Topic("verdict", "", "", same, None, views=(), lines=lines, markdown=markdown)
