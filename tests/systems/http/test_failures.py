"""Services that are absent, slow, broken or something else: one line each, and no answer made up."""

import asyncio
import json
import time

import pytest

from tests.loopback import closed_port
from tests.systems.http.service import HITS
from tests.systems.http.sessions import ANSWER, QUERY, SEARCH, answered, failure, in_session, searched, target_of
from workbench.systems.base import System, TargetDownError, TargetError


def reason(target) -> str:
    """Return the error without the address that precedes it."""
    line = str(failure(target))
    address, _, line = line.partition(": ")
    assert address == f"POST {target.url}/{'search' if target.searches else 'answer'}"
    return line


def test_an_absent_service_is_named():
    target = target_of(f"http://127.0.0.1:{closed_port()}", search=SEARCH)
    assert reason(target) == "no connection (All connection attempts failed); is the service running? (2 tries)"


def test_a_service_that_hangs_ends_at_the_time_limit(service):
    service.faults, service.lasting = [{"hang": True}], True
    assert reason(target_of(service, search=SEARCH, timeout=2)) == "no complete reply within 2 seconds"


def test_a_service_that_drips_bytes_ends_at_the_time_limit(service):
    service.faults, service.lasting = [{"drip": 0.02}], True
    assert reason(target_of(service, search=SEARCH, timeout=2)) == "no complete reply within 2 seconds"


def test_the_time_limit_names_what_happened_before(service):
    service.faults = [{"status": 503, "message": "busy", "headers": {"retry-after": "0"}}, {"hang": True}]
    assert reason(target_of(service, search=SEARCH, timeout=2)) == "no complete reply within 2 seconds; before that, status 503: busy"


def test_the_caller_can_end_a_request_and_the_session_still_works(service):
    service.faults = [{"hang": True}]

    async def use(session: System) -> int:
        hanging = asyncio.ensure_future(session.search(QUERY, 3))
        while not service.requests:
            await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hanging, 0.05)
        return len(await session.search(QUERY, 3))

    assert in_session(target_of(service, search=SEARCH), use) == len(HITS)


def test_a_service_that_dies_midway_is_asked_again(service):
    service.faults = [{"cut": b'{"results": ['}]
    assert len(searched(target_of(service, search=SEARCH))) == len(HITS)
    service.faults, service.lasting = [{"cut": b'{"results": ['}], True
    assert reason(target_of(service, search=SEARCH)) == "the connection broke before the reply was complete (RemoteProtocolError) (2 tries)"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_status_that_may_pass_is_tried_again(service, status):
    service.faults = [{"status": status, "headers": {"retry-after": "0"}}]
    assert len(searched(target_of(service, search=SEARCH))) == len(HITS)
    service.faults, service.lasting = [{"status": status, "message": "busy", "headers": {"retry-after": "0"}}], True
    assert reason(target_of(service, search=SEARCH)) == f"status {status}: busy (2 tries)"


def test_the_time_that_a_service_names_is_waited_for(service):
    service.faults = [{"status": 429, "headers": {"retry-after": "1"}}]
    started = time.perf_counter()
    searched(target_of(service, search=SEARCH))
    assert time.perf_counter() - started >= 1


@pytest.mark.parametrize("seconds", ["30", "600"])
def test_a_wait_beyond_the_time_limit_is_not_waited_for(service, seconds):
    service.faults, service.lasting = [{"status": 503, "message": "busy", "headers": {"retry-after": seconds}}], True
    assert reason(target_of(service, search=SEARCH)) == f"status 503: busy (1 try; it asks to wait {seconds} seconds)"
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 405, 422])
def test_a_refused_request_is_not_repeated_and_has_the_servers_words(service, status):
    service.faults = [{"status": status, "message": "no \x1b[31m such\nthing " + "x" * 1000}]
    line = reason(target_of(service, search=SEARCH))
    assert line.startswith(f"status {status}: no \\x1b[31m such thing xxx")
    assert len(line) < 250
    assert len(service.requests) == 1


def test_fastapis_faults_name_the_field(service):
    detail = [{"type": "missing", "loc": ["body", "question"], "msg": "Field required"}]
    service.faults = [{"status": 422, "content": json.dumps({"detail": detail}).encode()}]
    assert "'question'], 'msg': 'Field required'" in reason(target_of(service, search=SEARCH))


def test_a_refused_key_stops_everything(service):
    service.faults = [{"status": 401, "message": "who are you?"}]
    error = failure(target_of(service, search=SEARCH))
    assert isinstance(error, TargetDownError)
    assert str(error).endswith("status 401: who are you?; check headers_env")


