"""A topic of the report: values computed from a run, and the views that show them."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from workbench.report.analysis.findings import Findings
from workbench.report.model import Block, Prose, Section, SummaryItem

Values = TypeVar("Values")
View = Literal["page", "comparison", "configuration", "answers", "judges"]
COMPARED: Sequence[View] = ("page", "comparison")


class HeadQuestion(NamedTuple):
    """A question at the head of the page. `place` orders the questions of all topics: 0 is that of the headline, 99 that of the opening.

    `answers` has one item, or if not `every_run` has the question, any number.
    """

    place: int
    answers: Callable[[Findings], Sequence[SummaryItem]]
    every_run: bool = True


def question(place: int, text: str, answer: Callable[[Findings], tuple[str, str]]) -> HeadQuestion:
    """Return a question that `answer` answers for every run by a sentence with a detail, which may be empty."""
    return HeadQuestion(place, lambda findings: [SummaryItem(text, *answer(findings))])


@dataclass(frozen=True)
class Topic(Generic[Values]):
    """A topic, whose module computes values without words and shows them.

    `compute` returns the values, None for a run without the topic. `render` makes blocks of them, for the page and the notebooks among `views`.
    `title` can depend on the values, `short` is that of the table of contents, and a notebook without the topic says what is `missing`.
    `lines` are those of the terminal, `markdown` the blocks of the summary as Markdown, `questions` those that it answers at the head of the page.
    """

    name: str
    title: str | Callable[[Values], str]
    short: str
    compute: Callable[[Findings], Values | None]
    render: Callable[[Values], Sequence[Block]] | None
    _: KW_ONLY
    anchor: str = ""
    views: Sequence[View] = ("page",)
    missing: str | Callable[[Findings], str] = ""
    lines: Callable[[Values], Sequence[str]] | None = None
    markdown: Callable[[Values], Sequence[Block]] | None = None
    questions: Sequence[HeadQuestion] = ()

    def __call__(self, findings: Findings) -> Section | None:
        """Return the topic as a section of the page, None for a run without it."""
        values = self.compute(findings)
        if values is None or self.render is None:
            return None
        return Section(
            self.title if isinstance(self.title, str) else self.title(values), self.anchor or self.name, self.render(values), self.short
        )

    def in_notebook(self, findings: Findings) -> Section | Prose | None:
        """Return the section, or the sentence that says what is missing."""
        missing = self.missing if isinstance(self.missing, str) else self.missing(findings)
        return self(findings) or (Prose(missing) if missing else None)

    def terminal_lines(self, findings: Findings) -> Sequence[str]:
        """Return the lines of the terminal, none for a run without the topic."""
        values = self.compute(findings) if self.lines else None
        return [] if values is None or self.lines is None else self.lines(values)

    def markdown_blocks(self, findings: Findings) -> Sequence[Block]:
        """Return the blocks of the summary as Markdown, none for a run without the topic."""
        values = self.compute(findings) if self.markdown else None
        return [] if values is None or self.markdown is None else self.markdown(values)


def same(findings: Findings) -> Findings:
    """Compute nothing more than the findings, for a topic that every run has."""
    return findings
