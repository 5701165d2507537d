import json
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.monitor.log_lines import ROWS, known, line, question, write_segment
from tests.planted_modules import plant_modules
from workbench.core.errors import InputError
from workbench.monitor.log import log_files, reading
from workbench.monitor.log.fields import FIELDS, row_fault
from workbench.monitor.log.log_files import compact
from workbench.monitor.log.log_table import DERIVED, SCHEMA
from workbench.monitor.log.reading import LoggedQuestions

HIT = {"doc_id": "d", "score": 0.5}
# A line between two good ones, and the reason why it is left out.
LEFT_OUT = {
    "broken": (b'{"id": "a", "time": \n', "line that is not JSON"),
    "cut in a text": (b'{"id": "a", "query": "wh\n', "line that is not JSON"),
    "NaN": (b'{"id": "a", "time": "2026-11-27T08:00:00Z", "query": "?", "cost": NaN}\n', "a number expected in cost"),
    "infinity": (b'{"id": "a", "time": "2026-11-27T08:00:00Z", "query": "?", "cost": 1e999}\n', "a number expected in cost"),
    "not UTF-8": (b'{"id": "a", "query": "\xff\xfe"}\n', "line that is not JSON"),
    "NUL": (b'{"id": "a", "query": "\x00"}\n', "line that is not JSON"),
    "NULs of a hole in the file": (b"\0" * 4096 + b"\n", "line that is not JSON"),
    "half a surrogate pair": (b'{"id": "a", "query": "\\ud800"}\n', "line that is not JSON"),
    "100,000 brackets": (b'{"id": ' + b"[" * 100_000 + b"\n", "line with deep nesting"),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n", "line with deep nesting"),
    "nested deeply": (
        line(question(9, hits=[HIT]))[:-4] + b',"metadata":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}]}\n",
        "line with deep nesting",
    ),
    "a list": (b"[1, 2]\n", "line that is not an object"),
    "a text": (b'"id"\n', "line that is not an object"),
    "no id": (line({**question(9), "id": None}), "no id"),
    "an empty question": (line({**question(9), "query": ""}), "no query"),
    "no time": (line({"id": "a", "query": "?"}), "no time"),
    "an id that is a number": (line({**question(9), "id": 7}), "a text expected in id"),
    "a score that is a text": (line(question(9, hits=[{"score": "=1+1"}])), "a number expected in score of hits"),
    "a score that is true": (line(question(9, hits=[{"score": True}])), "a number expected in score of hits"),
    "a hit that is a text": (line(question(9, hits=["d"])), "a list of objects expected in hits"),
    "a decimal number of tokens": (line(question(9, input_tokens=1.5)), "a whole number expected in input_tokens"),
    "tokens beyond 64 bits": (line(question(9, input_tokens=2**63)), "a whole number expected in input_tokens"),
    "a version that is a number": (line(question(9, versions={"index": 3})), "an object of texts expected in versions"),
    "a time without a zone": (
        line({**question(9), "time": "2026-11-27T08:00:00"}),
        "a time such as 2026-11-27T08:00:00Z expected in time",
    ),
    "a time of another zone": (
        line({**question(9), "time": "2026-11-27T08:00:00+02:00"}),
        "a time such as 2026-11-27T08:00:00Z expected in time",
    ),
    "a time that is none": (line({**question(9), "time": "2026-13-40T08:00:00Z"}), "a time such as 2026-11-27T08:00:00Z expected in time"),
    "feedback that is a text": (line({"id": "q1", "feedback": "good"}), "a list of objects expected in feedback"),
    "feedback without an id": (line({"feedback": [{"value": 1}]}), "no id"),
    "a probability above 1": (line(question(9, probability=2)), "a number above 0, at most 1, expected in probability"),
    "a secret as the name of a version": (line(question(9, versions={"secret": 5})), "an object of texts expected in versions"),
    "a number of lost records that no counter has": (
        b'{"lost": {"x": ' + b"9" * 4299 + b"}}\n",
        "an object of whole numbers expected in lost",
    ),
    "lost records that are a text": (b'{"lost": {"memory": "many"}}\n', "an object of whole numbers expected in lost"),
    "a line of 9 MB": (line(question(9, answer="a" * 9_000_000)), "line of more than 8 MB"),
    "a duplicate": (line({**question(1), "query": "another question"}), "duplicate id"),
    "feedback to nothing": (
        line({"id": "unknown", "feedback": [{"kind": "thumb", "value": 1}]}),
        "feedback to a question that is not in the log",
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_hostile_line_is_left_out_and_counted_and_its_neighbours_are_read(name: str, tmp_path: Path) -> None:
    hostile, reason = LEFT_OUT[name]
    write_segment(tmp_path / "a.jsonl", [question(1), hostile, question(2)])
    log = LoggedQuestions(tmp_path)
    assert [row["query"] for row in log.rows()] == ["question 1", "question 2"]
    assert {reason: tally.number for reason, tally in log.counts.left_out.items()} == {reason: 1}
    if reason not in ("feedback to a question that is not in the log", "duplicate id"):
        assert log.counts.left_out[reason].first == f"{tmp_path}/a.jsonl:2"
    assert "secret" not in str(log.counts)
    assert not log.counts.unknown


# A line that is read, and the counts beside.
READ: dict[str, dict[str, Any]] = {
    "a formula": {"query": '=HYPERLINK("http://x")'},
    "ANSI": {"query": "\x1b]0;owned\x07", "answer": "\u202e"},
    "HTML": {"answer": "<script>alert(1)</script>"},
    "an escaped NUL": {"query": "a\0b"},
    "a shell command": {"query": "$(rm -rf /)"},
    "an emoji": {"query": "🙂" * 3},
    "a large whole number": {"cost": 2**60},
    "nested metadata": {"hits": [{"metadata": {"a": {"b": [None, {"c": 1.5}]}}}]},
    "no hits": {"hits": []},
}


@pytest.mark.parametrize("name", READ)
def test_any_text_is_plain_text(name: str, tmp_path: Path) -> None:
    rows = [question(1) | READ[name], question(2)]
    log = LoggedQuestions(write_segment(tmp_path / "a.jsonl", rows))
    assert [*log.rows()] == rows
    assert log.counts.lines() == []


@settings(max_examples=60)
@given(rows=st.lists(ROWS, max_size=8), data=st.data())
def test_any_rows_are_read_as_they_were_written_whatever_their_files(
    rows: list[dict[str, Any]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    rows = [row | {"id": f"q{number}"} for number, row in enumerate(rows)]
    later = [{"id": row["id"], "feedback": row.pop("feedback")} for row in rows if row.get("feedback") and data.draw(st.booleans())]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    parts = [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)] + [later]
    for number, part in enumerate(parts):
        write_segment(folder / f"{number}.jsonl", part)
        if data.draw(st.booleans()):
            compact(folder, idle_seconds=-60)
    log = LoggedQuestions(folder)
    found = {row["id"]: row for row in log.rows()}
    assert found == {
        row["id"]: known(row | feedback) for row in rows for feedback in [next((one for one in later if one["id"] == row["id"]), {})]
    }
    assert [log.counts.left_out, log.counts.unknown, log.counts.lost] == [{}, {}, {}]


@given(row=ROWS, data=st.data())
def test_a_row_has_a_fault_if_its_line_is_left_out(
    row: dict[str, Any], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    row = row | {"id": "q"}
    assert row_fault(row) == ""
    name = data.draw(st.sampled_from([field.name for field in FIELDS]))
    row[name] = data.draw(st.sampled_from([[1], {"a": 1}, "no time", 2**64, True, 0.5, float("inf")]))
    log = LoggedQuestions(write_segment(tmp_path_factory.mktemp("log") / "a.jsonl", [json.dumps(row).encode() + b"\n"]))
    assert len([*log.rows()]) == (not row_fault(row))
    assert [*log.counts.left_out] == [row_fault(row)] * bool(row_fault(row))


def test_the_columns_are_the_same_for_every_file(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1)])
    compact(tmp_path, idle_seconds=-60)
    write_segment(tmp_path / "b.jsonl", [question(2, hits=[HIT, {"hop": 1}], versions={"b": "2", "a": "1"})])
    batches = [*LoggedQuestions(tmp_path).batches()]
    assert len(batches) == 2
    assert all(batch.schema.equals(SCHEMA) for batch in batches)
    assert batches[1].column("versions").to_pylist() == ['{"a":"1","b":"2"}']
    assert [batches[1].column(name).to_pylist() for name in ("hit_count", "first_score", "retrievals")] == [[2], [0.5], [2]]


def test_columns_and_questions_are_chosen(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", map(question, range(4)))
    compact(tmp_path, idle_seconds=-60)
    write_segment(tmp_path / "b.jsonl", map(question, range(4, 8)))
    log = LoggedQuestions(tmp_path)
    assert log.frame(["query"]).columns.tolist() == ["query"]
    assert [row["query"] for row in log.rows(ids=["q2", "q5"])] == ["question 2", "question 5"]
    assert log.counts.lines() == []
    with pytest.raises(InputError, match="score is no column of a log"):
        log.frame(["score"])


def test_an_empty_log_has_the_columns(tmp_path: Path) -> None:
    log = LoggedQuestions(write_segment(tmp_path / "a.jsonl", []))
    assert log.frame().columns.tolist() == SCHEMA.names


def test_a_path_without_a_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no log"):
        LoggedQuestions(tmp_path).frame()
    with pytest.raises(InputError, match="cannot be read"):
        LoggedQuestions(tmp_path / "absent.jsonl").frame()


def test_duplicates_are_counted_across_segments_and_the_first_counts(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1), question(2)])
    compact(tmp_path, idle_seconds=-60)
    write_segment(tmp_path / "b.jsonl", [question(1, answer="again"), question(3), question(3)])
    log = LoggedQuestions(tmp_path)
    assert [row.get("answer") for row in log.rows()] == [None, None, None]
    assert log.counts.left_out["duplicate id"].number == 2
    assert log.counts.left_out["duplicate id"].first == f"{tmp_path}/b.jsonl"


def test_later_feedback_is_merged_from_any_file(tmp_path: Path) -> None:
    thumb = {"kind": "thumb", "value": 1.0, "time": "2026-11-27T09:00:00Z"}
    write_segment(tmp_path / "a.jsonl", [question(1, feedback=[thumb]), question(2)])
    compact(tmp_path, idle_seconds=-60)
    write_segment(tmp_path / "b.jsonl", [{"id": "q2", "feedback": [thumb]}, {"id": "q1", "feedback": [{"kind": "edit", "text": "no"}]}])
    log = LoggedQuestions(tmp_path)
    expected = [[thumb, {"kind": "edit", "text": "no"}], [thumb]]
    assert [row["feedback"] for row in log.rows()] == expected
    compact(tmp_path, idle_seconds=-60)
    assert {path.suffix for path in tmp_path.iterdir() if not path.name.startswith(".")} == {".parquet"}
    assert [row["feedback"] for row in log.rows()] == expected
    assert log.counts.lines() == []


COUNTED = ["time before the year 2000", "time more than an hour from now", "time an hour before that of the line before"]


@pytest.mark.parametrize("future", [None, timedelta(minutes=70)])
def test_times_that_cannot_be_are_counted_and_missing(tmp_path: Path, future: timedelta | None) -> None:
    later = "9999-12-31T23:59:59Z" if future is None else (datetime.now(UTC) + future).isoformat()
    times = ["1970-01-01T00:00:00Z", later, "2026-11-27T08:00:00Z", "2026-11-27T06:59:00Z"]
    write_segment(tmp_path / "a.jsonl", [question(number) | {"time": time} for number, time in enumerate(times)])
    log = LoggedQuestions(tmp_path)
    for _ in range(2):
        frame = log.frame(["id", "time"]).set_index("id")
        assert frame["time"].isna().to_dict() == {"q0": True, "q1": True, "q2": False, "q3": False}
        counts = {reason: tally.number for reason, tally in log.counts.doubtful.items()}
        assert counts == dict.fromkeys(COUNTED, 1)
        compact(tmp_path, idle_seconds=-60)


def test_unknown_fields_are_counted_by_name_and_lost_records_by_reason(tmp_path: Path) -> None:
    rows = [question(1, tenant="a", hits=[{"rank": 1}, {"rank": 2}]), question(2, tenant="b", empty=None), {"lost": {"memory": 3}}]
    write_segment(tmp_path / "a.jsonl", [*rows, {"time": "2026-11-27T08:00:00Z", "lost": {"memory": 2, "write": 1}}])
    log = LoggedQuestions(tmp_path)
    for _ in range(2):
        assert len(log.frame()) == 2
        assert {name: tally.number for name, tally in log.counts.unknown.items()} == {"tenant": 2, "hits.rank": 1}
        assert {name: tally.number for name, tally in log.counts.lost.items()} == {"memory": 5, "write": 1}
        assert not log.counts.left_out
        compact(tmp_path, idle_seconds=-60)


def test_counts_that_a_log_names_are_bounded_and_safe_to_print(tmp_path: Path) -> None:
    rows = [question(number, **{f"\x1b[31m{number}{'x' * 1000}": 1}) for number in range(300)]
    write_segment(tmp_path / "\x1b[2J.jsonl", [*rows, b"\x1b\n"])
    log = LoggedQuestions(tmp_path)
    log.frame(["id"])
    assert len(log.counts.unknown) == 101
    assert sum(tally.number for tally in log.counts.unknown.values()) == 300
    assert "\x1b" not in "".join(log.counts.lines())
    assert all(len(text) < 400 for text in log.counts.lines())


def test_an_unfinished_last_line_is_counted_unless_it_is_whole(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1), line(question(2))[:-9]])
    write_segment(tmp_path / "b.jsonl", [question(3), line(question(4))[:-1]])
    log = LoggedQuestions(tmp_path)
    assert [row["id"] for row in log.rows()] == ["q1", "q3", "q4"]
    assert [(reason, tally.number) for reason, tally in log.counts.left_out.items()] == [("unfinished last line", 1)]


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_no_fault(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + line(question(1))[:-1] + b"\r\n\n  \n" + line(question(2))
    log = LoggedQuestions(write_segment(tmp_path / "a.jsonl", [content]))
    assert [row["id"] for row in log.rows()] == ["q1", "q2"]
    assert log.counts.lines() == []


def test_a_line_that_is_too_long_is_left_out_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MAX_LINE_BYTES", 500)
    long = question(9, answer="a" * 2000)
    at_the_limit = line(question(3, answer="a" * (499 - len(line(question(3, answer=""))))))
    write_segment(tmp_path / "a.jsonl", [question(1), long, long, question(2), at_the_limit, long])
    log = LoggedQuestions(tmp_path)
    assert [row["id"] for row in log.rows()] == ["q1", "q2", "q3"]
    assert [(tally.number, tally.first) for tally in log.counts.left_out.values()] == [(3, f"{tmp_path}/a.jsonl:2")]


def test_links_pipes_and_other_files_of_a_folder_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    outside = write_segment(tmp_path / "outside.jsonl", [question(1)])
    write_segment(folder / "a.jsonl", [question(2)])
    write_segment(folder / "below" / "b.jsonl", [question(3)])
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "notes.txt").write_text("notes")
    os.mkfifo(folder / "pipe.jsonl")
    log = LoggedQuestions(folder)
    assert [row["id"] for row in log.rows()] == ["q2"]
    assert [tally.number for tally in log.counts.left_out.values()] == [3]
    # A path that the user names may be a link.
    assert [row["id"] for row in LoggedQuestions(folder / "link.jsonl").rows()] == ["q1"]


