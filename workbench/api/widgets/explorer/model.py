"""Compute everything that the explorer shows of a run from its tables, without widgets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.api.scoring.rescore import Rescorer, RunDataset
from workbench.components.context.conditions import CONDITIONS
from workbench.core.errors import InputError
from workbench.core.memo import memoised
from workbench.core.records import Hit
from workbench.core.text.formatting import meant
from workbench.measures.attribution.causes import CAUSES
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.marked_answers import ShownAnswer, answers_in_conditions
from workbench.report.analysis.passages import Excerpt, Piece, Stretch, disjoint, marked, passage_of
from workbench.report.analysis.setting_names import short_names
from workbench.report.analysis.values import per_query, places, rewrites, slices
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.run.configurations import ShownNeed, shown_need

# A row of a table, and a stretch of a document.
Row = Mapping[Any, Any]
Spans = Sequence[tuple[str, int, int]]


class ExploredQuestion(NamedTuple):
    """A question with its expected answer. One that was typed has no `query_id`."""

    query_id: str
    text: str
    expected: str = ""
    answerable: bool = True


class GoldDocument(NamedTuple):
    """A relevant document. `place` is its rank among the documents and `rank` that of its first chunk, 0 if it was not retrieved.

    `cut_reason` is why that chunk was not delivered, empty if it was. `delivered`: whether any of its chunks was.
    """

    doc_id: str
    relevance: int
    place: int
    rank: int
    delivered: bool
    cut_reason: str


class EvidencePlace(NamedTuple):
    """A piece of evidence. `rank` is that of the first chunk that contains some of it, `whole` of the first with all of it, 0 for none."""

    need: ShownNeed
    rank: int
    whole: int


@dataclass(frozen=True)
class Side:
    """One configuration's hits and answers for a question.

    `value` is that of the `metric`, NaN without one. `causes` are of misses and failed answers. `chunks` are rows of `hits` with the `relevance` of the
    document (None without a judgement), `evident` if they contain evidence, and the text in `pieces`, empty if the run does not store it. Of a delivered
    one [`start`, `kept`) is in the context. `live` marks hits of a question that was asked now, which has no labels.
    """

    configuration: str
    question: ExploredQuestion
    metric: str = ""
    value: float = np.nan
    causes: Sequence[str] = ()
    searched: Sequence[str] = ()
    documents: Sequence[GoldDocument] = ()
    evidence: Sequence[EvidencePlace] = ()
    chunks: Sequence[Row] = ()
    answers: Sequence[ShownAnswer] = ()
    live: bool = False


Outcome = Literal["all", "won", "lost", "different"]
# What each outcome means for the first configuration.
OUTCOMES: dict[Outcome, str] = {
    "all": "all questions",
    "won": "won: the first is better",
    "lost": "lost: the first is worse",
    "different": "won or lost",
}
# Smaller differences are rounding.
_LEAST = 1e-9


@dataclass(frozen=True)
class QuestionFilter:
    """The questions that contain all `words`, have an `outcome` by a metric, are in a `slice`, and in which a `cause` occurs.

    An empty `cause` is any or none, an empty `metric` the primary one.
    """

    words: str = ""
    outcome: Outcome = "all"
    slice: str = "all"
    cause: str = ""
    metric: str = ""


@dataclass(frozen=True, eq=False)
class ExplorerModel:
    """A finished run with at least one finished configuration. `documents` are texts loaded beside it, by id."""

    run: RunTables
    documents: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.run.names:
            failed = "; ".join(f"{name}: {error}" for name, error in self.run.failures.items())
            raise InputError(f"no configuration of the run {self.run.name} finished ({failed})", "run the sweep again")

    @property
    def names(self) -> Sequence[str]:
        """The finished configurations in the order of the run."""
        return self.run.names

    @property
    def metrics(self) -> list[str]:
        """The metrics to compare by, the primary one first."""
        return list(dict.fromkeys([str(self.run.primary), *self.run.measures]))

    @property
    def slices(self) -> list[str]:
        """All slices of the questions, `all` first."""
        return list(slices(self.run))

    @cached_property
    def rescorer(self) -> Rescorer:
        """The stored rankings of the run, which give the values of metrics that its sweep did not compute."""
        return Rescorer(self.run, self.run.folder, RunDataset(self.run))

    @property
    def conditions(self) -> list[str]:
        """The conditions of the run's answers, empty without answers."""
        present = set(self.run.manifest["conditions"]) if "answers" in self.run.sources else set()
        return [condition for condition in CONDITIONS if condition in present]

    @cached_property
    def query_ids(self) -> list[str]:
        """The questions in the dataset's order."""
        return [str(query_id) for query_id in self.run.questions["query_id"]]

    def title(self, configuration: str) -> str:
        """Return the short name of a configuration, made of the settings that vary in the run."""
        return short_names(self.run).get(configuration, configuration)

    def with_documents(self, documents: Mapping[str, str]) -> "ExplorerModel":
        """Return the model with the texts of documents."""
        return replace(self, documents=documents)

    def known(self, configuration: str) -> str:
        """Return the name of a finished configuration. Raises InputError for another one."""
        if configuration in self.run.failures:
            raise InputError(f"the configuration {configuration} failed: {self.run.failures[configuration]}", "choose a finished one")
        if configuration not in self.names:
            raise InputError(f"the run {self.run.name} has no configuration {configuration!r}{meant(configuration, self.names)}")
        return configuration

    def question(self, query_id: str) -> ExploredQuestion:
        """Return a question of the run. Raises InputError for an unknown id."""
        if query_id not in self._places:
            raise InputError(
                f"the run {self.run.name} has no question {query_id!r}{meant(query_id, self.query_ids)}", "see results.questions"
            )
        row = self.run.questions.iloc[self._places[query_id]]
        return ExploredQuestion(query_id, str(row["text"]), str(row["answer"] or ""), bool(row["answerable"]))

    def query_with(self, text: str) -> str:
        """Return the id of the question with exactly this text, or an empty text."""
        wanted = text.strip()
        return next(
            (query_id for query_id, question in zip(self.query_ids, self.run.questions["text"], strict=True) if question == wanted), ""
        )

    def place(self, configuration: str, query_id: str) -> tuple[str, int]:
        """Return where to read about a question: its first evidence, else a relevant document, else the first hit of a configuration.

        The document is empty if nothing was retrieved.
        """
        evidence, hits = _rows(self.run, "evidence", query_id), _rows(self.run, "hits", query_id, configuration)
        judgements = _rows(self.run, "judgements", query_id)
        for rows in (evidence, judgements[judgements["relevance"] > 0].assign(start=0), hits.sort_values("rank")):
            if len(rows):
                return str(rows["doc_id"].iloc[0]), int(rows["start"].iloc[0])
        return "", 0

    def side(self, configuration: str, query_id: str, metric: str = "", condition: str = "") -> Side:
        """Return a configuration's side of a question of the run. `condition` chooses its answers, those of all conditions if empty."""
        run, question, measured = self.run, self.question(query_id), metric or str(self.run.primary)
        hits = _rows(run, "hits", query_id, configuration).to_dict("records")
        judgements, evidence = (_rows(run, name, query_id) for name in ("judgements", "evidence"))
        grades = dict(zip(judgements["doc_id"], judgements["relevance"].tolist(), strict=True))
        return Side(
            configuration,
            question,
            measured,
            float(self.values(configuration, measured)[self._places[query_id]]),
            list(dict.fromkeys(_rows(run, "causes", query_id, configuration)["cause"])),
            rewrites(run, configuration).get(query_id, []) if "rewrites" in run.sources else [],
            gold_documents(grades, hits),
            self._evidence(configuration, query_id, hits),
            [self.chunk(hit, _spans(evidence), grades) for hit in hits],
            self._answers(configuration, query_id, condition),
        )

    def live_side(self, configuration: str, text: str, hits: Sequence[Hit]) -> Side:
        """Return a configuration's side of a question that was typed."""
        marks = {"relevance": None, "delivered": True, "cut_reason": "", "evident": False}
        chunks = [
            marks
            | {"rank": hit.rank, "doc_id": hit.doc_id, "start": hit.start, "end": hit.end, "score": hit.score}
            | {"kept": hit.end, "pieces": [Piece(hit.text)] if hit.text else []}
            for hit in hits
        ]
        return Side(configuration, ExploredQuestion("", text), chunks=chunks, live=True)

    def chunk(self, hit: Row, evidence: Spans, grades: Mapping[str, int]) -> Row:
        """Mark the evidence of a hit as delivered or missed, and the part that was cut from its end."""
        doc_id, start, end, delivered = str(hit["doc_id"]), int(hit["start"]), int(hit["end"]), bool(hit["delivered"])
        kept = int(hit["kept"]) if delivered else start
        stretches = _stretches(
            [(low, high) for doc, low, high in evidence if doc == doc_id and low < end and high > start], start, kept, end
        )
        text = self._text(doc_id, start, end)
        cut = _cut(stretches, kept, end) if delivered else []
        pieces = marked(text, start, end, [*stretches, *cut]) if text is not None else []
        return {**hit, "relevance": grades.get(doc_id), "kept": kept, "evident": bool(stretches), "pieces": pieces}

    def values(self, configuration: str, metric: str) -> Floats:
        """Return the value of each question by any metric of rankings, NaN without one. Shape (questions,)."""
        if metric in self.run.measures:
            return per_query(self.run, configuration, metric)
        values, scored = np.full(len(self.query_ids), np.nan), self.rescorer.score(configuration, Metric.parse(metric))
        if scored.rows is not None:
            values[scored.rows["query"].to_numpy()] = scored.rows["value"].to_numpy(np.float64)
        return values

    def selection(self, first: str, second: str, chosen: QuestionFilter) -> pd.DataFrame:
        """Tabulate the questions that pass the filter, with the values of both configurations and `difference`, the first minus the second."""
        metric = chosen.metric or str(self.run.primary)
        values = [self.values(name, metric) for name in (first, second)]
        causes = [[", ".join(sorted(each)) for each in question_causes(self.run, name)] for name in (first, second)]
        table = pd.DataFrame(
            {
                "query_id": self.run.questions["query_id"],
                "question": self.run.questions["text"],
                "first": values[0],
                "second": values[1],
                "difference": values[0] - values[1],
                "first_causes": pd.Series(causes[0], dtype="str"),
                "second_causes": pd.Series(causes[1], dtype="str"),
            }
        )
        mask = self._passing(first, second, chosen) & self.outcomes(table, metric)[chosen.outcome]
        table = table[mask].reset_index(drop=True)
        table.attrs |= {"metric": metric, "first": first, "second": second}
        return table

    def outcomes(self, table: pd.DataFrame, metric: str) -> dict[Outcome, Bools]:
        """Mark the rows of a selection that have each outcome. A question without a difference is neither won nor lost."""
        measure = self.run.measures.get(metric) or Metric.parse(metric)
        gain = table["difference"].to_numpy(np.float64) * (1 if measure.higher_is_better else -1)
        won, lost = gain > _LEAST, gain < -_LEAST
        return {"all": np.ones(len(gain), dtype=np.bool_), "won": won, "lost": lost, "different": won | lost}

    def _passing(self, first: str, second: str, chosen: QuestionFilter) -> Bools:
        """Which questions contain the words, are in the slice and have the cause. Shape (questions,)."""
        words = chosen.words.casefold().split()
        members = slices(self.run).get(chosen.slice)
        mask: Bools = np.array([all(word in text for word in words) for text in _folded(self.run)], dtype=np.bool_)
        mask &= self.rescorer.stored.members(chosen.slice) if members is None else members
        if chosen.cause:
            pairs = zip(question_causes(self.run, first), question_causes(self.run, second), strict=True)
            mask &= np.array([chosen.cause in one | other for one, other in pairs], dtype=np.bool_)
        return mask

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    def _text(self, doc_id: str, start: int, end: int) -> Excerpt | None:
        """The text around [start, end) of a document, which the run stores or which was loaded, or None."""
        try:
            return passage_of(self.run, doc_id, start, end)
        except InputError:
            text = self.documents.get(doc_id)
            return Excerpt(0, text) if text is not None and end <= len(text) else None

    def _evidence(self, configuration: str, query_id: str, hits: Sequence[Row]) -> list[EvidencePlace]:
        context = _rows(self.run, "context", query_id, configuration)
        delivered = context[context["kept"] > context["start"]]
        needs = _rows(self.run, "evidence", query_id).groupby("need", sort=False)
        return [evidence_place(shown_need(self.run, rows, delivered), _spans(rows), hits) for _, rows in needs]

    def _answers(self, configuration: str, query_id: str, condition: str) -> Sequence[ShownAnswer]:
        if "answers" not in self.run.sources:
            return ()
        return answers_in_conditions(self.run, configuration, query_id, [condition] if condition else CONDITIONS)


