"""The rankings of one configuration of a finished run, read from `hits.parquet` and its run file."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.datasets.formats.trec import escaped
from workbench.errors import InputError
from workbench.metrics.inputs import Retrieved
from workbench.scoring.rescoring.stored_labels import StoredLabels

_SLICE = ["doc", "start", "end"]


def stored_rankings(stored: StoredLabels, folder: Path, configuration: str, chunks: pd.DataFrame | None = None) -> Retrieved | None:
    """Return a configuration's results as metrics read them, without the spread of scores.

    `chunks` (doc, delivered_start, delivered_end) are all chunks of the configuration, None if only the retrieved ones are known. Returns
    None if a hit is none of these chunks.
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
