"""Say what a dataset needs before a sweep on it can conclude anything."""

from collections.abc import Iterator

from workbench.core.formatting import approximate, number, plural
from workbench.report.text.drafts import drafts_of
from workbench.statistics.power import expected_difference, expected_questions

FEWEST_DOCUMENTS, FEWEST_QUESTIONS = 5, 30


def advice_lines(documents: int, questions: int, accepted: int, comparisons: int, smallest: float) -> Iterator[str]:
    """Yield what to add: documents, questions, and acceptance by a person.

    `accepted` questions are not drafts, or accepted ones. `comparisons` are those of the experiment, all pairs or all with its baseline. `smallest` is the experiment's smallest difference that matters.
    """
    if documents < FEWEST_DOCUMENTS:
        yield (
            f"{plural(documents, 'document')} cannot show which chunking is better: questions about one document hang together, and a claim "
            f"needs at least {FEWEST_DOCUMENTS} documents, better 30; add documents and run the same command again"
        )
    if questions < FEWEST_QUESTIONS:
        yield f"{plural(questions, 'question')} are too few to name a winner; write at least {FEWEST_QUESTIONS - questions} more"
    elif questions:
        shown, needed = expected_difference(questions, comparisons), expected_questions(smallest, comparisons)
        more = f"; a difference of {number(smallest, 2)} needs about {approximate(needed)}" if needed > questions else ""
        yield f"{plural(questions, 'question')} show differences in span recall from about {number(shown, 2)}{more} (the report computes both from your data)"
    if accepted < questions:
        yield drafts_of(questions - accepted, questions)
