"""Documents and pieces of evidence that a baseline found and a run does not."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from workbench.analysis.passages import text_of
from workbench.errors import InputError
from workbench.gate.losses.hit_lists import HitList, covered, hit_lists
from workbench.gate.question_values import question_values
from workbench.metrics.names import Metric
from workbench.results.run_tables import RETRIEVED, RunTables

Places = Sequence[tuple[str, int, int]]
_SMALLEST_DROP = 1e-9


@dataclass(frozen=True)
class Label:
    """A relevant document of a question (`need` -1, one place from 0 to 0), or a need with the places of its alternatives."""

    query_id: str
    need: int
    places: Places


@dataclass(frozen=True)
class LostPiece:
    """A label that is lost by a metric, whose values of the question are `value_before` and `value_after` (NaN if unknown).

    `place` is the alternative that the baseline found.
    """

    label: Label
    place: tuple[str, int, int]
    rank_before: int
    rank_after: int
    metric: str
    value_before: float
    value_after: float


@dataclass(frozen=True, eq=False)
class Sides:
    """The hits of a run and of a baseline by question, cut where a metric reads them, and the values of both by question."""

    run: RunTables
    measure: Metric
    before: Mapping[str, HitList]
    after: Mapping[str, HitList]
    values: Mapping[str, tuple[float, float]] = field(repr=False)

    @property
    def reads_documents(self) -> bool:
        """Whether the metric counts documents."""
        return not self.measure.of_text

    def unknown(self, query_id: str) -> bool:
        """Whether the metric reads more documents or slices of a question than the baseline keeps."""
        listed = self.before.get(query_id, HitList()).listed
        known = len({piece.doc_id for piece in listed}) if self.measure.family == "documents" else len(listed)
        return known < (self.measure.k or 1)

    def value(self, query_id: str) -> tuple[float, float]:
        """The value of a question in the baseline and in the run."""
        return self.values.get(query_id, (math.nan, math.nan))

    def ranks(self, hits: HitList, place: tuple[str, int, int]) -> tuple[int, int]:
        """The rank of a place among the reached hits, and its best rank among the listed ones."""
        if self.reads_documents:
            return hits.document_rank(place[0], distinct=self.measure.family == "documents")
        return hits.evidence_rank(*place, self._blank)

    def _blank(self, doc_id: str, start: int, end: int) -> bool:
        try:
            return not text_of(self.run, doc_id, start, end).strip()
        except InputError:
            return False


def sides_of(run: RunTables, configuration: str, hits: pd.DataFrame, values: pd.DataFrame, measure: Metric) -> Sides:
    """Cut the hits of both sides where a metric reads them."""
    documents = measure.k if measure.family == "documents" else None
    slices = measure.k if measure.family != "documents" else None
    before, after = (hit_lists(table, documents=documents, slices=slices) for table in (hits, run.of("hits", configuration)))
    pairs = paired_values(run, configuration, values, str(measure))
    known = dict(zip(pairs.index, zip(pairs["before"].tolist(), pairs["after"].tolist(), strict=True), strict=True))
    return Sides(run, measure, before, after, known)


def paired_values(run: RunTables, configuration: str, values: pd.DataFrame, metric: str, condition: str = RETRIEVED) -> pd.DataFrame:
    """Return the values of a metric by question: `before` from a baseline's `values`, `after` from a run. NaN where one is missing."""
    sides = {"before": values, "after": question_values(run, configuration)}
    columns = {
        name: table[(table["metric"] == metric) & (table["condition"] == condition)].set_index("query_id")["value"].astype("float64")
        for name, table in sides.items()
    }
    return pd.DataFrame(columns).reindex(run.questions["query_id"])


def measure_for(run: RunTables, families: Iterable[str], preferred: Sequence[str]) -> Metric | None:
    """The metric by which pieces are lost: the first of `preferred`, the primary one and the others that is of these families."""
    names = dict.fromkeys([*preferred, str(run.primary), *run.measures])
    known = [run.measures[name] for name in names if name in run.measures]
    wanted = tuple(families)
    return next((measure for measure in known if measure.family in wanted and measure.higher_is_better and measure.name != "judged"), None)


def document_labels(run: RunTables) -> Iterator[Label]:
    """The relevant documents of answerable questions."""
    relevant = run.judgements[run.judgements["relevance"] >= 1]
    asked = set(run.questions.loc[run.questions["answerable"], "query_id"])
    for query_id, doc_id in zip(relevant["query_id"], relevant["doc_id"], strict=True):
        if query_id in asked:
            yield Label(query_id, -1, [(doc_id, 0, 0)])


def evidence_labels(run: RunTables) -> Iterator[Label]:
    """The needs of answerable questions."""
    asked = set(run.questions.loc[run.questions["answerable"], "query_id"])
    evidence = run.evidence[run.evidence["query_id"].isin(asked)]
    for need, rows in evidence.groupby("need", sort=False):
        places = zip(rows["doc_id"], rows["start"].tolist(), rows["end"].tolist(), strict=True)
        yield Label(str(rows["query_id"].iloc[0]), int(str(need)), list(places))


def lost_pieces(sides: Sides, labels: Iterable[Label]) -> list[LostPiece]:
    """List the labels that only the baseline found.

    A question whose value did not drop lost nothing. If it dropped and no label is lost as a whole, those are listed of which a part is lost, and
    those that the run misses, with the rank 0 before, if the metric reads more than the baseline keeps.
    """
    by_query: dict[str, list[Label]] = {}
    for label in labels:
        by_query.setdefault(label.query_id, []).append(label)
    lost = []
    for query_id, own in by_query.items():
        before, after = sides.value(query_id)
        known = not math.isnan(before - after)
        if known and before - after <= _SMALLEST_DROP:
            continue
        missing = [piece for label in own if (piece := _missing(sides, label)) is not None]
        found = [piece for piece in missing if piece.rank_before]
        lost += found or _in_part(sides, missing) or (missing if known and sides.unknown(query_id) else [])
    return lost


def _in_part(sides: Sides, missing: Sequence[LostPiece]) -> list[LostPiece]:
    """Return the pieces of text of which the baseline has more characters than the run, at the best rank of a slice with any of them."""
    if sides.reads_documents:
        return []
    parts = []
    for piece in missing:
        before, after = (hits.get(piece.label.query_id, HitList()) for hits in (sides.before, sides.after))
        had, place = max((covered(before.reached, *each), each) for each in piece.label.places)
        if had > max(covered(after.reached, *each) for each in piece.label.places):
            _, rank_before = sides.ranks(before, place)
            parts.append(replace(piece, place=place, rank_before=rank_before, rank_after=sides.ranks(after, place)[1]))
    return parts


def _missing(sides: Sides, label: Label) -> LostPiece | None:
    query_id = label.query_id
    before, after = sides.before.get(query_id, HitList()), sides.after.get(query_id, HitList())
    if any(sides.ranks(after, place)[0] for place in label.places):
        return None
    found = [(rank, place) for place in label.places if (rank := sides.ranks(before, place)[0])]
    rank_before, place = min(found, default=(0, label.places[0]))
    rank_after = sides.ranks(after, place)[1]
    return LostPiece(label, place, rank_before, rank_after, str(sides.measure), *sides.value(query_id))
