"""Valid datasets of every kind, and mutations of their bytes and of their structure, as hypothesis draws them."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from workbench.components.chunking.markdown import MarkdownChunker
from workbench.core.errors import WorkbenchError
from workbench.core.records import Document
from workbench.data.checks import faults, notes
from workbench.data.formats.golden import write_golden
from workbench.data.formats.trec import read_qrels, read_run
from workbench.data.sources import recognise

Files = dict[str, bytes]

DOCUMENTS = [{"doc_id": "d", "title": "T", "text": "# Ada\n\nAda wrote it. Bob read it."}, {"doc_id": "e/f", "text": "Eve, too"}]
SPAN = {"doc_id": "d", "start": 7, "end": 10, "text": "Ada"}
QUESTIONS: list[dict[str, Any]] = [
    {
        "query_id": "q",
        "query": "Who wrote?",
        "relevant_doc_ids": {"d": 2},
        "irrelevant_doc_ids": ["e/f"],
        "evidence": [[SPAN]],
        "split": "dev",
    },
    {"query": "Who read?", "relevant_chunks": ["Bob read", {"doc_id": "d", "text": "Ada  wrote"}], "type": "factoid", "year": 2020},
    {"query": "Why?", "answerable": False, "answer": None, "judged_doc_ids": ["d"]},
]
PAGE = (
    "<!DOCTYPE html><title>T &amp; U</title><h1>Ada</h1><!-- c --><p>She <b>wrote</b><br>it.<ul><li>a<ol><li>b</ol></ul>"
    "<table><caption>c</caption><tr><th>x<th>y</tr><tr><td>1</td><td>2|3</td></tr></table><pre>a ``` b<br>c</pre><script>x</script>"
)
MARKDOWN = "# Ada\r\n\n> - quoted\n>   1. list\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n\nAda\n===\n\n[a]: b 'c'\n\n<div>\n\nx &amp; y.\n"
TOPICS = "query_id\ttext\nq\tWho wrote?\nr\tWho read?\n"


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def _csv(rows: list[dict[str, Any]]) -> bytes:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="")
    writer.writeheader()
    writer.writerows({key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()} for row in rows)
    return stream.getvalue().encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pd.DataFrame([{key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()} for row in rows]).to_parquet(
        stream
    )
    return stream.getvalue()


_BEIR_QUERIES = [
    {"_id": "q", "text": "Who wrote?", "metadata": {"type": "x"}},
    {"_id": "r", "text": "Why?", "metadata": {"answerable": False}},
]
# The kind, the path to read and the files.
DATASETS: dict[str, tuple[str, str, Files]] = {
    "golden folder": (
        "golden",
        "",
        {"documents/d.md": b"# Ada\n\nAda wrote it. Bob read it.", "documents/e/f.txt": b"Eve", "questions.jsonl": _lines(QUESTIONS)},
    ),
    "golden lines": ("golden", "", {"documents.jsonl": _lines(DOCUMENTS), "questions.json": json.dumps({"questions": QUESTIONS}).encode()}),
    "golden file": ("golden", "all.json", {"all.json": json.dumps({"documents": DOCUMENTS, "questions": QUESTIONS}).encode()}),
    "list": ("list", "list.json", {"list.json": json.dumps(QUESTIONS).encode(), "documents.jsonl": _lines(DOCUMENTS)}),
    "beir": (
        "beir",
        "",
        {
            "corpus.jsonl": _lines([{"_id": row["doc_id"], "text": row["text"]} for row in DOCUMENTS]),
            "queries.jsonl": _lines(_BEIR_QUERIES),
            "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq\td\t1\nq\te/f\t0\n",
            "evidence.jsonl": _lines([{"query_id": "q", "need": 1} | SPAN]),
        },
    ),
    "trec": (
        "trec",
        "",
        {"topics.tsv": TOPICS.encode(), "qrels.txt": b"q 0 d 1\nr 0 e%20f -1\nr 0 d 2\n", "documents.jsonl": _lines(DOCUMENTS)},
    ),
    "trec lines": (
        "trec",
        "",
        {
            "topics.jsonl": _lines([{"query_id": "q", "query": "Who?", "split": "dev"}]),
            "qrels.txt": b"q 0 d 1\n",
            "documents.jsonl": _lines(DOCUMENTS),
        },
    ),
    "csv": ("table", "", {"questions.csv": _csv(QUESTIONS), "documents.csv": _csv(DOCUMENTS)}),
    "parquet": ("table", "", {"questions.parquet": _parquet(QUESTIONS), "documents.parquet": _parquet(DOCUMENTS)}),
    "huggingface": (
        "huggingface",
        "rows.parquet",
        {"rows.parquet": _parquet([{"question": "Who wrote?", "answer": "Ada", "context": "Ada wrote it."}])},
    ),
    "pages": (
        "golden",
        "",
        {
            "documents/d.html": PAGE.encode(),
            "documents/e.md": MARKDOWN.encode(),
            "questions.json": b'[{"query": "?", "relevant_doc_ids": ["d"]}]',
        },
    ),
}
RUN = b"q Q0 d 1 0.5 tag\nq Q0 e%20f 2 0.25 tag\n"

# Pieces that parsers trip over.
_PIECES = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\t", b" ", b'"', b"'", b"\\", b"\\ud800", b"\xe2\x80\xa8", b"\xed\xa0\x80"),
    *(b"{", b"}", b"[", b"]", b"[" * 2000, b":", b",", b";", b"|", b"null", b"NaN", b"1e999", b"-0", b"9" * 5000, b"true", b"%20", b"sep=;\n"),
    *(b"<", b">", b"</", b"<!--", b"<![", b"<![CDATA[", b"<?", b"<table><tr><td>", b"</table>", b"<pre>", b"<li>", b"<svg><title>", b"&#x110000;", b"&#xD800;"),
    *(b"#", b"> ", b"- ", b"```", b"|-|", b"===", b"    ", b"[a]:", b"PK\x03\x04", b"PAR1", b"\x1f\x8b"),
)  # fmt: skip
_TEXTS = st.sampled_from(["", " ", "d", "q", "\u2028", "a b", "é", "e\u0301", "%20", "\x1b[31m", "0", "dev", "unanswerable"]) | st.text(
    max_size=5
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**30) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def mutated_bytes(draw: st.DrawFn, raw: bytes) -> bytes:
    """Cut, repeat or overwrite a part of a file, or insert a hostile piece."""
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, min(len(raw), start + 20)))
    piece = draw(st.sampled_from(_PIECES) | st.binary(max_size=4) | st.just(raw[start:end] * 2))
    return raw[:start] + piece + raw[end:]


@st.composite
def mutated_value(draw: st.DrawFn, value: Any) -> Any:
    """Replace, remove, rename or repeat one part of a JSON value, at any depth."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 5)) == 0:
        return draw(_VALUES)
    place = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    if isinstance(value, list):
        new = draw(st.sampled_from(["change", "drop", "twice"]))
        changed = {"change": [draw(mutated_value(value[place]))], "drop": [], "twice": [value[place]] * 2}[new]
        return [*value[:place], *changed, *value[place + 1 :]]
    others = {key: other for key, other in value.items() if key != place}
    match draw(st.sampled_from(["change", "drop", "rename"])):
        case "change":
            return others | {place: draw(mutated_value(value[place]))}
        case "rename":
            return others | {draw(_TEXTS | st.sampled_from([f"{place}s", place.upper(), "text", "id"])): value[place]}
    return others


