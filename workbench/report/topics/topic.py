"""A topic of the report: values computed from a run, and the views that show them."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Generic, Literal, TypeVar

from workbench.report.analysis.findings import Findings
from workbench.report.model import Block, Prose, Section

Values = TypeVar("Values")
View = Literal["page", "comparison", "configuration", "answers", "judges"]
COMPARED: Sequence[View] = ("page", "comparison")


@dataclass(frozen=True)
class Topic(Generic[Values]):
    """A topic, whose module computes values without words and shows them.

    `compute` returns the values, None for a run without the topic. `render` makes blocks of them, for the page and the notebooks among `views`.
    `title` can depend on the values, `short` is that of the table of contents, and a notebook without the topic says what is `missing`.
    On the page a topic is a section, or a part of the `chapter` that several topics share, where it can be `folded`.
    `lines` are those of the terminal.
    """

    name: str
    title: str | Callable[[Values], str]
    short: str
    compute: Callable[[Findings], Values | None]
    render: Callable[[Values], Sequence[Block]] | None
    _: KW_ONLY
    anchor: str = ""
    chapter: str = ""
    folded: bool = False
    views: Sequence[View] = ("page",)
    missing: str | Callable[[Findings], str] = ""
    lines: Callable[[Values], Sequence[str]] | None = None

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


def same(findings: Findings) -> Findings:
    """Compute nothing more than the findings, for a topic that every run has."""
    return findings
