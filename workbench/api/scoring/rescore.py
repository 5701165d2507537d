"""Score the stored rankings of a finished run by any metric of rankings, without embedding anything."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.core.environment import find_upwards
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.records import Dataset, Document
from workbench.core.text.formatting import count, plural
from workbench.data.checks import corpus_fingerprint
from workbench.data.formats.trec import escaped
from workbench.data.sources import Source
from workbench.measures.metrics.case import Case, Cut, MetricValues, ordered, slices
from workbench.measures.metrics.coverage import Bools, Ints
from workbench.measures.metrics.definition import MetricDefinition
from workbench.measures.metrics.documents import MARGIN_METRICS
from workbench.measures.metrics.evaluate import values_of
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS
from workbench.measures.statistics.clusters import Clusters, query_slices, weighted
from workbench.report.results.run_tables import RunTables
from workbench.runner.experiment.read import ExperimentSpec, experiment_of_run
from workbench.runner.pipeline.chunk_table import chunk_tables
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.search import metric_depth

# Stands for a character that the run has not stored. It is no blank.
_UNKNOWN = "x"


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """The judgements and evidence of a run, with the `documents` of its dataset, or None if only the tables are known.

    Without documents, texts contain what the run stores of documents with evidence: all evidence, which is what metrics of evidence at k
    read. Tokens can only be counted with documents.
    """

    run: RunTables
    documents: Sequence[Document] | None = None

    @cached_property
    def queries(self) -> Mapping[str, int]:
        """The position of each question."""
        return {name: place for place, name in enumerate(self.run.questions["query_id"])}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each document: of the dataset, or those that any table names."""
        if self.documents is not None:
            return {document.doc_id: place for place, document in enumerate(self.documents)}
        tables = (self.run.documents, self.run.table("judgements"), self.run.evidence, self.run.hits)
        return {name: place for place, name in enumerate(dict.fromkeys(doc for table in tables for doc in table["doc_id"].unique()))}

    @cached_property
    def labels(self) -> Labels:
        """The labels as metrics read them."""
        run, texts = self.run, self._texts
        offsets = np.concatenate([[0], np.cumsum(self._lengths + 1)]).astype(np.int64)
        need = pd.factorize(run.evidence["need"])[0].astype(np.int64)
        doc = self.documents_of(run.evidence)
        query = self.queries_of(run.evidence)
        return Labels(
            texts=texts,
            answerable=run.questions["answerable"].to_numpy(np.bool_),
            offsets=offsets,
            qrel_query=self.queries_of(run.table("judgements")),
            qrel_doc=self.documents_of(run.table("judgements")),
            qrel_relevance=run.table("judgements")["relevance"].to_numpy(np.int64),
            need_query=query[np.unique(need, return_index=True)[1]],
            alternative_need=need,
            alternative_doc=doc,
            alternative_start=offsets[doc] + run.evidence["start"].to_numpy(np.int64),
            alternative_end=offsets[doc] + run.evidence["end"].to_numpy(np.int64),
        )

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters of the questions, with the weights of the run's means."""
        return weighted(Clusters.of_table(self.run.questions), self.run.average)

    @cached_property
    def slices(self) -> Mapping[str, Bools]:
        """The questions of `all` and of each `field=value`."""
        metadata: list[dict[str, Any]] = [json.loads(text) for text in self.run.questions["metadata"]]
        return query_slices(metadata, len(metadata))

    def members(self, name: str) -> Bools:
        """Return the questions of a slice: `all`, `field=value`, or several of these joined by `&`.

        Raises InputError if there is no such slice, or no question in it.
        """
        parts = [name] if name in self.slices else name.split("&")
        for part in parts:
            if part not in self.slices:
                known = ", ".join(self.slices)
                raise InputError(f"there is no slice {part!r}", f"choose one of {known}, or join several by &")
        members: Bools = np.logical_and.reduce([self.slices[part] for part in parts])
        if not members.any():
            raise InputError(f"no question is in the slice {name!r}", "choose a wider slice")
        return members

    def queries_of(self, table: pd.DataFrame) -> Ints:
        return _positions(table["query_id"], self.queries)

    def documents_of(self, table: pd.DataFrame) -> Ints:
        return _positions(table["doc_id"], self.places)

    @cached_property
    def _lengths(self) -> Ints:
        if self.documents is not None:
            return np.array([len(document.text) for document in self.documents], dtype=np.int64)
        lengths = np.zeros(len(self.places), dtype=np.int64)
        for table in (self.run.evidence, self.run.hits):
            np.maximum.at(lengths, self.documents_of(table), table["end"].to_numpy(np.int64))
        return lengths

    @property
    def _texts(self) -> tuple[str, ...]:
        if self.documents is not None:
            return tuple(document.text for document in self.documents)
        texts = [""] * len(self.places)
        passages = self.run.passages
        for doc_id, rows in passages[passages["doc_id"].isin(self.run.evidence["doc_id"].unique())].groupby("doc_id"):
            place = self.places[str(doc_id)]
            texts[place] = _patched(int(self._lengths[place]), zip(rows["start"].tolist(), rows["text"].tolist(), strict=True))
        return tuple(texts)


