"""Presentation model of a run: sections of tables, figures and sentences, made by section builders and shown by renderers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.core.text.formatting import plural
from workbench.report.analysis.passages import Piece
from workbench.report.analysis.ranking import IntervalMark

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Kind = Literal["number", "word", "text", "bar", "shade"]
Pairs = Sequence[tuple[str, str]]
# The least number of rows of a table that can be sorted.
_SORTED = 8


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

    `sort` is the sort key if the text is not, `queries` are ids of questions that link to
    their drill-down, `shade` is between 0 and 8, `target` is the anchor that the text links to, `bounds` are those of its interval.
    """

    text: str
    sort: float | str | None = None
    bar: Bar | None = None
    shade: int | None = None
    note: str = ""
    queries: Sequence[str] = ()
    target: str = ""
    bounds: tuple[float, float] | None = None

    @property
    def key(self) -> str:
        """Sort key for the script. An empty key puts the row at the end."""
        if isinstance(self.sort, float):
            return "" if math.isnan(self.sort) else f"{self.sort:.9g}"
        return self.text if self.sort is None else str(self.sort)


@dataclass(frozen=True)
class Row:
    """A row, named by its first cell."""

    cells: Sequence[Cell]


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
    def sorts(self) -> bool:
        """True if rows can be sorted by a column, which is of no use in a few rows."""
        return len(self.rows) >= _SORTED and any(column.sorts for column in self.columns)


@dataclass(frozen=True)
class RankingLine:
    """A configuration in the ranking: its full `name`, the `label` that replaces the settings if it has none, and the cells behind the interval.

    `status` is the name of a `RankStatus` in lower case, `said` the status in words. `tag` is the kind of a target. Of a failed configuration, `error`
    is the error if it is not that of the heading, and `traceback` the path of the file.
    """

    name: str
    place: str
    status: str
    said: str
    settings: Sequence[str]
    label: str
    tag: str
    mark: IntervalMark | None
    cells: Sequence[Cell]
    error: str = ""
    traceback: str = ""


class Chip(NamedTuple):
    """A filter: its label, the value that it selects, and the number of the setting's column, which a status does not have."""

    label: str
    value: str
    column: int | None = None


@dataclass(frozen=True)
class RankingTable:
    """The ranking: `settings` and `columns` are the headings before and behind the interval, `groups` the lines under each title.

    `ticks` are positions with labels, `reference` is the position of a dashed line. `table` is the same for views without a style sheet.
    """

    settings: Sequence[str]
    interval: str
    columns: Sequence[Column]
    groups: Sequence[tuple[str, Sequence[RankingLine]]]
    ticks: Sequence[tuple[float, str]]
    reference: float | None
    statuses: Sequence[Chip]
    values: Sequence[Chip]
    note: str
    table: Table


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


class Fact(NamedTuple):
    """A question on the first screen, its answer in a few letters, and the text below it."""

    question: str
    answer: str
    text: str

    @property
    def sentence(self) -> str:
        """The text with its full stop."""
        return self.text if self.text.endswith("…") else f"{self.text}."


@dataclass(frozen=True)
class ExcerptRow:
    """A row of the excerpt: a configuration with the positions of its interval in per cent, or a group of failed ones with its `status` only.

    `kind` decides symbol and colour: winner, best, behind, untested, unranked, failed. `used` marks the recommended configuration.
    """

    kind: str
    symbol: str
    name: str
    full: str
    status: str
    place: str = ""
    score: str = ""
    difference: str = ""
    bounds: str = ""
    time: str = ""
    marks: Bar | None = None
    used: bool = False


@dataclass(frozen=True)
class RankingExcerpt:
    """The first rows of the ranking. `reference` is the position of the dashed line, `ticks` are positions with their texts, `more` links to the rest."""

    axis: str
    compared: str
    ticks: Sequence[tuple[float, str]]
    rows: Sequence[ExcerptRow]
    legend: str
    reference: float | None = None
    more: str = ""


class NextStep(NamedTuple):
    """The next thing to do, and the command that does it (may be empty)."""

    sentence: str
    command: str = ""


@dataclass(frozen=True)
class QuestionDetails:
    """The packed drill-down of `shown` of `queries` questions, `detailed` ones with their passages, and the blocks `listed` that are read without a script."""

    packed: str
    detailed: int
    shown: int
    queries: int
    listed: "Sequence[Block]"


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
    """A state in a few words. `tone` is alert, watch, better, level or steady."""

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
class Opening:
    """The first screen: a headline between `chips` and `lines`, facts, the next step, and `blocks`, such as an excerpt of the ranking.

    `metric` begins the first of the lines, `notes` end the screen.
    """

    headline: str
    chips: Sequence[Badge] = ()
    metric: str = ""
    lines: Sequence[str] = ()
    facts: Sequence[Fact] = ()
    step: NextStep | None = None
    blocks: "Sequence[Block]" = ()
    notes: Sequence[str] = ()

    @property
    def notes_title(self) -> str:
        """The link to the notes. Empty without any."""
        return f"{plural(len(self.notes), 'note')} on these numbers" if self.notes else ""

    @property
    def text(self) -> str:
        """The whole without its blocks, in lines."""
        # "15 of 77" is the subject of what follows.
        facts = [f"{fact.question} {fact.answer}{'' if ' of ' in fact.answer else ':'} {fact.sentence}" for fact in self.facts]
        step = [f"Next: {self.step.sentence}", *([f"    {self.step.command}"] if self.step.command else [])] if self.step else []
        lines = [f"{self.metric} {line}".strip() if place == 0 else line for place, line in enumerate(self.lines)]
        return "\n".join([self.headline, *lines, *facts, *step, *self.notes])


@dataclass(frozen=True)
class Report:
    """A page: its opening, sections, and the `names` of configurations in its sentences. `about` follows the title.

    Sections show `short_names` in place of names.
    """

    title: str
    folder: str
    names: Sequence[str]
    opening: Opening
    sections: Sequence[Section]
    about: str = ""
    short_names: Mapping[str, str] = field(default_factory=dict)


Block = (
    Table
    | RankingTable
    | Figure
    | Headline
    | Prose
    | Lines
    | Terms
    | Opening
    | RankingExcerpt
    | QuestionDetails
    | Collapsible
    | Badge
    | Indicators
    | Columns
    | Section
)
