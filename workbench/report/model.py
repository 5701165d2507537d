"""Presentation model of a run: sections of tables, figures and sentences, made by section builders and shown by renderers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.report.analysis.passages import Piece

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Kind = Literal["number", "word", "text", "bar", "shade"]
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Bar:
    """Positions of a value, its bounds and zero, in per cent of a cell's width. Without bounds, both equal the value's position."""

    low: float
    value: float
    high: float
    zero: float | None = None


@dataclass(frozen=True)
class Column:
    """A column: the kind of its cells, whether rows can be sorted by it, and whether its title is vertical."""

    title: str
    kind: Kind = "number"
    sorts: bool = True
    upright: bool = False
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    `sort` is the sort key if the text is not, `place` precedes the name of a ranked row, `queries` are ids of questions that link to
    their drill-down, `shade` is between 0 and 8, `target` is the anchor that the text links to.
    """

    text: str
    sort: float | str | None = None
    bar: Bar | None = None
    shade: int | None = None
    note: str = ""
    place: int | None = None
    queries: Sequence[str] = ()
    target: str = ""

    @property
    def key(self) -> str:
        """Sort key for the script. An empty key puts the row at the end."""
        if isinstance(self.sort, float):
            return "" if math.isnan(self.sort) else f"{self.sort:.9g}"
        return self.text if self.sort is None else str(self.sort)


@dataclass(frozen=True)
class Row:
    """A row, named by its first cell. `level` marks a configuration of the tie set."""

    cells: Sequence[Cell]
    level: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under columns. `note` says how to read them, `key` maps shortened names to full ones."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""
    classes: str = ""
    key: Pairs = ()

    @property
    def ranked(self) -> bool:
        """True for the ranking of configurations."""
        return self.classes == "ranked"

    @property
    def sorts(self) -> bool:
        """True if rows can be sorted by a column."""
        return len(self.rows) > 1 and any(column.sorts for column in self.columns)


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawing with its alternative text (`alt`), a caption on how to read it, its numbers and a key of shortened names."""

    name: str
    alt: str
    caption: str
    drawing: "Drawing"
    data: Table | None = None
    key: Pairs = ()


@dataclass(frozen=True)
class Headline:
    """The headline. `aside` is set in a lighter type."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Lines:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Term:
    """A name with a text and a note. `text` is source code if `code`, `pieces` come from a document, `anchor` is what links refer to."""

    name: str
    text: str
    note: str = ""
    code: bool = False
    pieces: Sequence[Piece] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Terms:
    """Names with their texts. `label` is the word before pieces that are marked and not missed."""

    items: Sequence[Term]
    classes: str = ""
    label: str = ""


class SummaryItem(NamedTuple):
    """A question about a run, the sentence that answers it, and its supporting detail (may be empty)."""

    question: str
    sentence: str
    detail: str

    @property
    def text(self) -> str:
        """The answer's sentence followed by its detail."""
        return f"{self.sentence} {self.detail}".strip()


@dataclass(frozen=True)
class Summary:
    """Questions about a run with their answers."""

    items: Sequence[SummaryItem]


@dataclass(frozen=True)
class QuestionDetails:
    """The packed drill-down of `shown` of `queries` questions, for a page with a script. `key` maps shortened names to full ones."""

    packed: str
    shown: int
    queries: int
    key: Pairs


@dataclass(frozen=True)
class Collapsible:
    """Collapsed blocks that a reader can open."""

    title: str
    blocks: "Sequence[Block]"
    note: str = ""
    classes: str = ""
    opened: bool = False


@dataclass(frozen=True)
class Badge:
    """A state in a few words. `tone` is alert, watch, better or steady."""

    text: str
    tone: str


@dataclass(frozen=True)
class Sparkline:
    """Values in time, NaN for gaps, with the usual range, a limit, the place of a mark between the values, and an alternative text."""

    values: Sequence[float]
    alt: str
    usual: tuple[float, float] | None = None
    limit: float | None = None
    mark: float | None = None


@dataclass(frozen=True)
class Indicator:
    """A number of a service with its state, its former value, its course and notes."""

    title: str
    state: Badge
    value: str
    before: str
    notes: Sequence[str]
    line: Sparkline


@dataclass(frozen=True)
class Indicators:
    """Numbers of a service as cards. `note` says how to read their lines."""

    items: Sequence[Indicator]
    note: str


@dataclass(frozen=True)
class Columns:
    """Blocks side by side if the page is wide enough."""

    blocks: "Sequence[Block]"


@dataclass(frozen=True)
class Section:
    """Blocks under a title. `short` is the title in the table of contents."""

    title: str
    anchor: str
    blocks: "Sequence[Block]"
    short: str = ""


@dataclass(frozen=True)
class Report:
    """The report of a run: headline, answers, sections, and the `names` of its configurations. A badge precedes the headline, `summary` the sections."""

    title: str
    folder: str
    names: Sequence[str]
    headline: Headline
    opening: Sequence[str]
    answers: Summary
    sections: Sequence[Section]
    badge: Badge | None = None
    summary: "Sequence[Block]" = ()


Block = Table | Figure | Headline | Prose | Lines | Terms | Summary | QuestionDetails | Collapsible | Badge | Indicators | Columns | Section