def _positions(names: "pd.Series[str]", places: Mapping[str, int]) -> Ints:
    codes, distinct = pd.factorize(names)
    known = np.array([places[name] for name in distinct], dtype=np.int64)
    return known[codes] if len(known) else np.zeros(0, dtype=np.int64)


def _patched(length: int, passages: Iterable[tuple[int, str]]) -> str:
    """Return a text of unknown characters with these passages in their places."""
    parts, done = [], 0
    for start, text in sorted(passages):
        if start >= done:
            parts += [_UNKNOWN * (start - done), text]
            done = start + len(text)
    return "".join([*parts, _UNKNOWN * (length - done)])


_SLICE = ["doc", "start", "end"]


def stored_rankings(stored: StoredLabels, folder: Path, configuration: str, chunks: pd.DataFrame | None = None) -> Retrieved | None:
    """Return a configuration's results as metrics read them, without the spread of scores.

    `chunks` (doc, delivered_start, delivered_end) are all chunks of the configuration, None if only the retrieved ones are known. Returns
    None if a hit is not among these chunks.
    """
    hits = stored.run.of("hits", configuration)
    placed = pd.DataFrame(
        {
            "query": stored.queries_of(hits),
            "rank": hits["rank"].to_numpy(np.int64),
            "doc": stored.documents_of(hits),
            "start": hits["start"].to_numpy(np.int64),
            "end": hits["end"].to_numpy(np.int64),
            "score": hits["score"].to_numpy(np.float64),
        }
    ).sort_values(["query", "rank"], kind="stable", ignore_index=True)
    known = placed[_SLICE] if chunks is None else chunks.set_axis(_SLICE, axis="columns")
    known = known.drop_duplicates(ignore_index=True)
    rows = placed.merge(known.assign(chunk=np.arange(len(known), dtype=np.int64)), how="left", on=_SLICE)
    if rows["chunk"].isna().any():
        return None
    table = known.assign(delivered_start=known["start"], delivered_end=known["end"])
    ranked = rows.astype({"chunk": "int64"})[["query", "rank", "chunk", "score"]]
    ranking = _read_run(stored, folder / "runs" / f"{configuration}.trec")
    return Retrieved(table, ranked, ranking, np.full(len(stored.queries), np.nan), whole_index=chunks is not None)


