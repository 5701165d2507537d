"""The chunks of a configuration: their faults, and their lengths against the embedder's window."""

import json

import numpy as np

from workbench.analysis.standings import Standing
from workbench.core.formatting import count, plural, share
from workbench.report.cells import count_cell, text, value_cell, words
from workbench.report.figures import plots
from workbench.report.model import Cell, Column, Figure, Row, Table
from workbench.results.run_tables import RunTables


def faults_table(run: RunTables, configuration: str, number: int = 1) -> Table:
    """Each fault with how often it is found, its definition and examples."""
    columns = [words("fault"), Column("found"), Column("share"), text("which means"), text("such as")]
    rows = []
    for row in run.of("chunk_faults", configuration).to_dict("records"):
        found, of = int(row["found"]), int(row["of"])
        part = value_cell(found / of if of else 0.0, shown=f"{share(found, of)} of {plural(of, row['unit'].removesuffix('s'))}")
        rows.append(
            Row([Cell(row["fault"]), count_cell(found), part, Cell(row["definition"]), Cell(", ".join(json.loads(row["examples"])))])
        )
    return Table(f"faults-{number}", "Faults of the chunks", columns, rows)


def lengths_sentence(run: RunTables, standing: Standing) -> str:
    """How many chunks there are, how long they are, and how many the window cuts."""
    table, window = run.of("chunk_lengths", standing.name), standing.facts["window"]
    tokens = np.repeat(table["tokens"].to_numpy(np.int64), table["chunks"].to_numpy(np.int64))
    middle, most = float(np.median(tokens)) if len(tokens) else 0.0, int(tokens.max(initial=0))
    told = f"Lengths of {plural(len(tokens), 'chunk')}: median {count(middle)}, longest {plural(most, 'token')}; "
    if window is None:
        return f"{told}there is no window"
    return f"{told}the window is {count(window)}; {plural(int((tokens > window).sum()), 'chunk')} beyond it"


def lengths_figure(run: RunTables, standing: Standing) -> Figure:
    """The lengths of the chunks against the window of what embeds them."""
    table, window = run.of("chunk_lengths", standing.name), standing.facts["window"]
    drawing = plots.lengths(table["tokens"].tolist(), table["chunks"].tolist(), window)
    read = "" if window is None else " What lies beyond the dashed line is never embedded: no question can find it."
    told = lengths_sentence(run, standing)
    return Figure("lengths", told, f"{told}.{read}", drawing)