def test_damaged_files_are_counted_and_the_others_read(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1, answer=os.urandom(2000).hex())])
    (whole,) = compact(tmp_path, idle_seconds=-60).files
    whole.write_bytes(whole.read_bytes()[:-20])
    (tmp_path / "b.parquet").write_bytes(b"PAR1 nothing PAR1")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "c.parquet")
    write_segment(tmp_path / "d.jsonl", [question(2)])
    log = LoggedQuestions(tmp_path)
    assert [row["id"] for row in log.rows()] == ["q2"]
    assert {reason: tally.number for reason, tally in log.counts.left_out.items()} == {
        "file that cannot be read (it is not a complete parquet file)": 3
    }


def test_a_file_that_is_none_is_counted(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "a.jsonl"))
        os.mkfifo(tmp_path / "c.jsonl")
        write_segment(tmp_path / "b.jsonl", [question(2)])
        log = LoggedQuestions(tmp_path)
        assert [row["id"] for row in log.rows()] == ["q2"]
        assert {why: tally.number for why, tally in log.counts.left_out.items()} == {"file of another kind, or a link": 2}


def test_a_file_that_vanishes_is_counted(tmp_path: Path) -> None:
    for number in range(3):
        write_segment(tmp_path / f"{number}.jsonl", [question(number)])
    log = LoggedQuestions(tmp_path)
    batches = log.batches(["id", "feedback"])
    next(batches)
    (tmp_path / "1.jsonl").unlink()
    assert [batch.column("id").to_pylist() for batch in batches] == [["q2"]]
    assert [(reason, tally.number) for reason, tally in log.counts.left_out.items()] == [
        ("file that cannot be read (No such file or directory)", 1)
    ]


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = write_segment(tmp_path / "outside.jsonl", [question(9)])
    for number in range(2):
        write_segment(tmp_path / "log" / f"{number}.jsonl", [question(number)])
    log = LoggedQuestions(tmp_path / "log")
    batches = log.batches(["id"])
    next(batches)
    (tmp_path / "log" / "1.jsonl").unlink()
    (tmp_path / "log" / "1.jsonl").symlink_to(outside)
    assert [*batches] == []
    assert [tally.number for tally in log.counts.left_out.values()] == [1]