def _read_run(stored: StoredLabels, path: Path) -> pd.DataFrame:
    """Return query, rank, doc, score of a run file that a sweep wrote."""
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    # Read as categories, identifiers that are all numbers would become numbers, and 01 the same as 1.
    types = {"query_id": "str", "doc_id": "str", "rank": "int64", "score": "float64"}
    try:
        rows = pd.read_csv(path, sep=" ", names=names, usecols=list(types), dtype=types, quoting=csv.QUOTE_NONE, na_filter=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable run file ({type(error).__name__})", "run workbench sweep again") from error
    queries = rows["query_id"].map({escaped(name): place for name, place in stored.queries.items()})
    documents = rows["doc_id"].map({escaped(name): place for name, place in stored.places.items()})
    if queries.isna().any() or documents.isna().any():
        raise InputError(f"{path} names questions or documents that the run does not have", "run workbench sweep again")
    ranking = pd.DataFrame(
        {"query": queries.astype("int64"), "rank": rows["rank"], "doc": documents.astype("int64"), "score": rows["score"]}
    )
    return ranking.sort_values(["query", "rank"], kind="stable", ignore_index=True)


@dataclass(frozen=True, eq=False)
class RunDataset:
    """The dataset of a run: the one that is `given`, else the one that its experiment names.

    Its documents are used only if they are those of the run. `fault` says why they are not.
    """

    run: RunTables
    given: Dataset | None = None

    @cached_property
    def documents(self) -> Sequence[Document] | None:
        """The documents, or None if there is a `fault`."""
        return self._found[0]

    @property
    def fault(self) -> str:
        """Reason why the documents are not known, or an empty text."""
        return self._found[1]

    def chunks(self, configuration: str) -> pd.DataFrame | None:
        """Return doc, delivered_start, delivered_end of all chunks of a configuration, or None if they are not known.

        Nothing is embedded, so those of a splitter that compares texts are not known, nor those of code that an experiment names.
        """
        chosen = self._configurations.get(configuration)
        if self.documents is None or chosen is None or chosen.chunking.compared_by or chosen.chunking.named_code:
            return None
        documents = Dataset("", tuple(self.documents), (), ()).searched
        table = pd.concat(chunk_tables(documents, chosen.chunking), ignore_index=True)
        # Another version of a splitter can give other chunks.
        known = len(table) == self.run.facts[configuration]["chunks"]
        return table[["doc", "delivered_start", "delivered_end"]] if known else None

    @cached_property
    def _experiment(self) -> ExperimentSpec | None:
        try:
            return experiment_of_run(self.run)
        except WorkbenchError:
            return None

    @cached_property
    def _configurations(self) -> dict[str, PipelineConfiguration]:
        own = self._experiment.configurations if self._experiment else ()
        return {each.name: each.pipeline for each in own if not each.targets}

    @cached_property
    def _found(self) -> tuple[Sequence[Document] | None, str]:
        try:
            dataset = self.given or self._load()
        except WorkbenchError as error:
            return None, f"the dataset of the run cannot be read here ({error.lines[0]})"
        if corpus_fingerprint(dataset.documents) != self.run.manifest["fingerprints"]["corpus"]:
            return None, "the documents are not those of the run"
        return dataset.documents, ""

    def _load(self) -> Dataset:
        if self._experiment is None:
            raise InputError("its experiment cannot be read here", "pass dataset=")
        return source_beside(self._experiment.dataset, self.run.folder.resolve().parent).load()


def source_beside(source: Source, outputs: Path) -> Source:
    """Find a relative path of a dataset above the working directory, else above the outputs."""
    path = getattr(source, "path", None)
    if not path or Path(path).is_absolute():
        return source
    beside = (folder / path for folder in outputs.parents if (folder / path).exists())
    place = find_upwards(path) or next(beside, None)
    return source.model_copy(update={"path": str(place)}) if place else source


# The documents that these retrievers list for every question, if they find as many (`pipeline.stages.hits`).
_LISTED, _LIST_ALL = 100, ("dense", "bm25")
# A fused ranking ends with the pools that were fused, whichever metrics are computed.
_FUSED = ("hybrid",)


@dataclass(frozen=True)
class StoredDepth:
    """The depth that the run searched to: distinct `slices`, `tokens` and `documents` for every question. A shorter ranking is a whole one.

    `fused` rankings are always whole. `corpus` is the number of documents that could be found.
    """

    slices: int
    tokens: int
    documents: int
    corpus: int
    fused: bool = False

    @classmethod
    def of(cls, run: RunTables, configuration: str) -> "StoredDepth":
        """Read the depth of a configuration's rankings from its settings and the metrics of the run."""
        facts, read = run.facts[configuration], metric_depth(list(run.measures.values()))
        lists_all = facts["search"] == "exact" and facts["retrieval"] in _LIST_ALL
        return cls(
            slices=max(int(facts["k"]), int(facts["pool"] or 0), read.slices),
            tokens=max(int(facts["token_budget"] or 0), read.tokens),
            documents=max(_LISTED if lists_all else 1, read.documents),
            corpus=int(run.dataset["documents"]),
            fused=facts["retrieval"] in _FUSED,
        )

    def shortfall(self, case: Case, metric: Metric) -> str:
        """Return why the stored rankings are too short for a metric, or an empty text."""
        if self.fused or metric.definition.cut == "none":
            return ""
        k = metric.k or 0
        if metric.family == "documents":
            ranked = np.bincount(case.retrieved.ranking["query"].to_numpy(np.int64), minlength=case.labels.queries)
            return _shortfall(ranked, k, (ranked < self.documents) | (ranked >= self.corpus), "document") if k > self.documents else ""
        if metric.tokens is not None:
            return self._few_tokens(case, metric.tokens)
        slices_of = _distinct(case)
        return _shortfall(slices_of, k, slices_of < self.slices, "chunk") if k > self.slices else ""

    def _few_tokens(self, case: Case, budget: int) -> str:
        if budget <= self.tokens:
            return ""
        hits, table = case.shared(ordered), case.shared(slices)
        cost = case.labels.tokens_in(table.starts, table.ends)[hits.piece]
        found = np.bincount(hits.query, cost, case.labels.queries).astype(np.int64)
        return _shortfall(found, budget, (_distinct(case) < self.slices) | (found < self.tokens), "token")


def _distinct(case: Case) -> Ints:
    return np.bincount(case.shared(ordered).query, minlength=case.labels.queries).astype(np.int64)


def _shortfall(found: Ints, wanted: int, whole: Bools, unit: str) -> str:
    """Return how many questions have fewer stored items than a metric reads, and the fewest of these."""
    short = found[(found < wanted) & ~whole]
    if not len(short):
        return ""
    questions = plural(len(short), "question")
    return f"the stored rankings of {questions} end before {plural(wanted, unit)} (the shortest has {count(int(short.min()))})"


# Metrics whose values a run stores.
_STORED = {definition.name for definition in MARGIN_METRICS}
NO_MARGIN = "the question has no margin in the run"
NO_INTERVAL = "no interval: it needs all chunks of the configuration"


@dataclass(frozen=True, eq=False)
class Rescored:
    """The rows of `metrics.evaluate` of one configuration and metric, or the reason why they are missing.

    `remark` says what the rows lack.
    """

    rows: pd.DataFrame | None
    reason: str = ""
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Rescorer:
    """The stored rankings of a run in a folder, each read on first use and kept."""

    run: RunTables
    folder: Path
    dataset: RunDataset
    _cases: dict[tuple[str, bool, bool], Case | None] = field(default_factory=dict, init=False, repr=False)

    def score(self, configuration: str, metric: Metric) -> Rescored:
        """Score a configuration. Values equal those of a sweep, or there is a reason why they would not."""
        if reason := self._unsupported(configuration, metric):
            return Rescored(None, reason)
        case = self._case(configuration, texts=metric.tokens is not None)
        if case is None:
            return Rescored(None, "its stored hits cannot be read")
        if reason := self._depths[configuration].shortfall(case, metric):
            return Rescored(None, reason)
        definition = metric.definition
        if metric.name in _STORED:
            return Rescored(values_of(case, self._stored_details(configuration, definition), metric.cut))
        if not definition.reads_index:
            return Rescored(values_of(case, definition, metric.cut))
        if (whole := self._case(configuration, texts=True, whole=True)) is not None:
            return Rescored(values_of(whole, definition, metric.cut))
        if definition.reads_index == "attainable":
            return Rescored(values_of(case, definition, metric.cut), remark=f"{NO_INTERVAL}, and {self._no_chunks}")
        return Rescored(None, f"{metric} needs all chunks of the configuration, and {self._no_chunks}")

    @cached_property
    def stored(self) -> StoredLabels:
        """The labels, with the texts that the tables contain."""
        return StoredLabels(self.run)

    @cached_property
    def _with_texts(self) -> StoredLabels:
        return StoredLabels(self.run, self.dataset.documents)

    @cached_property
    def _depths(self) -> Mapping[str, StoredDepth]:
        return {name: StoredDepth.of(self.run, name) for name in self.run.names}

    @property
    def _no_chunks(self) -> str:
        return self.dataset.fault or "these cannot be cut again without embedding"

    def _unsupported(self, configuration: str, metric: Metric) -> str:
        """Return why the metric cannot be computed from what a run stores, or an empty text."""
        if metric.of_answers or metric.name not in METRICS.builtin:
            what = "reads answers" if metric.of_answers else "is of another package, or a function"
            return f"{metric} {what}: only a sweep computes it"
        if self.run.facts[configuration]["retrieval"] == "target":
            return "what a target returned is scored by a sweep only"
        if metric.tokens is not None and self.dataset.documents is None:
            return f"a budget in tokens needs the documents, and {self.dataset.fault}"
        return ""

    def _case(self, configuration: str, texts: bool, whole: bool = False) -> Case | None:
        """Return a configuration's results: with documents if `texts`, and with all of its chunks if `whole`."""
        key = configuration, texts, whole
        if key not in self._cases:
            self._cases[key] = self._made_case(*key)
        return self._cases[key]

    def _made_case(self, configuration: str, texts: bool, whole: bool) -> Case | None:
        stored, chunks = self._with_texts if texts else self.stored, None
        if whole and (chunks := self.dataset.chunks(configuration)) is None:
            return None
        rankings = stored_rankings(stored, self.folder, configuration, chunks)
        spans: Literal["exact", "chroma"] = self.run.manifest["experiment"].get("spans", "exact")
        return None if rankings is None else Case(stored.labels, rankings, spans)

    def _stored_details(self, configuration: str, definition: MetricDefinition) -> MetricDefinition:
        """Return the definition of a metric whose values are those of `query_details`."""
        details = self.run.of("query_details", configuration).set_index("query_id")[definition.name]
        values = details.reindex(list(self.stored.queries)).to_numpy(np.float64)

        def read(_: Case, __: Cut) -> MetricValues:
            return MetricValues(values, unscored=((NO_MARGIN, np.isnan(values)),))

        return replace(definition, compute=read)
