"""The columns and types of every table of a run. Tables are written by these schemas, and checked against them when they are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TableSchema:
    """A table's pandas types by column, in their order; text and numbers hold missing values as NaN. `required` says whether every run has it."""

    name: str
    dtypes: Mapping[str, str]
    required: bool = True

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return list(self.dtypes)


def _columns(dtype: str) -> Callable[..., dict[str, str]]:
    return lambda *names: dict.fromkeys(names, dtype)


_text, _integers, _numbers, _flags = _columns("str"), _columns("int64"), _columns("float64"), _columns("bool")
_integers_or_none, _flags_or_none = _columns("Int64"), _columns("boolean")

SCHEMAS: dict[str, TableSchema] = {
    schema.name: schema
    for schema in (
        TableSchema(
            "metrics",
            _text("configuration", "condition", "metric", "slice")
            | _numbers("value", "low", "high")
            | _integers("n")
            | _integers_or_none("clusters")
            | _integers("unscored")
            | _numbers("attainable"),
        ),
        TableSchema(
            "queries",
            _text("configuration", "condition", "variant")
            | _integers("repeat")
            | _text("query_id", "metric")
            | _numbers("value")
            | _text("state", "reason"),
        ),
        TableSchema(
            "hits",
            _text("configuration", "query_id")
            | _integers("rank")
            | _text("chunk_id", "doc_id")
            | _integers("start", "end")
            | _numbers("score")
            | _flags("delivered")
            | _text("cut_reason"),
        ),
        TableSchema(
            "configurations",
            _text("configuration", "chunking")
            | _integers_or_none("size", "overlap")
            | _text("tokens_counted")
            | _flags_or_none("enrich")
            | _text("embedding", "pooling")
            | _integers_or_none("window")
            | _text("retrieval", "search")
            | _integers_or_none("k", "chunks", "tokens", "truncated_tokens", "truncated_chunks")
            | _numbers("delivered_tokens", "context_tokens", "tied_queries")
            | _text("error"),
        ),
        TableSchema(
            "comparisons", _text("metric", "a", "b") | _numbers("difference", "low", "high", "p", "p_adjusted") | _integers("n", "clusters")
        ),
        TableSchema("timings", _text("configuration", "name") | _numbers("value")),
        TableSchema("questions", _text("query_id", "text") | _flags("answerable") | _text("answer", "metadata") | _integers("cluster")),
        TableSchema("judgements", _text("query_id", "doc_id") | _integers("relevance")),
        TableSchema("evidence", _text("query_id") | _integers("need", "alternative") | _text("doc_id") | _integers("start", "end")),
        TableSchema("passages", _text("doc_id") | _integers("start", "end") | _text("text")),
        TableSchema(
            "context",
            _text("configuration", "query_id")
            | _integers("rank")
            | _text("doc_id")
            | _integers("start", "end", "kept")
            | _numbers("score"),
        ),
        TableSchema(
            "causes",
            _text("configuration", "condition", "query_id", "cause", "evidence") | _integers("need") | _text("doc_id") | _integers("rank"),
        ),
        TableSchema(
            "query_details",
            _text("configuration", "query_id")
            | _numbers("attainable", "judged", "unjudged_low", "unjudged_high", "margin", "margin_spread", "top_score")
            | _flags("tied"),
        ),
        TableSchema("chunk_faults", _text("configuration", "fault") | _integers("found", "of") | _text("unit", "definition", "examples")),
        TableSchema("chunk_lengths", _text("configuration") | _integers("tokens", "chunks")),
        TableSchema(
            "screening",
            _text("configuration", "proxy")
            | _integers("queries")
            | _text("metric")
            | _numbers("value")
            | _text("first")
            | _numbers("difference", "low", "high")
            | _flags("kept"),
            required=False,
        ),
    )
}
