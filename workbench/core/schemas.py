"""The columns and types of every table of a run. Tables are written with these schemas and checked against them on reading.

`pandas_frame` reads the tables of other libraries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

# The pandas types of the columns, with a phrase for each column. Text and numbers represent missing values as NaN.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "str": {
        "annotator": "the person who labelled it",
        "item_id": "the item, as in the file of labels",
        "label": "the label: `supported`, `contradicted` or `absent` for claims, `yes` or `no` for answers",
        "measure": "the name of the measure",
        "method": "`post-stratified`, `pairwise rectified`, or `labels alone` where the judge would widen the interval",
        "other": "the configuration that is subtracted; empty for a mean",
        "scope": "`mean` or `difference`",
        "source": "`run` if items of this run were labelled, `elsewhere` if others",
        "target": "what the interval covers: `items`, those that were judged, or `population`, other questions and documents like these",
        "a": "the first configuration",
        "answer": "the expected answer",
        "answering": "the kind of generator; missing if nothing is answered",
        "citations": "the numbers of the cited passages, from 0, a JSON list",
        "model": "the model that answered, as its server names it",
        "outcome": "`kept`, `conflict` or `adopted` under counterfactual, `complied` or `resisted` under injection, else empty",
        "passages": "the context, a JSON list of `doc_id`, `start`, `end`, and with `planted` the `text` as the generator read it",
        "prompt": "the prompt of a target",
        "reply": "the reply of the configured model",
        "planted": "what was planted in the context, a JSON object, else empty",
        "b": "the second configuration",
        "cause": "the cause of the miss",
        "chunk_id": "the chunk that was searched, `doc_id:start-end`",
        "chunking": "the kind of chunker",
        "claim": "the claim",
        "condition": "the context's condition: `retrieved`, or another that the experiment has",
        "conditional": "`this corpus, other questions` if so many documents are shared that the interval does not cover other documents; else empty",
        "configuration": "the configuration's name",
        "cut_reason": "why a hit was not delivered: `beyond k`, `beyond the token budget` or `same slice delivered`; empty if it was",
        "definition": "what counts as this fault",
        "doc_id": "the document",
        "documents": "the numbers of the question's documents, a JSON list; empty if no question has several",
        "embedding": "the embedder's model; missing if nothing is embedded",
        "error": "why a failed configuration failed",
        "evidence": "the missed evidence as `doc_id:start-end`, or the missed document",
        "examples": "the first affected places, a JSON list",
        "fault": "the kind of fault",
        "fingerprint": "the fingerprint of its title and text",
        "flags": "differences between claim and passage, a JSON list of `number`, `negation` and others; they explain and are no part of the score",
        "first": "the configuration with the best proxy score, which the others are compared with",
        "judge": "the judge, with its model if it has one",
        "metadata": "the question's other fields, a JSON object; `where` is its filter on documents",
        "metric": "the metric with its cut-off",
        "name": "what was measured",
        "pooling": "`standard` or `late`",
        "proxy": "the embedder that replaced the configuration's own",
        "query_id": "the question",
        "quote": "the evidence in the words of the passage; empty if none decides",
        "reason": "why a value is missing",
        "retrieval": "the kind of retriever",
        "retriever": "the name of one of the fused retrievers",
        "rerank": "the kind of reranker",
        "rewrite": "the kind of rewriter",
        "rule": "the rule as it is written",
        "role": "what the text is: `query` or `document`, a text embedded in this role; `words` or `vector`, a description of an expanded query",
        "search": "the search that was evaluated: `exact` or `ann`",
        "slice": "`all`, or the questions with `field=value`, several joined by `&`",
        "subject": "`evidence` for a piece that was missed in retrieval, `answer` for the one cause of a failed answer",
        "state": "`scored`, `unscored` or `not_applicable`",
        "task": "what is judged: `support` of claims, `context_relevance`, `answer_relevance`, `correctness` or `rubric`",
        "text": "the text",
        "tokens_counted": "the unit of sizes: `model`, `cl100k` or `characters`",
        "unit": "what `found` and `of` count",
        "verdict": "`supported`, `contradicted` or `absent`; empty if the judge only scores, or failed",
        "variant": "the perturbation: `before` or `after` under counterfactual, the family of the attack under injection, else empty",
    },
    "int64": {
        "labels": "the number of labels",
        "asked": "the number of questions that a target was asked",
        "hits": "the number of hits that a target returned",
        "sourced": "the number of answers for which a target names its sources",
        "unmatched": "the number of hits whose document is not known",
        "without_text": "the number of hits that are only an id",
        "alternative": "the alternative's number within its piece of evidence, from 0",
        "characters": "the number of characters of its text",
        "chunks": "the number of chunks",
        "cluster": "the number of the question's cluster, the questions about one document",
        "clusters": "the number of clusters, each the questions about one document",
        "end": "the end of the slice, in code points",
        "evidence_end": "the end of the deciding words in the passage; -1 if nothing decides",
        "evidence_start": "the start of the deciding words in the passage; -1 if nothing decides",
        "failed": "the number of known answers that were scored beyond their bound",
        "found": "the number that has the fault",
        "kept": "the end of the part that was delivered; `start` if none was",
        "n": "the number of scored questions",
        "number": "the number of the text among those of the question, from 0",
        "need": "the piece of evidence, numbered from 0; -1 for a missed document",
        "of": "the number that was examined",
        "passage": "the number of the passage in the context, from 0; -1 if none",
        "passed": "the number of known answers that were scored within their bound",
        "queries": "the number of questions that the proxy answered",
        "rank": "the rank, from 1",
        "relevance": "the grade: from 1 relevant, 0 not relevant, -1 hard negative",
        "repeat": "the number of the repeat, from 0",
        "retriever_rank": "the chunk's rank in that retriever's ranking, from 1",
        "start": "the start of the slice, in code points",
        "tokens": "the number of tokens",
        "unscored": "the number of questions without a value",
    },
    "float64": {
        "at": "the mean score of a bin of the calibration curve, or the number of a passage; missing for other measures",
        "always_yes": "the share of the more frequent of yes and no among its judgements of known answers; missing without a test",
        "auroc": "the probability that a known good answer scores higher than a known bad one; missing without a test",
        "attainable": "the best possible value",
        "confidence": "the generator's confidence, between 0 and 1; missing if it reports none",
        "cost": "the cost of the call in the currency of the prices; missing without prices",
        "context_tokens": "mean tokens of a question's context up to the cut-off of the primary metric",
        "delivered_chunks": "mean number of chunks of which all or a part is delivered for a question",
        "delivered_tokens": "mean tokens delivered for a question",
        "difference": "the mean difference a - b",
        "high": "upper bound of the 95 % interval; missing with fewer than 5 documents",
        "high_adjusted": "upper bound of the interval that holds for all comparisons at once; missing if the pair was not tested",
        "limit": "the limit of the mean, minus the margin of a comparison, or the k of a retrieval test",
        "reference": "the baseline's mean",
        "judged": "the share of the first k documents with a judgement",
        "k_tokens": "mean tokens of the first k chunks of a question",
        "low": "lower bound of the 95 % interval; missing with fewer than 5 documents",
        "low_adjusted": "lower bound of the interval that holds for all comparisons at once; missing if the pair was not tested",
        "margin": "score of the best relevant document minus that of the best other one",
        "margin_spread": "the margin in standard deviations of the question's scores",
        "p": "p of the clustered paired t test; missing if the pair was not tested",
        "p_adjusted": "p corrected for all comparisons (max-T), for skew and for unseen losses",
        "score": "the retriever's score",
        "repeatability": "the share of known answers that are judged equally when repeated; missing without a test",
        "retriever_score": "that retriever's score",
        "tied_queries": "the share of questions with tied scores among the first k chunks",
        "top_score": "the score of the first hit",
        "unfilled_queries": "the share of questions for which fewer tokens than `token_budget` are delivered",
        "unjudged_high": "the value if all unjudged documents were relevant",
        "unjudged_low": "the value if no unjudged document were relevant",
        "value": "the value",
    },
    "bool": {
        "answers": "whether a target answers",
        "searches": "whether a target searches",
        "takes_context": "whether a target can be given a context",
        "answerable": "whether a document answers the question",
        "gold": "whether the context contains every piece of evidence",
        "refused": "whether the answer is a refusal",
        "delivered": "whether all or a part of the hit's slice is delivered",
        "tied": "whether two of the first k chunks have the same score",
    },
    "Int64": {
        "budget": "the tokens of a prompt with its passages; missing if nothing is answered",
        "input_tokens": "the tokens of the prompt that the server counted; missing if it did not",
        "output_tokens": "the tokens of the answer that the server counted; missing if it did not",
        "k": "the setting `k`: the number of chunks delivered, unless `token_budget` is set",
        "pool": "the number of chunks that the reranker orders again",
        "neighbours": "the number of chunks before and after each hit that are delivered with it",
        "overlap": "the overlap of neighbouring chunks",
        "size": "the largest size of a chunk",
        "token_budget": "the number of tokens to deliver; missing if k chunks are delivered",
        "truncated_chunks": "the number of chunks beyond the window",
        "truncated_tokens": "the number of tokens beyond the window, which are never embedded",
        "window": "the number of tokens of an input that the embedder reads",
    },
    "boolean": {
        "correct": "the label of a recorded answer; missing without one",
        "truncated": "whether the answer was cut off at the token limit; missing if the generator or target does not report it",
        "reasoned": "whether the model reasoned before the answer, which is no part of it",
        "enrich": "whether title and headings were embedded with every chunk",
        "equivalent": "whether the difference is shown to be smaller than `smallest_difference` in either direction; missing if the pair was not tested",
    },
}

_DTYPES = {column: dtype for dtype, columns in COLUMNS.items() for column in columns}
_PHRASES = {column: phrase for columns in COLUMNS.values() for column, phrase in columns.items()}


@dataclass(frozen=True, eq=False)
class TableSchema:
    """The ordered columns of a table with their pandas types.

    `rows` says what a row is, `phrases` what each column holds, and `required` whether every run has the table. Runs of earlier versions can
    be without the columns `added`, whose values are then missing. `about` describes the table where `wb.Results` has it.
    """

    name: str
    rows: str
    dtypes: Mapping[str, str]
    phrases: Mapping[str, str]
    required: bool = True
    added: tuple[str, ...] = ()
    about: str = ""

    @property
    def names(self) -> list[str]:
        """Return the columns' names."""
        return list(self.dtypes)

    @classmethod
    def of(cls, name: str, rows: str, columns: Mapping[str, Sequence[str]]) -> Self:
        """Return the schema of a table that not every run has, from the type and the phrase of each column."""
        dtypes, phrases = ({column: both[part] for column, both in columns.items()} for part in (0, 1))
        return cls(name, rows, dtypes, phrases, required=False)

    def as_json(self) -> dict[str, Any]:
        """Return the arguments of `of`, as a manifest records them."""
        return {"rows": self.rows, "columns": {name: [dtype, self.phrases[name]] for name, dtype in self.dtypes.items()}}

    def conform(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Convert a table to the columns, their order and types. Raises KeyError if a column is missing."""
        return table[self.names].astype(dict(self.dtypes))

    def empty(self) -> "pd.DataFrame":
        """Return a table without rows."""
        import pandas as pd  # heavy, and the log of questions in a server's process reads tables of other libraries alone

        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in self.dtypes.items()})


def _schema(
    table: str,
    rows: str,
    columns: str,
    required: bool = True,
    added: tuple[str, ...] = (),
    about: str = "",
    **different: tuple[str, str],
) -> TableSchema:
    """Make a schema from its columns. `different` gives type and phrase of the columns that differ in this table."""
    usual = {column: different.get(column) or (_DTYPES[column], _PHRASES[column]) for column in columns.split()}
    dtypes, phrases = ({column: both[part] for column, both in usual.items()} for part in (0, 1))
    return TableSchema(table, rows, dtypes, phrases, required, added, about)


_FEW = "the number of clusters, each the questions about one document; missing for `answerable_auroc`"
SCHEMAS: dict[str, TableSchema] = {
    schema.name: schema
    for schema in (
        _schema(
            "metrics",
            "configuration, metric and slice of the questions",
            "configuration condition metric slice value low high n clusters unscored attainable conditional",
            about="The mean of every metric with its interval, over all questions and for each slice.",
            value=("float64", "the mean over the scored questions"),
            clusters=("Int64", _FEW),
        ),
        _schema(
            "queries",
            "configuration, metric and question",
            "configuration condition variant repeat query_id metric value state reason",
            about="The value of every metric for every question.",
            value=("float64", "the value; missing unless the state is `scored`"),
        ),
        _schema(
            "hits",
            "configuration and retrieved chunk",
            "configuration query_id rank chunk_id doc_id start end score delivered cut_reason kept",
            about="Every retrieved chunk by rank, and whether it was delivered.",
            start=("int64", "the start of the slice to deliver, which is the parent's if children are searched"),
        ),
        _schema(
            "hit_sources",
            "hit and fused retriever that found it",
            "configuration query_id rank chunk_id retriever retriever_rank retriever_score",
            required=False,
            rank=("int64", "the hit's rank in `hits`, after fusion and reranking"),
        ),
        _schema(
            "configurations",
            "configuration, failed ones last",
            "configuration chunking size overlap tokens_counted enrich embedding pooling window retrieval search k chunks tokens "
            "truncated_tokens truncated_chunks delivered_tokens context_tokens tied_queries error "
            "token_budget delivered_chunks unfilled_queries k_tokens rerank pool rewrite neighbours answering budget",
            about="The fields and sizes of every configuration, and the errors of failed ones.",
            chunks=("Int64", _PHRASES["chunks"]),
            tokens=("Int64", "the number of tokens of all chunks' inputs"),
        ),
        _schema(
            "comparisons",
            "metric and pair of configurations, on the questions for which both have a value",
            "metric a b difference low high p p_adjusted n clusters low_adjusted high_adjusted conditional equivalent",
            added=("equivalent",),
            about="The difference between every two configurations by every metric. Rows without `p_adjusted` are exploratory.",
            low=("float64", "lower bound of the 95 % interval of this comparison alone; missing with fewer than 5 documents"),
            high=("float64", "upper bound of the 95 % interval of this comparison alone; missing with fewer than 5 documents"),
        ),
        _schema(
            "timings",
            "configuration and measurement that varies from run to run",
            "configuration name value",
            about="Seconds by stage, latencies, and everything else that varies between runs.",
        ),
        _schema(
            "questions",
            "question",
            "query_id text answerable answer metadata cluster documents",
            about="The questions with their answers and metadata.",
            text=("str", "the question's text"),
        ),
        _schema("documents", "document", "doc_id fingerprint characters", required=False),
        _schema("judgements", "judgement of a document for a question", "query_id doc_id relevance"),
        _schema("evidence", "alternative of a piece of evidence", "query_id need alternative doc_id start end"),
        _schema("passages", "passage that `context` or `evidence` refers to", "doc_id start end text"),
        _schema(
            "context",
            "configuration and slice of a question's context, or slice that follows it",
            "configuration query_id rank doc_id start end kept score",
        ),
        _schema(
            "causes",
            "configuration and missed piece of evidence or document, or failed answer of a judged variant",
            "configuration condition query_id cause evidence need doc_id rank subject variant repeat",
            cause=("str", "the cause of the miss or failure"),
            evidence=(
                "str",
                "the missed evidence as `doc_id:start-end`, or the missed document; for an answer what shows the cause, or empty",
            ),
            need=("int64", "the piece of evidence, numbered from 0; -1 for a missed document and for an answer"),
            doc_id=("str", "the document; empty for an answer"),
            rank=("int64", "the best rank of a slice that holds it, or of the document; 0 if none is among the hits, and for an answer"),
        ),
        _schema(
            "query_details",
            "configuration and question, by the primary metric",
            "configuration query_id attainable judged unjudged_low unjudged_high margin margin_spread top_score tied",
        ),
        _schema("chunk_faults", "configuration and kind of fault", "configuration fault found of unit definition examples"),
        _schema(
            "chunk_lengths",
            "configuration and number of tokens",
            "configuration tokens chunks",
            chunks=("int64", "the number of chunks with this many tokens"),
        ),
        _schema(
            "rewrites",
            "configuration and text that is searched in place of a question, if any configuration rewrites questions",
            "configuration query_id number text role",
            required=False,
            text=("str", "the text, `word^weight …` of weighted words, or the chunks towards which a vector was moved"),
        ),
        _schema(
            "answers",
            "configuration, question, condition, variant and repeat, if the run has answers",
            "configuration condition variant repeat query_id answer refused citations confidence error reason correct outcome passages "
            "context_tokens gold planted input_tokens output_tokens cost model truncated reasoned",
            about="Every answer in every condition, with its context. Empty if the run answers no questions.",
            required=False,
            added=("truncated", "reasoned"),
            answer=("str", "the answer"),
            error=("str", "why a call gave no answer, else empty"),
            reason=("str", "why the question has no such context and is not asked, else empty"),
            context_tokens=("float64", "the tokens of the prompt with its passages, as `budget` counts them"),
        ),
        _schema(
            "targets",
            "target, if the run has any",
            "configuration target searches answers takes_context asked failed error empty hits unmatched examples unplaced unplaced_examples "
            "without_text sourced unread",
            about="What each target served, what failed, and what could not be matched with the documents. Empty without targets.",
            required=False,
            target=("str", "the kind of target"),
            failed=("int64", "the number of questions that it did not serve"),
            error=("str", "why it did not serve the first of these, else empty"),
            empty=("int64", "the number of questions for which it found nothing; those with an answer score 0"),
            examples=("str", "the first of different reasons why hits could not be matched, each with its question, a JSON list"),
            unplaced=("int64", "the number of hits whose document is known, but not their characters in it"),
            unplaced_examples=(
                "str",
                "the first of different reasons why the characters are not known, each with its question, a JSON list",
            ),
            unread=("str", "the parts of its answers that are no text and are not read, such as `2 × image`, else empty"),
        ),
        _schema(
            "samples",
            "text that a target asked its client for while it answered, if any target of the run answers",
            "configuration query_id number prompt reply",
            about="Every text that a target asked its client for, with the prompt and the reply. Empty without targets that answer.",
            required=False,
            number=("int64", "the number of the request among those of the question, from 0"),
        ),
        _schema(
            "claims",
            "claim of an answer, if the run has judges; an answer whose claims are missing has a row with an `error`",
            "configuration condition variant repeat query_id number claim start end verdict score confidence passage chunk_id evidence_start "
            "evidence_end quote flags judge error",
            about="Every claim of the judged answers, with its verdict and the passage that decides it. Empty without judges.",
            required=False,
            number=("int64", "the number of the claim in the answer, from 0; -1 if the answer could not be split"),
            start=("int64", "the start of the words of the answer that state it, in code points"),
            end=("int64", "the end of the words of the answer that state it"),
            score=("float64", "how well the passages support it, between 0 and 1; missing without a judgement"),
            confidence=("float64", "the judge's confidence, between 0 and 1; missing if it reports none"),
            chunk_id=("str", "the slice of the deciding passage, `doc_id:start-end`; empty if none decides"),
            error=("str", "why there is no judgement, else empty"),
        ),
        _schema(
            "answer_judgements",
            "judgement of an answer or of a passage of its context, if the run has judges",
            "configuration condition variant repeat query_id task passage score judge error",
            about="Every judgement of a passage or an answer. Empty without judges.",
            required=False,
            passage=("int64", "the number of the judged passage in the context, from 0; -1 if the answer is judged"),
            score=("float64", "the judgement, between 0 and 1; missing if the judge failed"),
            error=("str", "why there is no judgement, else empty"),
        ),
        _schema(
            "judges",
            "task of a judge of the run, with its test on known answers",
            "task judge role reason auroc always_yes repeatability passed failed unscored",
            about="The judges of the run by task, with their test on known answers. Empty without judges.",
            required=False,
            role=("str", "`judge` if the self-test was passed, else `score`, which has no metrics named faithfulness"),
            reason=("str", "why it is a score, else empty"),
            unscored=("int64", "the number of known answers without a score"),
        ),
        _schema(
            "labels",
            "item that a person labelled, written by `workbench judge calibrate`",
            "item_id task configuration condition query_id repeat number label annotator",
            required=False,
            number=("int64", "the number of the claim in the answer, from 0; -1 for an answer"),
        ),
        _schema(
            "calibration",
            "measure of a judge on labelled items, written by `workbench judge calibrate`",
            "task judge measure at value low high n labels source",
            required=False,
            value=("float64", "the measure"),
            low=("float64", "lower bound of the 95 % interval; missing if it is undefined, or with fewer than 5 documents"),
            high=("float64", "upper bound of the 95 % interval; missing if it is undefined, or with fewer than 5 documents"),
            n=("int64", "the number of labels that the measure uses"),
        ),
        _schema(
            "corrected",
            "mean of a configuration, or difference between two, corrected by labels; written by `workbench judge calibrate`",
            "scope metric configuration other value low high labels n target method",
            required=False,
            metric=("str", "what people labelled: `faithfulness`, `contradiction_rate`, `answer_correctness` or `answer_relevance`"),
            n=("int64", "the number of questions with judged items"),
        ),
        _schema(
            "gate",
            "rule of a gate, or a remark (without an outcome); written by `workbench gate`",
            "configuration rule kind metric slice condition outcome reason reference value difference low high limit p p_adjusted n clusters "
            "unscored query_id",
            required=False,
            kind=(
                "str",
                "`specification` or `inference` for a limit, `baseline`, `release`, `plain baseline`, `retrieval test`, or `note`",
            ),
            outcome=("str", "`pass`, `fail` or `undecided`; empty for a remark"),
            reason=("str", "the reason, or the remark"),
            value=("float64", "the mean of the configuration; of a retrieval test the rank, missing if the document is not among the hits"),
            difference=("float64", "the mean difference from the baseline; negative if the configuration is worse"),
            low=("float64", "lower bound: of the difference with one-sided 95 % confidence, or of the mean's 95 % interval"),
            high=("float64", "upper bound"),
            p=("float64", "one-sided p for a failure; missing for a rule that infers nothing"),
            p_adjusted=("float64", "p corrected for several rules (Holm)"),
            clusters=("int64", "the number of clusters, each the questions about one document"),
            unscored=("int64", "the number of questions without a value"),
            query_id=("str", "the question of a retrieval test, else empty"),
        ),
        _schema(
            "lost",
            "document, piece of evidence or answer of a question that was lost since a baseline, the worst first; written by `workbench gate`",
            "configuration query_id subject missing rank_before rank_after cause explanation displaced_by metric value_before value_after before "
            "after answer",
            about="What questions lost since the baseline of the last `workbench gate`, the worst first. Empty before one.",
            required=False,
            subject=("str", "`document`, `evidence` or `answer`"),
            missing=("str", "the document, the evidence as `doc_id:start-end`, or the metric of the answer"),
            rank_before=(
                "int64",
                "the rank in the baseline, of documents or of chunks as the metric counts; 0 if none is known, and for an answer",
            ),
            rank_after=("int64", "the rank in the run; 0 if it is not among the hits, and for an answer"),
            cause=(
                "str",
                "the cause of the miss or failure, or `removed`, `changed`, `displaced` for what happened to the documents, or `error`",
            ),
            explanation=("str", "the cause in one sentence"),
            displaced_by=("str", "the new or changed documents that rank ahead, a JSON list"),
            metric=("str", "the metric that shows the loss"),
            value_before=("float64", "the question's value of the metric in the baseline; missing if it is not known"),
            value_after=("float64", "the question's value of the metric in the run; missing if it is not known"),
            before=("str", "the first hits of the baseline, a JSON list of `rank`, `doc_id`, `start`, `end`, `text` and `relevant`"),
            after=("str", "the first hits of the run, in the same form"),
            answer=("str", "the answer of the run; empty for a document and for evidence"),
        ),
        _schema(
            "screening",
            "configuration, after a screening",
            "configuration proxy queries metric value first difference low high kept",
            required=False,
            value=("float64", "the mean by the proxy"),
            difference=("float64", "the mean difference from `first`, positive if better"),
            kept=("bool", "whether the configuration ran in full"),
        ),
    )
}


def pandas_frame(value: Any) -> Any:
    """Return a table of another library, such as polars or pyarrow, as a DataFrame. Other values are returned unchanged.

    A table is recognised by its method `to_pandas` or by Arrow's interface, so none of these libraries is imported.
    """
    if isinstance(value, type) or type(value).__module__.partition(".")[0] == "pandas":
        return value
    # A series has these methods too, but no columns.
    if callable(convert := getattr(value, "to_pandas", None)) and hasattr(value, "columns"):
        return convert()
    if hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns"):
        from pyarrow import table  # heavy

        return table(value).to_pandas()
    return value
