"""The settings of a service, and secrets, which appear nowhere."""

import json
import traceback

import pytest

from tests.systems.http.sessions import ANSWER, SEARCH, answered, failure, searched, target_of
from workbench.core.environment import is_local
from workbench.core.errors import InputError
from workbench.systems.http.target import HttpTarget
from workbench.systems.registry import TARGETS

URL = "http://localhost:8000"
KEY = "sk-very-secret-key"


def test_the_registry_has_the_target():
    assert TARGETS["http"] is HttpTarget


def test_a_fault_of_the_settings_is_one_line(wording):
    cases = [
        {},
        {"ingest": {"body": "{text}"}},
        {"search": {"body": "{query}"}},
        {"answer": {"body": "{query}"}},
        {"search": {**SEARCH, "body": {"q": "cats"}}},
        {"search": {**SEARCH, "body": {"q": "{qeury}"}}},
        {"search": {**SEARCH, "body": {"q": "{query}", "c": "{context}"}}},
        {"search": {**SEARCH, "method": "GET"}},
        {"preset": "query", "ingest": {"body": {"a": 1}}},
        {"preset": "query", "ingest": {"body": {"a": "{text}", "b": "{doc_ids}"}}},
        {"preset": "query", "remove": {"url": "documents/{text}"}},
        {"preset": "query", "url": "localhost:8000"},
        {"preset": "query", "url": "ftp://localhost"},
        {"preset": "query", "url": "http://localhost:port"},
        {"preset": "query", "url": "http://{query}.example"},
        {"preset": "qury"},
        {"preset": "query", "headers": {"a b": "c"}},
        {"preset": "query", "headers": {"x-a": "b\r\nc: d"}},
        {"preset": "query", "headers": {"Content-Length": "3"}},
    ]
    wording(lambda settings: HttpTarget(**{"name": "service", "url": URL, **settings}), cases)
    with pytest.raises(InputError, match=r"is no JSONPath such as \$\.results\[\*\]\.id"):
        HttpTarget(name="service", url=URL, search={**SEARCH, "reply": {"hits": "$.results[", "id": "id"}})


def test_an_unknown_key_of_a_block_is_named_with_its_block():
    with pytest.raises(InputError) as caught:
        HttpTarget(name="a", url=URL, search={**SEARCH, "uri": "search"})
    assert str(caught.value) == "HttpTarget has no parameter 'search.uri'"


def test_a_secret_in_the_settings_is_refused_and_not_repeated():
    for settings in [
        {"url": f"http://me:{KEY}@localhost:8000"},
        {"url": f"http://localhost:8000?api_key={KEY}"},
        {"headers": {"Authorization": f"Bearer {KEY}"}},
        {"headers": {"x-api-key": KEY}},
        {"headers": {"cookie": KEY}},
        {"headers_env": {"authorization": f"Bearer {KEY}"}},
        {"headers_env": {"x-api-key": KEY}},
        {"preset": None, "search": {**SEARCH, "headers": {"x-api-key": KEY}}},
        {"preset": None, "search": {**SEARCH, "params": {"api_key": KEY}}},
        {"preset": None, "search": {**SEARCH, "body": {"query": "{query}", "user": [{"api_key": f"{KEY}-1"}]}}},
        {"preset": None, "search": {**SEARCH, "url": f"http://me:{KEY}@localhost:8000"}},
    ]:
        with pytest.raises(InputError) as caught:
            HttpTarget(**{"name": "service", "url": URL, "preset": "query", **settings})
        assert KEY not in "".join(traceback.format_exception(caught.value, chain=True)).split("InputError")[-1], settings
        assert "headers_env" in str(caught.value), settings


def test_a_missing_variable_is_an_error_before_any_request(monkeypatch, service):
    target = target_of(service, preset="query", headers_env={"authorization": "Bearer {SERVICE_KEY}"})
    for value in (None, "", "  "):
        if value is None:
            monkeypatch.delenv("SERVICE_KEY", raising=False)
        else:
            monkeypatch.setenv("SERVICE_KEY", value)
        with pytest.raises(InputError, match="the target service needs the environment variable SERVICE_KEY, which is not set"):
            target.check()
    with pytest.raises(InputError, match="SERVICE_KEY"):
        answered(target)
    monkeypatch.setenv("SERVICE_KEY", f"{KEY}\nx: y")
    with pytest.raises(InputError, match="has characters that cannot be sent in a header") as caught:
        target.check()
    assert KEY not in str(caught.value)
    assert service.requests == []