@pytest.mark.slow
def test_a_line_of_100_mb_is_never_in_memory(tmp_path: Path, run_python: Callable[..., str]) -> None:
    path = write_segment(tmp_path / "a.jsonl", [question(1), line(question(9, answer="a" * 100_000_000)), question(2)])
    script = (
        "import sys\nfrom pathlib import Path\nfrom workbench.monitor.log.reading import LoggedQuestions\n"
        "def peak(): return next(int(line.split()[1]) for line in Path('/proc/self/status').read_text().splitlines() if line.startswith('VmHWM'))\n"
        "before = peak()\nlog = LoggedQuestions(sys.argv[1])\nprint(len(log.frame()), *log.counts.left_out)\nprint(peak() - before)"
    )
    read, kilobytes = run_python(script, str(path)).splitlines()
    assert read == "2 line of more than 8 MB"
    assert int(kilobytes) < 80_000


def forged(path: Path, *rows: dict[str, Any], counts: str = "{}") -> None:
    """Write rows that a log could not have to a parquet file with its schema."""
    whole = [{"id": f"f{number}", "time": 1795000000000000, "query": "why?"} | row for number, row in enumerate(rows)]
    table = pa.Table.from_pylist(whole, SCHEMA)
    pq.write_table(table.replace_schema_metadata({"workbench.log": counts}), path)


