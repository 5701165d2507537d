"""The figures of the simulations as Markdown, and as values that the soak tests assert."""

from collections.abc import Iterable, Sequence
from functools import partial

from benchmarks.verdict.claims import Claims, simulate
from benchmarks.verdict.coverage import cells
from benchmarks.verdict.worlds import PROFILES, World

# Less noise, so that the better one can be found.
QUIET = partial(World, noise=0.10, shift=0.03)
WORLDS = {name: World(means) for name, means in PROFILES.items()} | {
    "two best, 22 worse by .10, quiet": QUIET(PROFILES["two best, 22 worse by .10"]),
    "one better by .05, quiet": QUIET(PROFILES["one better by .05"]),
    "one better by .05, 300 documents": World(PROFILES["one better by .05"], documents=300, most=1, noise=0.15, shift=0),
}
_CLAIMS = [
    "world (24 configurations)",
    "false winner",
    "false pair",
    "best held",
    "set",
    "oracle",
    "oracle at 5 %",
    "knowing oracle",
    "winner found",
    "oracle",
    "pair found",
    "oracle",
    "bias of first",
    "corrected",
]


def claims_table(runs: int) -> tuple[dict[str, Claims], str]:
    """The claims by world, and their table."""
    found = {name: simulate(world, runs) for name, world in WORLDS.items()}
    return found, _markdown(_CLAIMS, [[name, *_cells(claims)] for name, claims in found.items()])


def coverage_table(runs: int) -> tuple[dict[tuple[str, int, str], list[float]], str]:
    """The coverage by cell, and a table of its smallest and mean values."""
    found = cells(runs)
    rows = [
        [name, str(documents), kind, f"{min(values):.3f}", f"{sum(values) / len(values):.3f}"]
        for (name, documents, kind), values in found.items()
    ]
    return found, _markdown(["sizes", "documents", "values", "least", "mean"], rows)


def _cells(claims: Claims) -> Iterable[str]:
    shares = (claims.false_winner, claims.false_pair, claims.held)
    sizes = (claims.size, claims.oracle, claims.oracle_95, claims.knowing)
    powers = (claims.won, claims.oracle_won, claims.found, claims.oracle_found)
    yield from (f"{share:.3f}" for share in shares)
    yield from (f"{size:.2f}" for size in sizes)
    yield from (f"{power:.2f}" for power in powers)
    yield from (f"{bias:+.3f}" for bias in (claims.naive, claims.corrected))


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
