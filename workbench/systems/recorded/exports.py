"""Recorded replies by their questions, and the exports of other tools that they are read from.

Logs of Inspect are as inspect-ai 0.3.285 writes them: `.eval`, a zip with one JSON file for each sample, and `.json`.
"""

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from workbench.components.answering.recorded import failed_request
from workbench.core.records import Answer, TargetHit
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed
from workbench.data.draft import DatasetDraft, Rows
from workbench.data.lines import objects, parse_json, reason
from workbench.llm.replies.rejections import error_in_text, error_text, reported_error
from workbench.systems.base import TargetError
from workbench.systems.contents import FINISHES, check_answer
from workbench.systems.operations import OperationSession
from workbench.systems.recorded.payloads import answer_of, documents_of, question_of, structured


@dataclass(frozen=True)
class RecordedResponse:
    """The hits and the answer to one question. None for what was not recorded, and the `error` of a request that failed.

    `unanswered` is the reason why a recorded reply has no answer, although the request did not fail.
    """

    where: str
    query_id: str | None = None
    query: str | None = None
    hits: tuple[TargetHit, ...] | None = None
    answer: Answer | None = None
    error: str = ""
    unanswered: str = ""


class RecordedResponses(OperationSession):
    """The replies of a file, and the format as which it was read.

    `found_only` says that the format cannot express that nothing was found: a question without a reply has no hits.
    """

    def __init__(
        self, format_name: str, results: Iterable[RecordedResponse], advice: str, draft: DatasetDraft, found_only: bool = False
    ) -> None:
        """Index responses by their questions. Another one to a question is a fault with this advice, unless it is equal."""
        super().__init__(("search", "answer"), k=0)
        self.format, self.found_only = format_name, found_only
        self._by_id, self._by_text, known = dict[str, RecordedResponse](), dict[str, RecordedResponse](), list[RecordedResponse]()
        for result in results:
            named = result.query_id is not None
            table, kind, name = (self._by_id, "id", str(result.query_id)) if named else (self._by_text, "question", _plain(result.query))
            earlier = table.setdefault(name, result)
            if (earlier.hits, earlier.answer, earlier.error) != (result.hits, result.answer, result.error):
                draft.fault(result.where, f"has another result for the {kind} {excerpt(name)!r} of {earlier.where}; {advice}")
            known.append(result)
        # An id that the application gave is not one of the dataset.
        for result in known:
            if result.query is not None:
                self._by_text.setdefault(_plain(result.query), result)

    async def call(self, role: str, values: Mapping[str, Any]) -> Any:
        """Return the hits or the answer that was recorded for a question."""
        if values["context"] is not None:
            raise TargetError("a recorded answer cannot be given a context")
        reply = self.reply(values["query_id"], values["query"])
        value = reply.hits if role == "search" else reply.answer
        if value is None:
            raise TargetError("no recorded hits" if role == "search" else reply.unanswered or "no recorded answer")
        return value

    # Computed once, since a file can have a million hits.
    @cached_property
    def searches(self) -> bool:
        """True if hits are recorded."""
        return self.found_only or any(result.hits is not None for result in self.all)

    @cached_property
    def answers(self) -> bool:
        """True if answers are recorded. A column that is empty throughout was not asked for."""
        answers = [result.answer for result in self.all if result.answer]
        return any(answer.text.strip() or answer.refused for answer in answers)

    @cached_property
    def gives_text(self) -> bool:
        """True if a hit has a text or a position."""
        return any(hit.text is not None or hit.start is not None for result in self.all for hit in result.hits or ())

    @property
    def all(self) -> list[RecordedResponse]:
        """Return all responses."""
        return [*self._by_id.values(), *self._by_text.values()]

    def reply(self, query_id: str, text: str) -> RecordedResponse:
        """Return the reply to a question. Raises TargetError if none is recorded, or only one of another wording."""
        result = self._by_id.get(query_id) or self._by_text.get(_plain(text))
        if result is None and self.found_only:
            return RecordedResponse(self.format, hits=())
        if result is None:
            raise TargetError("no recorded result")
        if result.query is not None and _plain(result.query) != _plain(text):
            raise TargetError("the recorded result is to an earlier wording of the question")
        if result.error:
            raise TargetError(failed_request(result.error))
        return result


def _plain(text: str | None) -> str:
    return (text or "").strip()


Row = Mapping[str, Any]
# Rows with their places.
Numbered = list[tuple[dict[str, Any], str]]


