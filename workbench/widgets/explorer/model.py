"""What the explorer shows of a run, computed from its tables, without widgets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.analysis.marked_answers import ShownAnswer, answers_in_conditions
from workbench.analysis.passages import Piece
from workbench.analysis.values import rewrites, slices
from workbench.context.conditions import CONDITIONS
from workbench.core.formatting import meant
from workbench.errors import InputError
from workbench.records import Hit
from workbench.report.topics.run.worst import shown_need
from workbench.results.run_tables import RunTables
from workbench.widgets.explorer.gold_places import EvidencePlace, GoldDocument, evidence_place, gold_documents
from workbench.widgets.explorer.query_rows import rows_of, rows_of_run
from workbench.widgets.explorer.question_filter import QuestionFilter, causes_between, question_values, selection
from workbench.widgets.explorer.ranked_chunks import ExploredChunk, StoredTexts, ranked_chunk


@dataclass(frozen=True)
class ExploredQuestion:
    """A question with its expected answer and its fields. One that was typed has no `query_id`."""

    query_id: str
    text: str
    expected: str = ""
    answerable: bool = True


@dataclass(frozen=True)
class Side:
    """What one configuration retrieved and answered for a question.

    `value` is that of the `metric`, NaN without one. `causes` are of misses and failed answers. `documents` counts those that are relevant;
    `live` marks hits of a question that was asked now, of which there are no labels.
    """

    configuration: str
    question: ExploredQuestion
    metric: str = ""
    value: float = np.nan
    causes: Sequence[str] = ()
    searched: Sequence[str] = ()
    documents: Sequence[GoldDocument] = ()
    evidence: Sequence[EvidencePlace] = ()
    chunks: Sequence[ExploredChunk] = ()
    answers: Sequence[ShownAnswer] = ()
    live: bool = False


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

    @property
    def conditions(self) -> list[str]:
        """The conditions of the run's answers, empty without answers."""
        present = set(self.run.manifest["conditions"]) if "answers" in self.run.sources else set()
        return [condition for condition in CONDITIONS if condition in present]

    @cached_property
    def query_ids(self) -> list[str]:
        """The questions in the dataset's order."""
        return [str(query_id) for query_id in self.run.questions["query_id"]]

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

    def causes(self, first: str, second: str) -> list[str]:
        """The causes that occur in either configuration."""
        return causes_between(self.run, first, second)

    def selection(self, first: str, second: str, chosen: QuestionFilter) -> pd.DataFrame:
        """The questions that pass a filter, with both configurations' values."""
        return selection(self.run, first, second, chosen)

    def question(self, query_id: str) -> ExploredQuestion:
        """A question of the run. Raises InputError for an unknown id."""
        if query_id not in self._places:
            raise InputError(
                f"the run {self.run.name} has no question {query_id!r}{meant(query_id, self.query_ids)}", "see results.questions"
            )
        row = self.run.questions.iloc[self._places[query_id]]
        return ExploredQuestion(query_id, str(row["text"]), str(row["answer"] or ""), bool(row["answerable"]))

    def query_with(self, text: str) -> str:
        """The id of the question with exactly this text, or an empty text."""
        wanted = text.strip()
        return next((query_id for query_id, each in zip(self.query_ids, self.run.questions["text"], strict=True) if each == wanted), "")

    def side(self, configuration: str, query_id: str, metric: str = "", condition: str = "") -> Side:
        """What a configuration did with a question of the run. `condition` chooses its answers, those of all conditions if empty."""
        run, question, measured = self.run, self.question(query_id), metric or str(self.run.primary)
        hits = rows_of(run, "hits", configuration).records(query_id)
        grades = {row["doc_id"]: row["relevance"] for row in rows_of_run(run, "judgements").records(query_id)}
        spans = [(row["doc_id"], row["start"], row["end"]) for row in rows_of_run(run, "evidence").records(query_id)]
        texts = StoredTexts(run, self.documents)
        causes = [row["cause"] for row in rows_of(run, "causes", configuration).records(query_id)]
        return Side(
            configuration,
            question,
            measured,
            float(question_values(run, configuration, measured)[self._places[query_id]]),
            list(dict.fromkeys(causes)),
            rewrites(run, configuration).get(query_id, []) if "rewrites" in run.sources else [],
            gold_documents(grades, hits),
            self._evidence(configuration, query_id, hits),
            [ranked_chunk(hit, spans, grades, texts) for hit in hits],
            self._answers(configuration, query_id, condition),
        )

    def live_side(self, configuration: str, text: str, hits: Sequence[Hit]) -> Side:
        """What a configuration retrieves for a question that was typed."""
        chunks = [
            ExploredChunk(
                hit.rank, hit.doc_id, hit.start, hit.end, hit.score, None, True, hit.end, "", False, [Piece(hit.text)] if hit.text else []
            )
            for hit in hits
        ]
        return Side(configuration, ExploredQuestion("", text), chunks=chunks, live=True)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {query_id: place for place, query_id in enumerate(self.query_ids)}

    def _evidence(self, configuration: str, query_id: str, hits: Sequence[Mapping[str, object]]) -> list[EvidencePlace]:
        context = rows_of(self.run, "context", configuration).frame(query_id)
        delivered = context[context["kept"] > context["start"]]
        found = []
        for _, rows in rows_of_run(self.run, "evidence").frame(query_id).groupby("need", sort=False):
            spans = list(zip(rows["doc_id"], rows["start"].tolist(), rows["end"].tolist(), strict=True))
            found.append(evidence_place(shown_need(self.run, rows, delivered), spans, hits))
        return found

    def _answers(self, configuration: str, query_id: str, condition: str) -> Sequence[ShownAnswer]:
        if "answers" not in self.run.sources:
            return ()
        return answers_in_conditions(self.run, configuration, query_id, [condition] if condition else CONDITIONS)