FORGED = {
    "a time expected in time": {"time": 2**62},
    "a time expected in time of feedback": {"feedback": [{"kind": "thumb", "value": -1.0, "time": 2**62}]},
    "a list of objects expected in hits": {"hits": [None]},
    "a list of objects expected in feedback": {"feedback": [{"kind": "thumb"}, None]},
    "an object of texts expected in versions": {"versions": "not JSON"},
    "an object expected in metadata of hits": {"hits": [{"doc_id": "a", "metadata": "[1]"}]},
    "a number above 0, at most 1, expected in probability": {"probability": 1e308},
    "a number expected in score of hits": {"hits": [{"doc_id": "a", "score": float("nan")}]},
    "a number expected in seconds": {"seconds": float("inf")},
    "another number expected in hit_count": {"hit_count": -5},
    "another number expected in first_score": {"first_score": float("inf")},
    "no id": {"id": None},
    "no time": {"time": None},
    "no feedback": {"query": None},
}
VARIANTS = [
    *FORGED.items(),
    *(("an object of texts expected in versions", {"versions": text}) for text in ("[1]", '"a"', '{"a": 1}', "[" * 100_000)),
    *(("a number above 0, at most 1, expected in probability", {"probability": value}) for value in (0.0, -1.0, float("nan"))),
]