class RecordedFields(BaseModel):
    """The fields of a row with its question, answer and documents, if the importer does not find them or finds the wrong ones.

    Each is a key or a path of keys with dots, such as `vars.topic`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    question: str = Field(default="", description="The field of the question.")
    query_id: str = Field(default="", description="The field of the question's id in the dataset.")
    answer: str = Field(default="", description="The field of the answer.")
    documents: str = Field(default="", description="The field of the retrieved documents.")


@dataclass(frozen=True)
class ExportedRow:
    """The values of a row in which an importer finds the question, the answer and the documents.

    The answer can also be a result that was read already. `error` is why the application failed, `fault` why the row cannot be read.
    `missing` is the fault of a row without a question, by default that its field has none, and None if such a row is left out.
    """

    row: Row
    where: str
    question: Any
    answer: Any = None
    documents: Any = None
    query_id: Any = None
    error: Any = None
    fault: str = ""
    missing: str | None = ""


@dataclass(frozen=True)
class ExportFormat:
    """A format of another tool: the keys that its rows have, the place of the question for messages, and how rows are read."""

    name: str
    marks: Callable[[Row], bool]
    question: str
    read: Callable[[Rows], Iterable[ExportedRow]]
    # The field that tells several results of a question apart, empty if no field of a row does.
    choice: str = "a field"


def exported_results(export: ExportFormat, rows: Rows, fields: RecordedFields, draft: DatasetDraft) -> Iterator[RecordedResponse]:
    """Yield the results of a tool's rows. A row without a question, or whose documents cannot be read, is a fault."""
    for found in export.read(rows):
        question, query_id = question_of(_chosen(found, "question", fields.question)), _chosen(found, "query_id", fields.query_id)
        try:
            hits = documents_of(_chosen(found, "documents", fields.documents))
            fault = found.fault
        except ValueError as error:
            fault = str(error)
        if not fault and question is None and query_id is None:
            if found.missing is None:
                continue
            place = fields.question or export.question
            fault = (
                found.missing or f"has no question in {place}; its keys are {_keys(found.row)}; name another with fields: {{question: …}}"
            )
        if fault:
            draft.fault(found.where, fault)
            continue
        query_id = None if query_id is None else str(query_id)
        value = _chosen(found, "answer", fields.answer)
        read = isinstance(value, RecordedResponse) and not found.error
        result = replace(value, where=found.where) if read else recorded_answer(value, found.error, found.where)
        answer = result.answer and replace(result.answer, sources=hits)
        yield replace(result, query_id=query_id, query=question, hits=hits, answer=answer)


def recorded_answer(value: Any, failure: Any = None, where: str = "") -> RecordedResponse:
    """Return the answer in a recorded output, or the error that prevented it. `failure` is an error that was recorded beside it."""
    message = value if isinstance(value, Mapping) else {}
    finish = next((message[name] for name in FINISHES if isinstance(message.get(name), str)), None)
    try:
        text = answer_of(value)
        error = reported_error(value, nothing=not (text or "").strip()) or error_in_text(text or "")
        if failure or error:
            return RecordedResponse(where, error=str(failure) if failure or not error else error_text(error[1]))
        truncated = check_answer(text or "", finish, message)
    except TargetError as reason:
        return RecordedResponse(where, unanswered=str(reason))
    return RecordedResponse(where, answer=None if text is None else Answer(text=text, truncated=truncated))


def value_at(row: Row, path: str) -> Any:
    """Return the value of a key, or of a path of keys with dots, or None. A key that contains dots precedes a path."""
    if path in row:
        return row[path]
    head, _, rest = path.partition(".")
    while rest:
        inner = row.get(head)
        if isinstance(inner, Mapping):
            return value_at(inner, rest)
        step, _, rest = rest.partition(".")
        head = f"{head}.{step}"
    return None


def chosen_rows(rows: Numbered, where: Mapping[str, str], path: str, draft: DatasetDraft) -> Numbered:
    """Return the rows whose values are these. Without any such row, the values of the first field are a fault."""
    for name, wanted in where.items():
        values = [value_at(row, name) for row, _ in rows]
        same = [str(value) == wanted or (isinstance(value, bool) and str(value).lower() == wanted.lower()) for value in values]
        kept = [row for row, value, chosen in zip(rows, values, same, strict=True) if chosen and value is not None]
        if rows and not kept:
            known = sorted({str(value) for value in values if value is not None})
            there = f"it is {listed([repr(value) for value in known])}" if known else f"the keys of its rows are {_keys(rows[0][0])}"
            draft.fault(path, f"has no row whose {name} is {wanted!r}; {there}")
        rows = kept
    return rows


def _chosen(found: ExportedRow, name: str, path: str) -> Any:
    return value_at(found.row, path) if path else getattr(found, name)


