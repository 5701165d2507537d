"""The columns and types of every table that a sweep leaves, once: tables are written by these schemas and checked by them when read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Type = Literal["text", "integer", "number", "flag", "integer or none", "flag or none"]
_DTYPES: dict[Type, str] = {
    "text": "str",
    "integer": "int64",
    "number": "float64",
    "flag": "bool",
    "integer or none": "Int64",
    "flag or none": "boolean",
}


@dataclass(frozen=True)
class TableSchema:
    """A table's columns in their order; `required` says whether every run has it."""

    name: str
    columns: tuple[tuple[str, Type], ...]
    required: bool = True

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [name for name, _ in self.columns]

    @property
    def dtypes(self) -> dict[str, str]:
        """The columns' pandas types; text and numbers hold missing values as NaN."""
        return {name: _DTYPES[kind] for name, kind in self.columns}


def _columns(kind: Type) -> "Callable[..., list[tuple[str, Type]]]":
    return lambda *names: [(name, kind) for name in names]


_text, _integers, _numbers, _flags = _columns("text"), _columns("integer"), _columns("number"), _columns("flag")
_integers_or_none, _flags_or_none = _columns("integer or none"), _columns("flag or none")


def _schema(table: str, *groups: list[tuple[str, Type]], required: bool = True) -> TableSchema:
    return TableSchema(table, tuple(column for group in groups for column in group), required)


SCHEMAS: dict[str, TableSchema] = {
    schema.name: schema
    for schema in (
        _schema(
            "metrics",
            _text("configuration", "condition", "metric", "slice"),
            _numbers("value", "low", "high"),
            _integers("n"),
            _integers_or_none("clusters"),
            _integers("unscored"),
            _numbers("attainable"),
        ),
        _schema(
            "queries",
            _text("configuration", "condition", "variant"),
            _integers("repeat"),
            _text("query_id", "metric"),
            _numbers("value"),
            _text("state", "reason"),
        ),
        _schema(
            "hits",
            _text("configuration", "query_id"),
            _integers("rank"),
            _text("chunk_id", "doc_id"),
            _integers("start", "end"),
            _numbers("score"),
            _flags("delivered"),
            _text("cut_reason"),
        ),
        _schema(
            "configurations",
            _text("configuration", "chunking"),
            _integers_or_none("size", "overlap"),
            _text("tokens_counted"),
            _flags_or_none("enrich"),
            _text("embedding", "pooling"),
            _integers_or_none("window"),
            _text("retrieval", "search"),
            _integers_or_none("k", "chunks", "tokens", "truncated_tokens", "truncated_chunks"),
            _numbers("delivered_tokens", "context_tokens", "tied_queries"),
            _text("error"),
        ),
        _schema(
            "comparisons", _text("metric", "a", "b"), _numbers("difference", "low", "high", "p", "p_adjusted"), _integers("n", "clusters")
        ),
        _schema("timings", _text("configuration", "name"), _numbers("value")),
        _schema("questions", _text("query_id", "text"), _flags("answerable"), _text("answer", "metadata"), _integers("cluster")),
        _schema("judgements", _text("query_id", "doc_id"), _integers("relevance")),
        _schema("evidence", _text("query_id"), _integers("need", "alternative"), _text("doc_id"), _integers("start", "end")),
        _schema("passages", _text("doc_id"), _integers("start", "end"), _text("text")),
        _schema(
            "context",
            _text("configuration", "query_id"),
            _integers("rank"),
            _text("doc_id"),
            _integers("start", "end", "kept"),
            _numbers("score"),
        ),
        _schema(
            "causes",
            _text("configuration", "condition", "query_id", "cause", "evidence"),
            _integers("need"),
            _text("doc_id"),
            _integers("rank"),
        ),
        _schema(
            "query_details",
            _text("configuration", "query_id"),
            _numbers("attainable", "judged", "unjudged_low", "unjudged_high", "margin", "margin_spread", "top_score"),
            _flags("tied"),
        ),
        _schema("chunk_faults", _text("configuration", "fault"), _integers("found", "of"), _text("unit", "definition", "examples")),
        _schema("chunk_lengths", _text("configuration"), _integers("tokens", "chunks")),
        _schema(
            "screening",
            _text("configuration", "proxy"),
            _integers("queries"),
            _text("metric"),
            _numbers("value"),
            _text("first"),
            _numbers("difference", "low", "high"),
            _flags("kept"),
            required=False,
        ),
    )
}