@pytest.mark.parametrize(("reason", "row"), VARIANTS)
def test_a_row_of_a_table_that_a_log_could_not_have_is_left_out_and_counted(reason: str, row: dict[str, Any], tmp_path: Path) -> None:
    phrase = reason.replace("a time ", "a time such as 2026-11-27T08:00:00Z ")
    forged(tmp_path / "a.parquet", {}, row, {}, row | {"id": row.get("id", "f9")})
    log = LoggedQuestions(tmp_path)
    assert log.frame()["id"].tolist() == ["f0", "f2"]
    assert {why: (tally.number, tally.first) for why, tally in log.counts.left_out.items()} == {phrase: (2, f"{tmp_path}/a.parquet:2")}


def test_feedback_of_a_table_that_a_log_could_not_have_is_not_merged(tmp_path: Path) -> None:
    far = {"query": None, "id": "q1", "feedback": [{"kind": "thumb", "value": -1.0, "time": 2**62}]}
    forged(tmp_path / "b.parquet", far, far | {"id": None, "feedback": [{"kind": "thumb", "value": -1.0}]})
    write_segment(tmp_path / "a.jsonl", [question(1)])
    log = LoggedQuestions(tmp_path)
    assert [*log.rows()] == [known(question(1))]
    assert sum(tally.number for tally in log.counts.left_out.values()) == 2