def test_a_redirect_is_not_followed_and_names_the_address(service, new_service):
    other = new_service()
    service.faults = [{"status": 307, "headers": {"location": f"{other.host}/search"}}]
    expected = f"status 307 redirects to {other.host}/search, which is not followed; write the final address as url"
    assert reason(target_of(service, search=SEARCH)) == expected
    assert other.requests == []


@pytest.mark.parametrize("location", [{}, {"location": ""}])
def test_a_redirect_without_an_address_is_one_line(service, location):
    service.faults = [{"status": 302, "headers": location}]
    expected = "status 302 redirects without an address (no Location), which is not followed; write the final address as url"
    assert reason(target_of(service, search=SEARCH)) == expected


@pytest.mark.parametrize(
    "location", ["/elsewhere", "file:///etc/passwd", "http://[", "http://a:99999999999/", "//", "http://b.example/\x1b[31m"]
)
def test_a_redirect_to_anything_is_one_line(service, location):
    service.faults = [{"status": 302, "headers": {"location": location}}]
    shown = location.replace("\x1b", "\\x1b")
    expected = f"status 302 redirects to {shown}, which is not followed; write the final address as url"
    assert reason(target_of(service, search=SEARCH)) == expected
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [300, 304, 305, 399])
def test_a_status_that_is_no_redirect_is_named(service, status):
    service.faults = [{"status": status, "headers": {"location": "/a"}, "message": "so", "raw": b""}]
    assert reason(target_of(service, search=SEARCH)).startswith(f"status {status}")


def test_a_reply_that_has_no_hits_is_one_line_and_not_repeated(service, wording):
    def reason_of(fault):
        service.faults = [fault]
        return reason(target_of(service, search=SEARCH))

    faults = [
        {"raw": b"<html><title>Sign in</title></html>", "headers": {"content-type": "text/html"}},
        {"raw": b"cats, dogs", "headers": {"content-type": "text/plain"}},
        {"raw": b"\xff\xfe\x00"},
        {"raw": b""},
        {"raw": b"[" * 100_000},
        {"raw": b'{"results": 3}'},
        {"raw": b'{"hits": []}'},
        {"raw": b'{"results": [{"doc_id": null, "text": null}]}'},
        {"raw": b" " * (16 * 2**20 + 1)},
        {"raw": b"{}", "headers": {"content-encoding": "gzip"}},
    ]
    wording(reason_of, faults, None)
    assert len(service.requests) == len(faults)


def test_an_error_in_a_reply_of_success_is_that_error(service):
    limited = {"raw": json.dumps({"error": {"message": "rate limit reached", "code": 429}}).encode(), "headers": {"retry-after": "0"}}
    service.faults = [limited]
    assert len(searched(target_of(service, search=SEARCH))) == len(HITS)
    service.faults = [limited] * 2
    assert reason(target_of(service, search=SEARCH)) == "the reply is an error: rate limit reached (2 tries)"
    asked = len(service.requests)
    service.faults = [{"raw": b'{"error": "no such collection"}'}]
    assert reason(target_of(service, search=SEARCH)) == "the reply is an error: no such collection"
    assert len(service.requests) == asked + 1
    # No hits beside an error are the error, and beside a message nothing found.
    for found in ([], None):
        service.faults = [{"raw": json.dumps({"results": found, "error": "backend down"}).encode()}]
        assert reason(target_of(service, search=SEARCH)) == "the reply is an error: backend down"
    service.faults = [{"raw": json.dumps({"results": [], "message": "no results"}).encode()}]
    assert len(searched(target_of(service, search=SEARCH))) == 0
    # Hits beside a field of that name are hits.
    service.replies["/search"] = {"results": HITS, "error": "one shard was slow"}
    assert len(searched(target_of(service, search=SEARCH))) == len(HITS)