def _keys(row: Row) -> str:
    return listed([repr(key) for key in row], 12)


# The names of the question, the answer and the contexts.
_NAMES, _EARLIER_NAMES = ("user_input", "response", "retrieved_contexts"), ("question", "answer", "contexts")
# One of these beside a `question` is a sign of an export before Ragas 0.2.
_EARLIER = ("contexts", "ground_truth", "ground_truths")


def _ragas(rows: Rows) -> Iterator[ExportedRow]:
    """Read an EvaluationDataset, or `evaluate(...).to_pandas()`, as JSON Lines, parquet or CSV.

    The columns are `user_input, retrieved_contexts, retrieved_context_ids, response, reference`, before Ragas 0.2 `question, contexts, answer,
    ground_truth` or `ground_truths`, and one for each metric, which is not read.
    """
    for row, where in rows:
        documents, fault = None, ""
        question, answer, contexts = _NAMES if _NAMES[0] in row else _EARLIER_NAMES
        try:
            documents = _ragas_documents(row, contexts)
        except ValueError as error:
            fault = str(error)
        yield ExportedRow(row, where, row.get(question), row.get(answer), documents, row.get("query_id"), fault=fault)


def _ragas_documents(row: Mapping[str, Any], contexts: str) -> Any:
    """Return the contexts with their ids, or what there is of them. Raises ValueError if they do not belong together."""
    texts, ids = (structured(row.get(key), key) for key in (contexts, "retrieved_context_ids"))
    if not isinstance(ids, list):
        return texts
    if not isinstance(texts, list):
        return [{"doc_id": doc_id} for doc_id in ids]
    if len(texts) != len(ids):
        raise ValueError(f"has {len(texts)} retrieved_contexts but {len(ids)} retrieved_context_ids")
    return [{"doc_id": doc_id, "text": text} for doc_id, text in zip(ids, texts, strict=True)]


RAGAS = ExportFormat(
    "ragas",
    lambda row: "user_input" in row or ("question" in row and any(key in row for key in _EARLIER)),
    "user_input",
    _ragas,
)


def _promptfoo(rows: Rows) -> Iterator[ExportedRow]:
    """Read `promptfoo eval --output results.json` (or .jsonl): a result for each test, prompt and provider.

    A result has the variables of the prompt in `vars` and the reply of the provider in `response.output`, a text or an object. Retrieved
    documents are in that object, in the metadata of the reply, or in the variables, such as `context`.
    """
    for row, where in rows:
        variables, response = (row[key] if isinstance(row.get(key), Mapping) else {} for key in ("vars", "response"))
        output = response.get("output")
        places = (output if isinstance(output, Mapping) else None, response.get("metadata"), variables)
        # A reply that is an object has its sources inside; a text has none.
        documents = next((place for place in places if isinstance(place, Mapping) and has_documents(place)), None)
        error = response.get("error") or (row.get("error") if output is None else None)
        yield ExportedRow(row, where, variables, output, documents, variables.get("query_id"), error)


def has_documents(place: Mapping[str, Any]) -> bool:
    """Return True if a mapping has documents under a usual name, also ones that cannot be read."""
    try:
        return documents_of(place) is not None
    except ValueError:
        # Reported where the documents are read.
        return True


PROMPTFOO = ExportFormat(
    "promptfoo",
    lambda row: "vars" in row and any(key in row for key in ("response", "promptIdx", "testIdx", "error")),
    "vars",
    _promptfoo,
    "provider.label",
)


_OUTPUTS, _CONTEXTS = ("actual_output", "actualOutput"), ("retrieval_context", "retrievalContext")
_SEPARATOR = "|"
# How a context is written whose source is known.
_SOURCED = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)


def _deepeval(rows: Rows) -> Iterator[ExportedRow]:
    """Read test cases that `EvaluationDataset.save_as` wrote, or a test run (`.deepeval/.latest_run_full.json`).

    The keys of a test case are `input, actual_output, retrieval_context, expected_output`, in a test run `actualOutput, retrievalContext`.
    CSV and JSON Lines join the contexts with `|`, so only JSON keeps contexts apart that contain it.
    """
    rows = list(rows)
    # A row of CSV has no key for an empty cell, which is how contexts are written that are none.
    none: list[Any] | None = [] if any(key in row for row, _ in rows for key in _CONTEXTS) else None
    for row, where in rows:
        answer, contexts = (next((row[key] for key in keys if key in row), other) for keys, other in ((_OUTPUTS, None), (_CONTEXTS, none)))
        if isinstance(contexts, str):
            contexts = contexts.split(_SEPARATOR) if contexts else []
        documents = contexts
        if isinstance(contexts, list):
            sourced = [_SOURCED.fullmatch(context) if isinstance(context, str) else None for context in contexts]
            documents = [
                {"doc_id": found["source"], "text": found["text"], "metadata": {"source": found["source"]}} if found else context
                for found, context in zip(sourced, contexts, strict=True)
            ]
        yield ExportedRow(row, where, row.get("input"), answer, documents, row.get("query_id"))