def test_a_table_with_texts_columns_or_counts_that_cannot_be_is_counted(tmp_path: Path) -> None:
    write_segment(tmp_path / "a.jsonl", [question(1)])
    time = pa.array([1795000000000000], SCHEMA.field("time").type)
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"], pa.binary()).buffers())
    pq.write_table(pa.table({"id": broken, "time": time, "query": ["q"]}), tmp_path / "b.parquet")
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"]), time, pa.array(["q"])], names=["id", "id", "time", "query"])
    pq.write_table(twice, tmp_path / "c.parquet")
    for name, number in (("d", "9" * 4000), ("e", "-5"), ("f", str(2**63))):
        forged(tmp_path / f"{name}.parquet", {}, counts=f'{{"lost": {{"x": {{"number": {number}, "first": "a"}}}}}}')
    log = LoggedQuestions(tmp_path)
    assert [row["id"] for row in log.rows()] == ["q1"]
    assert {why: tally.number for why, tally in log.counts.left_out.items()} == {
        "file that cannot be read (it is not a complete parquet file)": 5
    }


@pytest.mark.parametrize("kind", ["empty", "link", "other table"])
def test_only_a_table_of_a_log_hides_a_segment(kind: str, tmp_path: Path) -> None:
    path = write_segment(tmp_path / "a.jsonl", [question(1)])
    target = tmp_path / f"a.jsonl.{path.stat().st_size}.parquet"
    if kind == "link":
        target.symlink_to(tmp_path / "nothing")
    elif kind == "empty":
        target.write_bytes(b"")
    else:
        pq.write_table(pa.table({"id": ["a"]}), target)
    assert [row["id"] for row in LoggedQuestions(tmp_path).rows()] == ["q1"]
    if kind != "link":
        assert compact(tmp_path, idle_seconds=-60).skipped == (path,)