def gold_documents(grades: Mapping[str, int], hits: Sequence[Row]) -> list[GoldDocument]:
    """Locate the relevant documents, the best ranked first, those that were not retrieved last."""
    ranks = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(hit["doc_id"] for hit in hits), 1)}
    gold = []
    for doc_id, grade in grades.items():
        if grade > 0:
            own = [hit for hit in hits if hit["doc_id"] == doc_id]
            rank, reason = (int(own[0]["rank"]), str(own[0]["cut_reason"])) if own else (0, "")
            gold.append(GoldDocument(doc_id, grade, ranks.get(doc_id, 0), rank, any(hit["delivered"] for hit in own), reason))
    return sorted(gold, key=lambda document: document.place or len(ranks) + 1)


def evidence_place(need: ShownNeed, alternatives: Spans, hits: Sequence[Row]) -> EvidencePlace:
    """Locate a piece of evidence by any of its alternatives."""
    pairs = [(hit, start, end) for hit in hits for doc_id, start, end in alternatives if hit["doc_id"] == doc_id]
    some = [hit["rank"] for hit, start, end in pairs if hit["start"] < end and hit["end"] > start]
    whole = [hit["rank"] for hit, start, end in pairs if hit["start"] <= start and hit["end"] >= end]
    return EvidencePlace(need, int(min(some, default=0)), int(min(whole, default=0)))


