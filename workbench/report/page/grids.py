"""The primary metric by size and overlap, as tables whose cells are shaded: the numbers are there, whatever the colours say."""

from workbench.analysis.findings import Findings
from workbench.analysis.size_grid import Grid, size_grids
from workbench.report.page.table import Cell, Column, Row, Table, shade_cell, shade_range

_UNKNOWN = float("nan")


def grid_sheets(found: Findings) -> list[Table]:
    """A table for each grid, all with the same shades; none where size and overlap were not both varied."""
    grids = size_grids(found.standings.ranked, found.primary)
    if not grids:
        return []
    low, high = shade_range([value for grid in grids for value in grid.cells.values()])
    return [_sheet(number, grid, low, high) for number, grid in enumerate(grids, 1)]


def _sheet(number: int, grid: Grid, low: float, high: float) -> Table:
    headings = [Column("overlap", "word", sorts=False), *(Column(f"size {size:,}", "shade", sorts=False) for size in grid.sizes)]
    rows = [
        Row([Cell(f"{overlap:,}"), *(shade_cell(grid.cells.get((size, overlap), _UNKNOWN), low, high, 3) for size in grid.sizes)])
        for overlap in grid.overlaps
    ]
    return Table(f"grid-{number}", grid.title, headings, rows, classes="grid")
