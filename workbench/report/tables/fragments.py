"""Tables as HTML: text escaped, numbers to the right, wide ones scrolling by themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.report.render.display import Fragment, render


@dataclass(frozen=True)
class Column:
    """A column's heading; `numeric` sets it to the right, `wide` lets its text break into lines."""

    title: str
    numeric: bool = True
    wide: bool = False

    @property
    def kind(self) -> str:
        """The class of its cells."""
        return "wb-number" if self.numeric else "wb-wide" if self.wide else "wb-word"


def words(title: str) -> Column:
    """A column of short words."""
    return Column(title, numeric=False)


def text(title: str) -> Column:
    """A column of sentences."""
    return Column(title, numeric=False, wide=True)


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Fragment:
    """A table whose first column names its rows."""
    return render("table", caption=caption, columns=columns, rows=rows)