def test_several_processes_read_a_log_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thumb = [{"kind": "thumb", "value": 1.0}]
    write_segment(tmp_path / "a.jsonl", [{"id": "q3", "feedback": thumb}, question(1), *(hostile for hostile, _ in LEFT_OUT.values())])
    compact(tmp_path, idle_seconds=-60)
    write_segment(tmp_path / "b.jsonl", [question(2, tenant="a"), {"lost": {"memory": 3}}, {"id": "unknown", "feedback": thumb}])
    write_segment(tmp_path / "c.jsonl", [question(3), question(1, answer="again"), {"id": "q1", "feedback": thumb}, question(4)])
    (tmp_path / "d.parquet").write_bytes(b"PAR1 nothing PAR1")
    log = LoggedQuestions(tmp_path)
    alone, counts = log.table(), log.counts
    assert alone["id"].to_pylist() == ["q1", "q2", "q3", "q4"]
    assert [given is not None for given in alone["feedback"].to_pylist()] == [True, False, True, False]
    monkeypatch.setattr(reading, "_LARGE", 0)
    mark = plant_modules(tmp_path / "elsewhere")
    monkeypatch.chdir(mark.parent)
    assert log.table().equals(alone)
    assert not mark.exists()
    assert log.counts == counts
    assert pa.Table.from_batches(log.batches()).equals(alone)
    assert log.counts == counts


def test_lines_of_other_questions_are_not_parsed(tmp_path: Path) -> None:
    lines = [b'{"id": "q1"', b'{"id":"q1"', b'{"id":"q2","id":"q1"', b'{"id":"q2","\\u0069d":"q1"', b'{"query":"why?","id":"q1"']
    rest = b',"query":"why?","time":"2026-11-27T08:00:00Z"}\n'
    for number, begin in enumerate(lines):
        log = LoggedQuestions(write_segment(tmp_path / f"{number}.jsonl", [b'{"id":"q2", not JSON\n', begin + rest]))
        assert [row["id"] for row in log.rows(["q1"])] == ["q1"]
        assert log.counts.lines() == []


def test_feedback_to_other_questions_is_none_to_unknown_ones(tmp_path: Path) -> None:
    feedback = [{"kind": "edit", "text": "no"}]
    log = LoggedQuestions(
        write_segment(tmp_path / "a.jsonl", [*({"id": f"q{one}", "feedback": feedback} for one in (1, 2)), question(1), question(2)])
    )
    for _ in range(2):
        assert [row["feedback"] for row in log.rows(["q1"])] == [feedback]
        assert log.counts.lines() == []
        compact(tmp_path, idle_seconds=-60)
        log = LoggedQuestions(tmp_path)


@given(rows=st.lists(ROWS, max_size=6))
def test_a_table_of_others_need_not_have_the_columns_that_follow(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    table = LoggedQuestions(write_segment(folder / "a.jsonl", [row | {"id": f"q{number}"} for number, row in enumerate(rows)])).table()
    pq.write_table(table.drop_columns([*DERIVED]), folder / "b.parquet")
    assert LoggedQuestions(folder / "b.parquet").table([*DERIVED]).equals(table.select([*DERIVED]))