# Replies with the status 200 that declare an error, its text, and how often they are asked for.
DECLARED = [
    ({"status": "error", "message": "Rate limit exceeded", "answer": ""}, "Rate limit exceeded", 2),
    ({"success": False, "message": "The model timed out", "answer": "", "sources": []}, "The model timed out", 2),
    ({"code": 429, "msg": "slow down", "answer": ""}, "slow down", 2),
    ({"answer": "Sorry, something went wrong.", "error": {"message": "slow down", "code": 429}}, "slow down", 2),
    ({"answer": '{"error": {"message": "Rate limit reached", "code": 429}}'}, "Rate limit reached", 2),
    ({"base_resp": {"status_code": 1002, "status_msg": "rpm"}, "answer": None}, "rpm", 2),
    ({"base_resp": {"status_code": 2013}, "answer": ""}, "status_code is 2013", 1),
    ({"data": {"error": "no such collection"}, "answer": ""}, "no such collection", 1),
    ({"answer": "", "detail": "no such collection"}, "no such collection", 1),
    ({"answer": "", "errorMessage": "no such collection", "sources": []}, "no such collection", 1),
    ({"answer": "", "code": 1, "sources": []}, "code is 1", 1),
    ({"isError": True, "answer": "no such collection"}, "isError is true", 1),
]
UNFOUND = [
    ({"results": [], "status": 503, "message": "index away"}, "index away", 2),
    ({"status": "error", "results": []}, 'status is "error"', 1),
    ({"results": None, "detail": "Internal server error"}, "Internal server error", 2),
    ({"results": [], "timed_out": True}, "timed_out is true", 2),
    ({"results": [], "errors": ["no such index"]}, "no such index", 1),
    ({"results": [], "message": "The index is unavailable"}, "The index is unavailable", 2),
    ({"results": [], "success": False}, "success is false", 1),
]


@pytest.mark.parametrize(
    ("path", "reply", "expected", "tries"), [("answer", *each) for each in DECLARED] + [("search", *each) for each in UNFOUND]
)
def test_a_reply_of_success_that_declares_an_error_is_that_error(service, monkeypatch, path, reply, expected, tries):
    monkeypatch.setattr("workbench.systems.http.session.back_off", lambda *_: 0)
    service.replies[f"/{path}"] = reply
    line = reason(target_of(service, **({"answer": ANSWER} if path == "answer" else {"search": SEARCH})))
    assert line == f"the reply is an error: {expected}{' (2 tries)' if tries == 2 else ''}"
    assert len(service.requests) == tries


@pytest.mark.parametrize(
    "beside",
    [
        {"status": "ok", "code": 0, "message": "done", "error": None},
        {"status": "success", "code": 200, "success": True, "errors": []},
        {"error": "", "status_code": 200, "error_code": 0, "errmsg": "ok"},
        {"error": {"code": None, "message": ""}, "base_resp": {"status_code": 0, "status_msg": "success"}, "detail": "two passages"},
        {"code": 20000, "msg": "success", "state": "completed", "timed_out": False},
    ],
)
def test_an_answer_beside_signs_of_success_is_an_answer(service, beside):
    service.replies["/answer"] = {"answer": "They purr.", **beside}
    assert answered(target_of(service, answer=ANSWER)).text == "They purr."
    service.replies["/search"] = {"results": [], **beside}
    assert searched(target_of(service, search=SEARCH)) == []


def test_a_code_beside_an_answer_is_a_part_of_it(service):
    service.replies["/answer"] = {"answer": "Press reset twice.", "code": 503}
    assert answered(target_of(service, answer=ANSWER)).text == "Press reset twice."


@pytest.mark.parametrize("fault", [{"raw": b"null"}, {"raw": b"{}"}, {"raw": b'{"results": []}'}, {"raw": b"", "status": 204}])
def test_a_reply_without_content_found_nothing(service, fault):
    service.faults = [fault]
    assert searched(target_of(service, search=SEARCH)) == []


def test_json_of_an_unknown_type_is_read(service):
    service.faults = [{"raw": json.dumps({"results": HITS}).encode(), "headers": {"content-type": "application/x-unheard-of"}}]
    assert len(searched(target_of(service, search=SEARCH))) == len(HITS)


def test_an_error_page_is_named_by_its_title(service):
    page = b"<html><head><title>502 Bad Gateway</title></head></html>"
    service.faults, service.lasting = [{"status": 502, "content": page}], True
    assert reason(target_of(service, search=SEARCH)) == "status 502: HTML ('502 Bad Gateway') (2 tries)"


def test_one_failed_question_leaves_the_others(service):
    service.faults = [{"status": 400}]

    async def use(session: System) -> list[bool]:
        outcomes = []
        for _ in range(3):
            try:
                await session.search(QUERY, 3)
                outcomes.append(True)
            except TargetError:
                outcomes.append(False)
        return outcomes

    assert in_session(target_of(service, search=SEARCH), use) == [False, True, True]


def test_a_degraded_answer_is_a_failure(service):
    service.replies["/answer"] = {"success": True, "answer": "An error occurred.", "method": "fallback"}
    block = {**ANSWER, "reply": {"text": "$.answer", "degraded": [{"path": "$.method", "in": ["fallback"]}]}}
    assert str(failure(target_of(service, answer=block))).endswith("the reply is marked as degraded: $.method is the text 'fallback'")