DEEPEVAL = ExportFormat("deepeval", lambda row: "input" in row and any(key in row for key in (*_OUTPUTS, *_CONTEXTS)), "input", _deepeval)


LOG_SUFFIX = ".eval"
# The number of Zstandard in the list of zip's compression methods. zipfile reads it from Python 3.14.
_ZSTANDARD = 93
# The flag of an encrypted file.
_ENCRYPTED = 1
# The length of the header before a file in a zip, and where it has the lengths of the name and of the extra field.
_HEADER, _LENGTHS = 30, (26, 28)
# Large fields of a sample that have no question, answer or documents.
_UNUSED = ("events", "events_data", "attachments")


def log_samples(file: Path, draft: DatasetDraft) -> Rows:
    """Return the samples of a `.eval` log with their places. One that cannot be read is a fault."""
    raw = draft.read_bytes(file)
    if str(file) in draft.faulty:
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as log:
            members = [member for member in log.infolist() if member.filename.startswith("samples/") and not member.is_dir()]
            if fault := draft.files.too_large(sum(member.file_size for member in members)):
                draft.fault(str(file), f"unpacked {fault}")
                return []
            if not members:
                draft.fault(str(file), "is a log of Inspect without samples; run the evaluation again")
            texts = [(_unpacked(raw, log, member), f"{file} {member.filename}") for member in members]
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, NotImplementedError) as error:
        draft.fault(str(file), f"is not a log of Inspect ({str(error) or 'it is cut off'}); write it again, or give its JSON")
        return []
    return objects(_parsed(texts, draft), draft)


def _unpacked(raw: bytes, log: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a file. Raises ValueError if it is encrypted, and an error of its compression if it is damaged."""
    if member.flag_bits & _ENCRYPTED:
        raise ValueError(f"{member.filename} is encrypted")
    if member.compress_type != _ZSTANDARD:
        return log.read(member)
    from pyarrow import BufferReader, CompressedInputStream  # heavy

    name, extra = (int.from_bytes(raw[member.header_offset + place :][:2], "little") for place in _LENGTHS)
    start = member.header_offset + _HEADER + name + extra
    # One byte more than promised shows that the promise is wrong.
    with CompressedInputStream(BufferReader(raw[start : start + member.compress_size]), "zstd") as stream:
        content = bytes(stream.read(member.file_size + 1))
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError(f"{member.filename} is damaged")
    return content


def _parsed(texts: list[tuple[bytes, str]], draft: DatasetDraft) -> Iterator[tuple[Any, str]]:
    for text, where in texts:
        try:
            yield parse_json(text.decode()), where
        except ValueError as error:
            draft.fault(where, f"is not JSON ({reason(error)})")


def _inspect(rows: Rows) -> Iterator[ExportedRow]:
    """Read samples: the input, the completion of the output, and documents under a usual name in the metadata or the store.

    The id of a sample is that of the question if it is a text, since Inspect numbers samples without ids. Scores are not read.
    """
    for row, where in rows:
        output, metadata = _mapping(row.get("output")), _mapping(row.get("metadata"))
        # A model of a store writes its name before that of the field.
        store = {key.rpartition(":")[2]: value for key, value in _mapping(row.get("store")).items()}
        choices = output.get("choices")
        choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
        answer = {"answer": output.get("completion"), "stop_reason": choice.get("stop_reason")} if choice else None
        named, sample = metadata.get("query_id"), row.get("id")
        query_id = sample if named is None and isinstance(sample, str) else named
        documents = next((place for place in (metadata, store) if has_documents(place)), None)
        error = _mapping(row.get("error")).get("message") or output.get("error")
        kept = {key: value for key, value in row.items() if key not in _UNUSED}
        missing = (
            ""
            if INSPECT.marks(row)
            else f"is no sample of Inspect, which has id, epoch, input, target and output; its keys are {_keys(row)}"
        )
        yield ExportedRow(kept, where, row.get("input"), answer, documents, query_id, error, missing=missing)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


INSPECT = ExportFormat("inspect", lambda row: {"epoch", "input", "target"} <= row.keys(), "input", _inspect, "epoch")
