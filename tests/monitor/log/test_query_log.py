"""What a log records: fields and hits of any form, hashes, redaction, sampling, and what it does with wrong arguments."""

import json
import logging
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument

import workbench as wb
from tests.monitor.written_log import lines, losses, rows
from workbench.core.errors import InputError
from workbench.monitor.log.capture import hit_rows
from workbench.monitor.log.fields import FEEDBACK, row_fault
from workbench.monitor.log.reading import LoggedQuestions
from workbench.systems.base import TargetError
from workbench.systems.callable.results import hits_of

DOCUMENT = wb.Document("d1", "The company pays. Keep the receipt.")


@pytest.fixture
def warned() -> Iterator[list[logging.LogRecord]]:
    """The warnings of the log, whatever an earlier test did to levels, propagation or `logging.disable`."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    loggers = [logging.getLogger(f"workbench.monitor.log.{name}") for name in ("query_log",)]
    disabled, before = logging.root.manager.disable, [(logger.level, logger.disabled) for logger in loggers]
    logging.disable(logging.NOTSET)
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
        logger.disabled = False
    yield records
    for logger, (level, was_disabled) in zip(loggers, before, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.disabled = was_disabled
    logging.disable(disabled)


def logged(folder: Path, write: Callable[[wb.QueryLog], object], **settings: Any) -> dict[str, Any]:
    """The single line that a call writes."""
    log = wb.QueryLog(folder, **settings)
    write(log)
    log.close()
    (line,) = lines(folder)
    return line


def test_a_line_has_what_was_given_and_the_log_s_versions(tmp_path: Path) -> None:
    given = {
        "rewritten": "taxi payer",
        "sources": ["d1"],
        "user": "ann",
        "session": "s1",
        "turn": 2,
        "model": "m",
        "input_tokens": 900,
        "seconds": 0.5,
        "versions": {"prompt": "4"},
        "trace_id": "t",
    }
    row = logged(
        tmp_path, lambda log: log.record("who pays?", [("d1", 0.9)], "we do", **given), versions={"index": "7"}, configuration="fixed-256-0"
    )
    assert row_fault(row) == ""
    assert len(row.pop("id")) == 32
    assert row.pop("time").endswith("Z")
    assert row == given | {
        "query": "who pays?",
        "hits": [{"doc_id": "d1", "score": 0.9}],
        "answer": "we do",
        "configuration": "fixed-256-0",
        "versions": {"index": "7", "prompt": "4"},
        "sources": [{"doc_id": "d1"}],
    }


HITS: dict[str, tuple[Any, Any]] = {
    "hits of an index": (
        [wb.Hit(DOCUMENT, 0, 17, 1, 0.5)],
        [{"doc_id": "d1", "text": "The company pays.", "score": 0.5, "start": 0, "end": 17}],
    ),
    "rows": ([{"doc_id": "d1", "text": "a", "hop": 1}], [{"doc_id": "d1", "text": "a", "hop": 1}]),
    "rows of numpy": ([{"doc_id": "d1", "score": np.float32(0.5), "hop": 1}], [{"doc_id": "d1", "score": 0.5, "hop": 1}]),
    "other names": ([{"id": 7, "page_content": "a", "year": 2024}], [{"doc_id": "7", "text": "a", "metadata": {"year": 2024}}]),
    "pairs": ([("d1", 0.5), ("d2", np.float64(0.25))], [{"doc_id": "d1", "score": 0.5}, {"doc_id": "d2", "score": 0.25}]),
    "ids and passages": (["d1", "two words"], [{"doc_id": "d1"}, {"text": "two words"}]),
    "scores by id": ({"d1": 0.25, "d2": 0.5}, [{"doc_id": "d2", "score": 0.5}, {"doc_id": "d1", "score": 0.25}]),
    "objects": (
        [SimpleNamespace(page_content="a", metadata={"doc_id": "d1"})],
        [{"doc_id": "d1", "text": "a", "metadata": {"doc_id": "d1"}}],
    ),
    "a table": (pd.DataFrame({"doc_id": ["d1"], "score": [0.5]}), [{"doc_id": "d1", "score": 0.5}]),
    "no number": ([{"doc_id": "d1", "score": float("nan")}], [{"doc_id": "d1", "score": None}]),
    "names of other libraries": ([{"id": "d1", "content": "a", "similarity": 1}], [{"doc_id": "d1", "text": "a", "score": 1}]),
    "documents of LangChain": (
        [(LangChainDocument(page_content="a b", metadata={"source": "f", "start_index": 3}, id="c1"), np.float32(0.5))],
        [{"doc_id": "c1", "text": "a b", "score": 0.5, "start": 3, "end": 6, "metadata": {"source": "f", "start_index": 3}}],
    ),
    "none": ([], []),
}


@pytest.mark.parametrize("form", HITS)
def test_hits_of_any_form_become_rows(tmp_path: Path, form: str) -> None:
    given, wanted = HITS[form]
    row = logged(tmp_path, lambda log: log.record("who pays?", given))
    assert row["hits"] == wanted
    assert row_fault(row) == ""


FIELDS_OF_HITS = {
    **dict.fromkeys(("doc_id", "document_id", "id", "node_id"), st.sampled_from(["a", "two words", 7])),
    **dict.fromkeys(("text", "content", "page_content"), st.sampled_from(["a text", "", 5])),
    **dict.fromkeys(("score", "similarity"), st.sampled_from([0.5, 1, True, "0.5", np.float32(0.25)])),
    **dict.fromkeys(("start", "start_index", "end", "end_index"), st.integers(0, 9) | st.just("3")),
    "rank": st.integers(1, 3),
}
METADATA = st.fixed_dictionaries({}, optional={**FIELDS_OF_HITS, "source": st.just("f")})


@given(st.fixed_dictionaries({}, optional=FIELDS_OF_HITS | {"metadata": st.none() | METADATA}), st.booleans())
def test_usual_hits_become_the_rows_that_the_targets_of_an_evaluation_see(fields: dict[str, Any], paired: bool) -> None:
    hits = [({**fields}, 0.125) if paired else {**fields}]
    try:
        (wanted,) = hits_of(hits, "ids")
    except TargetError:
        with pytest.raises(TargetError):
            hit_rows(hits)
        return
    (row,) = hit_rows(hits)
    empty = {"doc_id": None, "text": None, "score": None, "start": None, "end": None, "metadata": {}}
    assert empty | {name: value for name, value in row.items() if value is not None} == asdict(wanted)


def test_what_the_caller_changes_afterwards_does_not_change_the_log(tmp_path: Path) -> None:
    hits, versions = [{"doc_id": "d1", "metadata": {"year": 1}}], {"prompt": "1"}

    def write(log: wb.QueryLog) -> None:
        log.record("who pays?", hits, versions=versions)
        hits[0]["metadata"]["year"] = 2
        hits.clear()
        versions["prompt"] = "2"

    row = logged(tmp_path, write)
    assert row["hits"] == [{"doc_id": "d1", "metadata": {"year": 1}}]
    assert row["versions"] == {"prompt": "1"}


def test_values_that_json_lacks_are_written_as_text_or_null(tmp_path: Path) -> None:
    metadata = {"day": date(2026, 1, 2), "id": uuid.UUID(int=1), "path": Path("a"), "vector": np.ones(2), "object": object(), 5: "five"}
    row = logged(tmp_path, lambda log: log.record("who pays?", [{"doc_id": "d1", "metadata": metadata}], turn=np.int64(3)))
    written = {"day": "2026-01-02", "id": str(uuid.UUID(int=1)), "path": "a", "vector": [1.0, 1.0], "object": None, "5": "five"}
    assert row["hits"][0]["metadata"] == written
    assert row["turn"] == 3


def test_users_and_sessions_are_hashed_with_the_salt(tmp_path: Path) -> None:
    def hashed(salt: str | bytes, name: str) -> tuple[str, str]:
        row = logged(tmp_path / name, lambda log: log.record("q", user="ann", session=12), salt=salt)
        return row["user"], row["session"]

    first = hashed("secret", "a")
    assert first == hashed(b"secret", "b")
    assert set(first).isdisjoint(hashed("other", "c"))
    assert all(len(value) == 32 and "ann" not in value for value in first)
    plain = logged(tmp_path / "d", lambda log: log.record("q", user="ann", session=12))
    assert (plain["user"], plain["session"]) == ("ann", "12")


def test_feedback_names_the_question(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    question = log.record("who pays?")
    log.feedback(question, value=-1)
    log.feedback(question, "edit", text="we do")
    log.close()
    row, *feedback = lines(tmp_path)
    assert [line["id"] for line in feedback] == [row["id"]] * 2 == [question] * 2
    assert [row_fault(line, FEEDBACK) for line in feedback] == ["", ""]
    assert [(given["kind"], given["value"], given["text"]) for line in feedback for given in line["feedback"]] == [
        ("thumb", -1, None),
        ("edit", None, "we do"),
    ]


def without_secret(row: dict[str, Any]) -> dict[str, Any] | None:
    text = json.dumps(row)
    if "drop" in text:
        return None
    if "fail" in text:
        raise ValueError(text)
    changed: dict[str, Any] = json.loads(text.replace("secret", "[removed]"))
    return changed


def test_the_redaction_hook_changes_or_drops_every_line(tmp_path: Path, warned: list[logging.LogRecord]) -> None:
    log = wb.QueryLog(tmp_path, redact=without_secret)
    question = log.record("a secret", [wb.Hit(wb.Document("d1", "secret text"), 0, 6, 1, 1.0)])
    log.feedback(question, text="my secret")
    for text in ("drop", "fail with a secret"):
        log.record(text)
        log.feedback(question, text=text)
    log.close()
    assert log.lost == losses(tmp_path) == {"redacted": 2, "redaction": 2}
    assert "secret" not in "".join(path.read_text() for path in tmp_path.iterdir()) + str([record.getMessage() for record in warned])
    row, feedback, _ = lines(tmp_path)
    assert row["query"] == "a [removed]"
    assert row["hits"][0]["text"] == "[removed]"
    assert feedback["feedback"][0]["text"] == "my [removed]"


@pytest.mark.parametrize("hook", [lambda _: "no row", lambda _: {}, lambda row: row | {"answer": 5}, lambda row: row | {"user": object()}])
def test_a_row_that_the_hook_spoils_is_not_written(tmp_path: Path, hook: Callable[[Any], Any]) -> None:
    log = wb.QueryLog(tmp_path, redact=hook)
    log.record("who pays?")
    log.close()
    assert rows(tmp_path) == []
    assert losses(tmp_path) == {"redaction": 1}


def test_the_hook_cannot_change_what_belongs_to_the_caller(tmp_path: Path) -> None:
    metadata = {"name": "ann"}

    def clear(row: dict[str, Any]) -> dict[str, Any]:
        row["hits"][0]["metadata"].clear()
        return row

    row = logged(tmp_path, lambda log: log.record("q", [{"doc_id": "d1", "metadata": metadata}]), redact=clear)
    assert row["hits"] == [{"doc_id": "d1", "metadata": {}}]
    assert metadata == {"name": "ann"}


CIRCLE: dict[str, Any] = {}
CIRCLE["self"] = CIRCLE


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no attributes")

    def __str__(self) -> str:
        raise RuntimeError("no text")


WRONG: dict[str, Callable[[wb.QueryLog], object]] = {
    "no question": lambda log: log.record(),
    "a number": lambda log: log.record(5),  # type: ignore[arg-type]
    "an answer that is no text": lambda log: log.record("q", answer=["a"]),  # type: ignore[arg-type]
    "hits that are none": lambda log: log.record("q", hits=7),
    "hits in a circle": lambda log: log.record("q", [{"doc_id": "d", "metadata": CIRCLE}]),
    "a huge number": lambda log: log.record("q", turn=10**30),
    "another object": lambda log: log.record(Hostile(), hits=[Hostile()], user=Hostile(), id=Hostile()),  # type: ignore[arg-type]
    "versions that are a list": lambda log: log.record("q", versions=[1]),
    "a local time": lambda log: log.record("q", time="2026-11-27T08:00:00"),
    "feedback without an id": lambda log: log.feedback(""),
    "feedback with a text as value": lambda log: log.feedback("q1", value="good"),  # type: ignore[arg-type]
    "feedback of a hostile object": lambda log: log.feedback(Hostile()),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_counted_and_do_not_raise(tmp_path: Path, case: str, warned: list[logging.LogRecord]) -> None:
    log = wb.QueryLog(tmp_path, versions={"index": "1"})
    for _ in range(3):
        WRONG[case](log)
    log.close()
    assert log.lost == losses(tmp_path) == {"invalid": 3}
    assert len(warned) == 1
    assert rows(tmp_path) == []


def test_a_line_that_no_reader_takes_is_lost_and_counted(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    log.record("x" * 9_000_000)
    log.record("short")
    log.close()
    assert log.lost == {"invalid": 1}
    assert [row["query"] for row in LoggedQuestions(tmp_path).rows()] == ["short"]


def test_a_time_of_another_zone_is_logged_as_utc(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    for time in (datetime(2026, 11, 1, 12, tzinfo=timezone(timedelta(hours=9))), "2026-11-01T05:00:00+02:00"):
        log.record("q", time=time)
    log.close()
    assert [row["time"] for row in LoggedQuestions(tmp_path).rows()] == ["2026-11-01T03:00:00Z"] * 2


def test_half_of_a_surrogate_pair_is_a_question_mark_wherever_it_is(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path, versions={"index\ud800": "1\udfff"}, configuration="c\ud800", head=0.999999999)
    hits = [{"doc_id": "d\ud800", "text": "t\udc00", "metadata": {"k\ud800": ["v\ud800"]}}]
    first = log.record("q \ud800 😀", hits, "a\ud800", id="id\ud800", session="s\ud800", user="u\ud800", model="m\udc00")
    log.feedback("id\ud800", "edit", text="b\ud800")
    log.close()
    assert not log.lost
    assert first == "id?"
    (row,) = LoggedQuestions(tmp_path).rows()
    assert (row["query"], row["answer"], row["session"], row["model"]) == ("q ? 😀", "a?", "s?", "m?")
    assert (row["versions"], row["configuration"]) == ({"index?": "1?"}, "c?")
    assert row["hits"] == [{"doc_id": "d?", "text": "t?", "metadata": {"k?": ["v?"]}}]
    assert row["feedback"][0]["text"] == "b?"


def test_lost_records_of_different_causes_are_counted_apart_in_the_log(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    for text in ("", "", 5, "q"):
        log.record(text, probability=2 if text == "q" else None)  # type: ignore[arg-type]
    log.close()
    assert log.lost == {"invalid": 4}
    found = LoggedQuestions(tmp_path)
    assert not [*found.rows()]
    causes = {reason: tally.number for reason, tally in found.counts.lost.items()}
    assert sorted(causes.values()) == [1, 1, 2]
    assert all(cause.startswith("invalid: ") for cause in causes)


@pytest.mark.parametrize(
    "hits",
    [{"error": "a secret"}, [{"a secret": [1]}], [SimpleNamespace(secret=[1])], [{"secret" * 500_000: [1]}], "a secret", {"secret": []}],
)
def test_no_cause_repeats_what_the_service_gave(tmp_path: Path, warned: list[logging.LogRecord], hits: Any) -> None:
    log = wb.QueryLog(tmp_path, redact=lambda _: None)
    log.record("q", hits=hits)
    with log.question("q") as question:
        question.hits(hits)
    log.watch(lambda _: 7 if isinstance(hits, str) else hits)("q")
    log.close()
    assert log.lost["invalid"] == 1
    assert "secret" not in str(lines(tmp_path)) + str([record.getMessage() for record in warned])
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1_000


MANY: dict[str, Callable[[], Any]] = {
    "a list": lambda: [{"id": "a"}] * 1_200,
    "a tuple": lambda: ("a",) * 1_200,
    "an iterator": lambda: iter(["a"] * 1_200),
    "a table": lambda: pd.DataFrame({"doc_id": ["a"] * 1_200}),
    "scores": lambda: {str(number): 0.5 for number in range(1_200)},
    "in a mapping": lambda: {"hits": ["a"] * 1_200},
}


@pytest.mark.parametrize("form", MANY)
def test_of_many_hits_the_first_are_logged_and_the_others_counted(tmp_path: Path, form: str) -> None:
    log = wb.QueryLog(tmp_path)
    log.record("q", hits=MANY[form](), sources=MANY[form]())
    log.record("q", hits=["a"] * 1_000)
    log.close()
    assert [len(row["hits"]) for row in rows(tmp_path)] == [1_000, 1_000]
    assert len(rows(tmp_path)[0]["sources"]) == 1_000
    assert losses(tmp_path) == {"hits": 2}


def test_hits_beyond_those_that_are_logged_are_not_read(tmp_path: Path) -> None:
    read = []

    class Counted:
        def __getattr__(self, name: str) -> Any:
            read.append(name)
            raise AttributeError(name)

    log = wb.QueryLog(tmp_path)
    log.record("q", hits=[*["d"] * 1_001, Counted()])
    log.watch(lambda _: SimpleNamespace(answer="a", sources=[*["d"] * 1_001, Counted()]))("q")
    log.close()
    assert read == []
    assert losses(tmp_path) == {"hits": 2}


def test_an_id_that_has_no_text_is_replaced(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path)
    ids = [log.record("q", id=10**5000), log.question("q", id=10**5000).id]
    with log.question("q") as question:
        question.set(id=10**5000)
        ids.append(question.id)
    log.feedback(10**5000)  # type: ignore[arg-type]
    log.close()
    assert all(len(given) == 32 for given in ids)
    assert [row["id"] for row in rows(tmp_path)] == [ids[0], ids[2]]
    assert log.lost == {"invalid": 1}


def test_an_unknown_field_is_written_with_one_warning(tmp_path: Path, warned: list[logging.LogRecord]) -> None:
    log = wb.QueryLog(tmp_path)
    for _ in range(3):
        log.record("q", anwser="a")
    log.close()
    assert [row["anwser"] for row in rows(tmp_path)] == ["a"] * 3
    assert [record.getMessage() for record in warned] == ["the query log: anwser is no field that a reader knows; said once"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": 0}, "head is 0; give a number above 0 and at most 1"),
        ({"head": 1.5}, "head is 1.5; give a number"),
        ({"head": float("nan")}, "head is nan; give a number"),
        ({"head": "half"}, "head is 'half'; give a number"),
        ({"head": None}, "head is None; give a number"),
        ({"salt": ""}, "salt is '…'; give a text with a letter"),
        ({"salt": 5}, "salt is '…'; give a text"),
        ({"versions": "v"}, "versions is 'v'; give an object of texts"),
        ({"configuration": 5}, "configuration is 5; give a text"),
        ({"redact": "x" * 1000}, "redact is 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…; give a function of a row"),
        ({"tail": 3}, "tail is 3; give a function of a row"),
        ({"versions": {"index": 7}}, "versions is {'index': 7}; give an object of texts"),
        ({"cost": "2"}, "cost is '2'; give a number"),
        ({"config": "c"}, "QueryLog has no argument 'config' (did you mean 'configuration'?)"),
        ({"query": "q"}, "QueryLog has no argument 'query'"),
        ({"tial": 3}, "QueryLog has no argument 'tial' (did you mean 'tail'?)"),
        ({"flush_seconds": "x"}, "QueryLog has no argument 'flush_seconds'"),
        ({"path": 5}, "path is 5; give a folder"),
    ],
)
def test_a_wrong_setting_is_an_error_of_one_line(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        wb.QueryLog(**{"path": tmp_path, **settings})
    assert str(raised.value).startswith(message)
    assert raised.value.lines == [str(raised.value)]


def test_fields_of_the_log_are_in_each_line_and_those_of_a_question_come_first(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path, salt="s", versions={"index": "1", "prompt": "2"}, configuration="live", model="m", user="team")
    log.record("q")
    log.record("q", model="n", versions={"prompt": "3"}, configuration=None)
    log.feedback("q1")
    log.close()
    first, second, feedback = lines(tmp_path)
    assert (first["versions"], first["configuration"], first["model"]) == ({"index": "1", "prompt": "2"}, "live", "m")
    assert (second["versions"], second["configuration"], second["model"]) == ({"index": "1", "prompt": "3"}, "live", "n")
    assert first["user"] == second["user"] != "team"
    assert feedback.keys() == {"id", "feedback"}


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        wb.QueryLog(tmp_path / "log")


@pytest.mark.slow
def test_weighted_counts_of_a_sampled_log_are_unbiased(tmp_path: Path) -> None:
    """In conversations of 1 to 6 turns, of which a third of the answers are slow and always kept."""
    counts: dict[str, list[float]] = {"all": [], "slow": [], "fast": [], "unweighted": []}
    for draw in range(150):
        chance = random.Random(draw)
        log = wb.QueryLog(tmp_path / str(draw), head=0.2, tail=lambda row: row["seconds"] > 2)
        asked = []
        for session in range(60):
            for turn in range(chance.randint(1, 6)):
                asked.append(chance.choice([1.0, 1.5, 3.0]))
                log.record("q", session=f"{draw} {session}", turn=turn + 1, seconds=asked[-1])
        log.close()
        found = rows(tmp_path / str(draw))
        assert {row["probability"] for row in found if row["seconds"] > 2} == {1}
        assert {row["probability"] for row in found if row["seconds"] < 2} <= {0.2}
        for name, kinds in {"all": {1.0, 1.5, 3.0}, "slow": {3.0}, "fast": {1.0, 1.5}}.items():
            weighted = sum(1 / row["probability"] for row in found if row["seconds"] in kinds)
            counts[name].append(weighted / sum(seconds in kinds for seconds in asked) - 1)
        counts["unweighted"].append(len(found) / len(asked) - 1)
    assert set(counts["slow"]) == {0.0}
    for name in ("all", "fast"):
        error = np.std(counts[name], ddof=1) / np.sqrt(len(counts[name]))
        assert error < 0.05
        assert abs(np.mean(counts[name])) < 3.5 * error
    assert np.mean(counts["unweighted"]) < -0.3


def test_a_conversation_is_kept_or_left_out_as_a_whole_in_every_process(tmp_path: Path) -> None:
    def kept(name: str, **settings: Any) -> set[str]:
        log = wb.QueryLog(tmp_path / name, head=0.5, **settings)
        for session in range(100):
            for _ in range(4):
                log.record("q", session=f"s{session}")
        log.close()
        turns = [row["session"] for row in rows(tmp_path / name)]
        assert all(turns.count(session) == 4 for session in set(turns))
        return set(turns)

    assert kept("a") == kept("b")
    assert 25 < len(kept("c")) < 75
    assert 25 < len(kept("d", salt="secret")) < 75


def test_questions_without_a_session_are_drawn_one_by_one(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path, head=0.25)
    for _ in range(800):
        log.record("q")
    log.close()
    assert 140 < len(rows(tmp_path)) < 260
    assert log.lost == {}


def test_a_tail_that_fails_keeps_its_rows_with_probability_one(tmp_path: Path, warned: list[logging.LogRecord]) -> None:
    log = wb.QueryLog(tmp_path, head=1e-9, tail=lambda row: row["missing"])
    for _ in range(5):
        log.record("q")
    log.close()
    assert [row["probability"] for row in rows(tmp_path)] == [1.0] * 5
    assert len(warned) == 1
    assert warned[0].levelno == logging.WARNING


def test_importing_it_loads_no_heavy_package(run_python: Callable[..., str], tmp_path: Path) -> None:
    script = (
        "import sys\nimport workbench as wb\nimport workbench.monitor.log.asgi\nlog = wb.QueryLog(sys.argv[1]); log.record('q', ['d1'])\n"
        "print(*set('numpy pandas scipy torch pyarrow chromadb transformers sentence_transformers matplotlib'.split()) & {*sys.modules})"
    )
    assert run_python(script, tmp_path) == ""
