"""The columns and types of every table that a sweep leaves, once: tables are written by these schemas and checked by them when read."""

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


def _schema(table: str, required: bool = True, /, **columns: Type) -> TableSchema:
    return TableSchema(table, tuple(columns.items()), required)


SCHEMAS: dict[str, TableSchema] = {
    schema.name: schema
    for schema in (
        _schema(
            "metrics",
            configuration="text",
            condition="text",
            metric="text",
            slice="text",
            value="number",
            low="number",
            high="number",
            n="integer",
            clusters="integer or none",
            unscored="integer",
            attainable="number",
        ),
        _schema(
            "queries",
            configuration="text",
            condition="text",
            variant="text",
            repeat="integer",
            query_id="text",
            metric="text",
            value="number",
            state="text",
            reason="text",
        ),
        _schema(
            "hits",
            configuration="text",
            query_id="text",
            rank="integer",
            chunk_id="text",
            doc_id="text",
            start="integer",
            end="integer",
            score="number",
            delivered="flag",
            cut_reason="text",
        ),
        _schema(
            "configurations",
            configuration="text",
            chunking="text",
            size="integer or none",
            overlap="integer or none",
            tokens_counted="text",
            enrich="flag or none",
            embedding="text",
            pooling="text",
            window="integer or none",
            retrieval="text",
            search="text",
            k="integer or none",
            chunks="integer or none",
            tokens="integer or none",
            truncated_tokens="integer or none",
            truncated_chunks="integer or none",
            delivered_tokens="number",
            context_tokens="number",
            tied_queries="number",
            error="text",
        ),
        _schema(
            "comparisons",
            metric="text",
            a="text",
            b="text",
            difference="number",
            low="number",
            high="number",
            p="number",
            p_adjusted="number",
            n="integer",
            clusters="integer",
        ),
        _schema("timings", configuration="text", name="text", value="number"),
        # A query's metadata is a JSON object; queries of one cluster share a source document.
        _schema("questions", query_id="text", text="text", answerable="flag", answer="text", metadata="text", cluster="integer"),
        _schema("judgements", query_id="text", doc_id="text", relevance="integer"),
        # `need` numbers the pieces of evidence of the whole dataset from 0; any alternative of a need will do.
        _schema("evidence", query_id="text", need="integer", alternative="integer", doc_id="text", start="integer", end="integer"),
        # The stretches of documents that hold every slice of `context`, and all evidence with its surroundings.
        _schema("passages", doc_id="text", start="integer", end="integer", text="text"),
        # Distinct slices by rank; `kept` is the end of the delivered text, `start` where none of the slice was delivered.
        _schema(
            "context",
            configuration="text",
            query_id="text",
            rank="integer",
            doc_id="text",
            start="integer",
            end="integer",
            kept="integer",
            score="number",
        ),
        # `evidence` is `doc_id:start-end` of the missed need's first place, or the missed document; `need` is -1 for a document.
        # `rank` is 0 where nothing of it is listed.
        _schema(
            "causes",
            configuration="text",
            condition="text",
            query_id="text",
            cause="text",
            evidence="text",
            need="integer",
            doc_id="text",
            rank="integer",
        ),
        # `attainable`, `judged` and `unjudged_*` are of the primary metric; the last three are NaN unless it is over documents.
        _schema(
            "query_details",
            configuration="text",
            query_id="text",
            attainable="number",
            judged="number",
            unjudged_low="number",
            unjudged_high="number",
            margin="number",
            margin_spread="number",
            top_score="number",
            tied="flag",
        ),
        # `examples` is a JSON list of chunk, document or query ids.
        _schema(
            "chunk_faults",
            configuration="text",
            fault="text",
            found="integer",
            of="integer",
            unit="text",
            definition="text",
            examples="text",
        ),
        # How many chunks have how many tokens: of the embedder's input or, where nothing is embedded, of the delivered text.
        _schema("chunk_lengths", configuration="text", tokens="integer", chunks="integer"),
        _schema(
            "screening",
            False,
            configuration="text",
            proxy="text",
            queries="integer",
            metric="text",
            value="number",
            first="text",
            difference="number",
            low="number",
            high="number",
            kept="flag",
        ),
    )
}