@memoised(112)
def _by_question(run: RunTables, table: str, configuration: str) -> tuple[pd.DataFrame, Mapping[Any, Any]]:
    rows = run.of(table, configuration) if configuration else run.table(table)
    return rows, rows.groupby("query_id", sort=False).indices


def _rows(run: RunTables, table: str, query_id: str, configuration: str = "") -> pd.DataFrame:
    """The rows of a question, found without reading the others."""
    rows, places = _by_question(run, table, configuration)
    own: pd.DataFrame = rows.iloc[places.get(query_id, [])]
    return own


def _spans(rows: pd.DataFrame) -> Spans:
    return list(zip(rows["doc_id"], rows["start"].tolist(), rows["end"].tolist(), strict=True))


def _stretches(spans: Sequence[tuple[int, int]], start: int, kept: int, end: int) -> list[Stretch]:
    stretches: list[Stretch] = []
    for low, high in spans:
        low, high = max(low, start), min(high, end)
        stretches += [(low, min(high, kept), "delivered")] if low < kept else []
        stretches += [(max(low, kept), high, "missed")] if high > kept else []
    return disjoint(stretches)


def _cut(stretches: Sequence[Stretch], kept: int, end: int) -> list[Stretch]:
    """The parts beyond the budget that are no evidence."""
    cuts: list[Stretch] = []
    position = kept
    for low, high, _ in [stretch for stretch in stretches if stretch[1] > kept]:
        cuts += [(position, low, "cut")] if position < low else []
        position = max(position, high)
    return [*cuts, (position, end, "cut")] if position < end else cuts


@memoised(64)
def question_causes(run: RunTables, configuration: str) -> tuple[frozenset[str], ...]:
    """The causes of each question's misses and failed answers."""
    rows = run.of("causes", configuration)
    causes: list[set[str]] = [set() for _ in range(len(run.questions))]
    for place, cause in zip(places(run, rows["query_id"]).tolist(), rows["cause"].tolist(), strict=True):
        causes[place].add(cause)
    return tuple(map(frozenset, causes))


def causes_between(run: RunTables, first: str, second: str) -> list[str]:
    """The causes that occur in either configuration, in order of precedence."""
    present = frozenset[str]().union(*question_causes(run, first), *question_causes(run, second))
    known = [cause.name for cause in CAUSES]
    return sorted(present, key=lambda name: known.index(name) if name in known else len(known))


@memoised(1)
def _folded(run: RunTables) -> tuple[str, ...]:
    pairs = zip(run.questions["query_id"], run.questions["text"], strict=True)
    return tuple(f"{query_id} {text}".casefold() for query_id, text in pairs)