def test_the_value_of_a_variable_is_sent_and_appears_nowhere_else(monkeypatch, service):
    monkeypatch.setenv("SERVICE_KEY", KEY)
    target = target_of(
        service, search={**SEARCH, "headers_env": {"x-key": "SERVICE_KEY"}}, headers_env={"authorization": "Bearer {SERVICE_KEY}"}
    )
    searched(target)
    assert (service.headers[0]["authorization"], service.headers[0]["x-key"]) == (f"Bearer {KEY}", KEY)
    service.faults = [{"status": 400, "message": f"wrong key {KEY}, or {KEY[:12]}"}, {"raw": f'{{"{KEY}": 1}}'.encode()}]
    for error in (failure(target), failure(target)):
        assert KEY[:12] not in "".join(traceback.format_exception(error, chain=True))
    shown = [
        repr(target),
        target._repr_html_(),
        json.dumps(target.identity()),
        json.dumps(target.settings()),
        json.dumps(target.recorded_settings()),
    ]
    assert not any(KEY in text for text in shown)
    assert all("SERVICE_KEY" in text for text in shown)


def test_plain_headers_are_sent_with_every_request_and_a_block_has_its_own(service):
    target = target_of(service, headers={"x-tenant": "a", "x-v": "1"}, search={**SEARCH, "headers": {"x-v": "2"}}, answer=ANSWER)
    searched(target)
    answered(target)
    assert [(headers["x-tenant"], headers["x-v"]) for headers in service.headers] == [("a", "2"), ("a", "1")]


def test_no_variable_of_the_environment_leads_requests_elsewhere(monkeypatch, service, new_service):
    proxy = new_service()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.host)
    searched(target_of(service, search=SEARCH))
    assert (len(service.requests), len(proxy.requests)) == (1, 0)


def test_the_identity_changes_with_what_is_asked_and_read_only():
    first = HttpTarget(name="a", url=URL, search=SEARCH)
    same = HttpTarget(name="b", url=URL, search=SEARCH, timeout=1, concurrency=1, retries=0, canary="cats")
    assert json.dumps(first.identity(), sort_keys=True) == json.dumps(same.identity(), sort_keys=True)
    others = [
        {"search": {**SEARCH, "body": {"question": "{query}"}}},
        {"search": {**SEARCH, "reply": {"hits": "$.results", "id": "id"}}},
        {"search": SEARCH, "url": f"{URL}/v2"},
        {"search": SEARCH, "revision": "2"},
        {"search": SEARCH, "k": 3},
        {"search": SEARCH, "headers": {"x-tenant": "b"}},
    ]
    identities = [json.dumps(HttpTarget(**{"name": "a", "url": URL, **other}).identity(), sort_keys=True) for other in others]
    assert len({json.dumps(first.identity(), sort_keys=True), *identities}) == 1 + len(others)


def test_equal_targets_have_equal_hashes_whatever_the_order_of_their_keys():
    one, other = (HttpTarget(name="a", url=URL, search=dict(items)) for items in (SEARCH.items(), reversed(SEARCH.items())))
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, HttpTarget(name="b", url=URL, search=SEARCH)}) == 2


def test_settings_survive_a_round_trip():
    target = HttpTarget(
        name="a",
        url=URL,
        preset="openai-chat",
        model="m",
        search=SEARCH,
        answer={"reply": {"text": "$.t", "degraded": [{"path": "$.m", "in": ["x"]}]}},
        ingest={"body": {"d": "{documents}"}, "ready": {"url": "state", "path": "$.n", "equals": 3}},
    )
    for settings in (target.settings(), target.recorded_settings(), json.loads(json.dumps(target.settings()))):
        again = HttpTarget(**settings)
        assert json.dumps(again.identity(), sort_keys=True) == json.dumps(target.identity(), sort_keys=True)


def test_what_a_target_can_do_follows_from_its_settings():
    both = HttpTarget(
        name="a", url=URL, preset="query", search={}, answer={"body": {"q": "{query}", "c": "{context}"}}, ingest={"body": "{text}"}
    )
    assert (both.searches, both.answers, both.takes_context, both.ingests, both.gives_text) == (True, True, True, True, True)
    ids = HttpTarget(name="a", url=URL, search={**SEARCH, "reply": {"hits": "$.results", "id": "doc_id"}})
    assert (ids.searches, ids.answers, ids.takes_context, ids.ingests, ids.gives_text) == (True, False, False, False, False)


def test_only_localhost_and_addresses_of_the_loopback_are_local() -> None:
    assert all(map(is_local, ("http://localhost:80/a", "http://127.0.0.1", "http://127.8.8.8/", "http://[::1]:5")))
    others = (
        "http://evil.localhost",
        "http://localhost.evil.com",
        "http://0.0.0.0",
        "http://10.0.0.1",
        "http://localhost@evil.com",
        "http:///a",
    )
    assert not any(map(is_local, others))