@st.composite
def mutated_file(draw: st.DrawFn, name: str, raw: bytes) -> bytes:
    """Mutate a file's structure if its name tells one, or its bytes."""
    structure = draw(st.booleans())
    if structure and name.endswith((".json", ".jsonl")):
        values = [json.loads(line) for line in raw.split(b"\n")]
        return "\n".join(json.dumps(row) for row in _listed(draw(mutated_value(values)))).encode()
    if structure and name.endswith((".tsv", ".txt", ".csv", ".trec")):
        lines = raw.decode().split("\n")
        row = draw(st.integers(0, len(lines) - 1))
        mark = "," if name.endswith(".csv") else "\t" if "\t" in lines[row] else " "
        cells = lines[row].split(mark)
        cells[draw(st.integers(0, len(cells) - 1))] = str(draw(_VALUES))
        return "\n".join([*lines[:row], mark.join(cells), *lines[row + draw(st.integers(0, 1)) :]]).encode("utf-8", "surrogatepass")
    return draw(mutated_bytes(raw))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@st.composite
def mutated_files(draw: st.DrawFn, files: Files) -> Files:
    """Mutate one to three places of a dataset's files."""
    changed = dict(files)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(changed)))
        try:
            changed[name] = draw(mutated_file(name, changed[name]))
        except (ValueError, RecursionError):  # an earlier mutation broke the structure
            changed[name] = draw(mutated_bytes(changed[name]))
    return changed


def read_mutated(kind: str, path: str, files: Files) -> None:
    """Check, load, write and chunk a dataset; raises whatever is no WorkbenchError, and an AssertionError for lines that cannot be shown."""
    with TemporaryDirectory() as folder:
        for name, raw in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(raw)
        documents = f"{folder}/documents.jsonl" if kind == "list" else None
        lines = _outcome(lambda: _used(kind, f"{folder}/{path}".rstrip("/"), documents))
    assert all(line and "\n" not in line and line.encode("utf-8") for line in lines)


def read_mutated_trec(raw: bytes) -> None:
    """Read bytes as judgements and as a run."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(raw)
        lines = [*_outcome(lambda: [str(len(read_qrels(path)))]), *_outcome(lambda: [str(len(read_run(path)))])]
    assert all(line and "\n" not in line and line.encode("utf-8") for line in lines)


def _outcome(action: Callable[[], list[str]]) -> list[str]:
    try:
        return action()
    except WorkbenchError as error:
        return error.lines


def _used(kind: str, path: str, documents: str | None) -> list[str]:
    source = recognise(path, None, kind=kind, documents=documents)
    draft = source.read()
    lines = [" ".join(line.split()) for line in (*faults(draft), *notes(draft))]
    for document, _ in draft.documents:
        _chunked(document)
    dataset = source.dataset(draft)
    with TemporaryDirectory() as folder:
        write_golden(dataset, Path(folder) / "new")
        recognise(f"{folder}/new", None).load()
    return lines


def _chunked(document: Document) -> None:
    chunks = MarkdownChunker(size=8, tokens="characters", enrich=True).split(document)
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
