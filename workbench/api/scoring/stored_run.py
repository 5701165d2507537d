"""The labels and rankings of a finished run, read from its tables."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.records import Document
from workbench.data.formats.trec import escaped
from workbench.measures.metrics.coverage import Bools, Ints
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.statistics.clusters import Clusters, query_slices, weighted
from workbench.report.results.run_tables import RunTables

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
