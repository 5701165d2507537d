"""Presentation model of a run: tables, figures and sentences as values, in sections. Section builders make them, renderers show them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.analysis.questions.passages import Piece

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Kind = Literal["number", "word", "text", "bar", "shade"]
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Bar:
    """Positions of a value, its bounds and zero, in per cent of a cell's width; a value without bounds has its own position for both."""

    low: float
    value: float
    high: float
    zero: float | None = None


@dataclass(frozen=True)
class Column:
    """A column: the kind of its cells, whether rows can be sorted by it, and whether its title is written upwards."""

    title: str
    kind: Kind = "number"
    sorts: bool = True
    upright: bool = False
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    `sort` is the sort key if the text is not, `place` precedes the name of a ranked row, `queries` are ids of questions that link to
    their drill-down, `shade` is between 0 and 8.
    """

    text: str
    sort: float | str | None = None
    bar: Bar | None = None
    shade: int | None = None
    note: str = ""
    place: int | None = None
    queries: Sequence[str] = ()

    @property
    def key(self) -> str:
        """Sort key for the script; an empty one puts the row at the end."""
        if isinstance(self.sort, float):
            return "" if math.isnan(self.sort) else f"{self.sort:.9g}"
        return self.text if self.sort is None else str(self.sort)


@dataclass(frozen=True)
class Row:
    """The first cell names the row; `level` marks a configuration of the tie set."""

    cells: Sequence[Cell]
    level: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under columns; `note` says how to read them, `key` gives the full names of shortened ones."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""
    classes: str = ""
    key: Pairs = ()

    @property
    def ranked(self) -> bool:
        """Whether its rows are the ranking of configurations."""
        return self.classes == "ranked"

    @property
    def sorts(self) -> bool:
        """Whether rows can be sorted by any column."""
        return len(self.rows) > 1 and any(column.sorts for column in self.columns)


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawing with its content in words (`alt`), a caption on how to read it, its numbers and the full names of shortened ones."""

    name: str
    alt: str
    caption: str
    drawing: "Drawing"
    data: Table | None = None
    key: Pairs = ()


@dataclass(frozen=True)
class Lead:
    """The sentence that matters most; `aside` is set in a quieter type."""

    text: str
    aside: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Lines:
    """Sentences as a list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Term:
    """A name with a text and a note about it; `text` is source where `code`, `pieces` are of a document."""

    name: str
    text: str
    note: str = ""
    code: bool = False
    pieces: Sequence[Piece] = ()


@dataclass(frozen=True)
class Terms:
    """Names with their texts; `label` is the word before pieces that are marked and not missed."""

    items: Sequence[Term]
    classes: str = ""
    label: str = ""


class Answer(NamedTuple):
    """A question about a run, the sentence that answers it, and its supporting detail (may be empty)."""

    question: str
    sentence: str
    detail: str

    @property
    def text(self) -> str:
        """The sentence and its detail."""
        return f"{self.sentence} {self.detail}".strip()


@dataclass(frozen=True)
class Answered:
    """Questions about a run with their answers."""

    items: Sequence[Answer]


@dataclass(frozen=True)
class Drill:
    """The packed drill-down of `kept` of `queries` questions, for a page with a script; `key` gives the full names of configurations."""

    packed: str
    kept: int
    queries: int
    key: Pairs


@dataclass(frozen=True)
class Fold:
    """Blocks that a reader unfolds."""

    title: str
    blocks: "Sequence[Block]"
    note: str = ""
    classes: str = ""
    opened: bool = False


@dataclass(frozen=True)
class Beside:
    """Blocks side by side if the page is wide enough."""

    blocks: "Sequence[Block]"


@dataclass(frozen=True)
class Section:
    """Blocks under a title; `short` is the title in the list of contents."""

    title: str
    anchor: str
    blocks: "Sequence[Block]"
    short: str = ""


@dataclass(frozen=True)
class Report:
    """The report of a run: headline, answers, sections; `names` are those of its configurations."""

    title: str
    folder: str
    names: Sequence[str]
    headline: Lead
    opening: Sequence[str]
    answers: Answered
    sections: Sequence[Section]


Block = Table | Figure | Lead | Prose | Lines | Terms | Answered | Drill | Fold | Beside | Section
