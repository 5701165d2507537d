"""The columns and types of every table of a run. Tables are written with these schemas and checked against them on reading."""

from collections.abc import Mapping
from dataclasses import dataclass

# The pandas types of the columns. Text and numbers represent missing values as NaN.
_COLUMNS = {
    "str": "a answer b cause chunk_id chunking condition configuration cut_reason definition doc_id embedding error evidence examples fault "
    "first metadata metric name pooling proxy query_id reason retrieval search slice state text tokens_counted unit variant",
    "int64": "alternative chunks cluster clusters end found kept n need of queries rank relevance repeat start tokens unscored",
    "float64": "attainable context_tokens delivered_tokens difference high judged low margin margin_spread p p_adjusted score tied_queries "
    "top_score unjudged_high unjudged_low value",
    "bool": "answerable delivered tied",
    "Int64": "k overlap size truncated_chunks truncated_tokens window",
    "boolean": "enrich",
}
_DTYPES = {column: dtype for dtype, columns in _COLUMNS.items() for column in columns.split()}


@dataclass(frozen=True)
class TableSchema:
    """The ordered columns of a table with their pandas types. `required` says whether every run has the table."""

    name: str
    dtypes: Mapping[str, str]
    required: bool = True

    @property
    def names(self) -> list[str]:
        """Return the columns' names."""
        return list(self.dtypes)


def _schema(table: str, columns: str, required: bool = True, **dtypes: str) -> TableSchema:
    """Make a schema from its columns. `dtypes` sets the types of columns that differ in this table."""
    return TableSchema(table, {column: dtypes.get(column, _DTYPES[column]) for column in columns.split()}, required)


SCHEMAS: dict[str, TableSchema] = {
    schema.name: schema
    for schema in (
        _schema("metrics", "configuration condition metric slice value low high n clusters unscored attainable", clusters="Int64"),
        _schema("queries", "configuration condition variant repeat query_id metric value state reason"),
        _schema("hits", "configuration query_id rank chunk_id doc_id start end score delivered cut_reason"),
        _schema(
            "configurations",
            "configuration chunking size overlap tokens_counted enrich embedding pooling window retrieval search k chunks tokens "
            "truncated_tokens truncated_chunks delivered_tokens context_tokens tied_queries error",
            chunks="Int64",
            tokens="Int64",
        ),
        _schema("comparisons", "metric a b difference low high p p_adjusted n clusters"),
        _schema("timings", "configuration name value"),
        _schema("questions", "query_id text answerable answer metadata cluster"),
        _schema("judgements", "query_id doc_id relevance"),
        _schema("evidence", "query_id need alternative doc_id start end"),
        _schema("passages", "doc_id start end text"),
        _schema("context", "configuration query_id rank doc_id start end kept score"),
        _schema("causes", "configuration condition query_id cause evidence need doc_id rank"),
        _schema("query_details", "configuration query_id attainable judged unjudged_low unjudged_high margin margin_spread top_score tied"),
        _schema("chunk_faults", "configuration fault found of unit definition examples"),
        _schema("chunk_lengths", "configuration tokens chunks"),
        _schema("screening", "configuration proxy queries metric value first difference low high kept", required=False, kept="bool"),
    )
}
