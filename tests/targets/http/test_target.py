"""The settings of a service, and secrets, which appear nowhere."""

import json
import traceback

import pytest

from tests.targets.http.sessions import ANSWER, SEARCH, answered, failure, searched, target_of
from workbench.errors import InputError
from workbench.targets.http.target import HttpTarget
from workbench.targets.registry import TARGETS

URL = "http://localhost:8000"
KEY = "sk-very-secret-key"


def test_the_registry_has_the_target():
    assert TARGETS["http"] is HttpTarget


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "give search, answer or preset: what the service can do"),
        ({"ingest": {"body": "{text}"}}, "give search, answer or preset: what the service can do"),
        ({"search": {"body": "{query}"}}, "search: reply is missing: where the reply has the hits"),
        ({"answer": {"body": "{query}"}}, "answer: reply is missing: where the reply has the answer"),
        ({"search": {**SEARCH, "body": {"q": "cats"}}}, "search: {query} is nowhere in url, params or body"),
        ({"search": {**SEARCH, "body": {"q": "{qeury}"}}}, "search: no slot {qeury} (did you mean 'query'?)"),
        ({"search": {**SEARCH, "body": {"q": "{query}", "c": "{context}"}}}, "search: no slot {context}"),
        ({"search": {**SEARCH, "method": "GET"}}, "search: a GET request has no body; write params"),
        ({"preset": "query", "ingest": {"body": {"a": 1}}}, "ingest: no slot of a document, such as {doc_id}"),
        (
            {"preset": "query", "ingest": {"body": {"a": "{text}", "b": "{doc_ids}"}}},
            "ingest: the template mixes slots of one document and of many",
        ),
        ({"preset": "query", "remove": {"url": "documents/{text}"}}, "remove: no slot {text}"),
        ({"preset": "query", "url": "localhost:8000"}, "is not an address such as http://localhost:8000/query"),
        ({"preset": "query", "url": "ftp://localhost"}, "is not an address such as http://localhost:8000/query"),
        ({"preset": "query", "url": "http://localhost:port"}, "is not an address such as http://localhost:8000/query"),
        ({"preset": "query", "url": "http://{query}.example"}, "has a slot in the name of the server"),
        ({"preset": "qury"}, "preset is 'qury', not 'openai-chat'"),
        ({"preset": "query", "headers": {"a b": "c"}}, "'a b' is no name of a header"),
        ({"preset": "query", "headers": {"x-a": "b\r\nc: d"}}, "the header x-a has characters that cannot be sent"),
        ({"preset": "query", "headers": {"Content-Length": "3"}}, "the header Content-Length is set by Workbench"),
        ({"search": {**SEARCH, "reply": {"hits": "$.results[", "id": "id"}}}, "is no JSONPath such as $.results[*].id"),
    ],
)
def test_a_fault_of_the_settings_is_one_line(settings, line):
    with pytest.raises(InputError) as caught:
        HttpTarget(**{"name": "service", "url": URL, **settings})
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_key_of_a_block_is_named_with_its_block():
    with pytest.raises(InputError) as caught:
        HttpTarget(name="a", url=URL, search={**SEARCH, "uri": "search"})
    assert str(caught.value) == "HttpTarget has no parameter 'search.uri'"


@pytest.mark.parametrize(
    "settings",
    [
        {"url": f"http://me:{KEY}@localhost:8000"},
        {"url": f"http://localhost:8000?api_key={KEY}"},
        {"headers": {"Authorization": f"Bearer {KEY}"}},
        {"headers": {"x-api-key": KEY}},
        {"headers": {"cookie": KEY}},
        {"headers_env": {"authorization": f"Bearer {KEY}"}},
        {"headers_env": {"x-api-key": KEY}},
        {"preset": None, "search": {**SEARCH, "headers": {"x-api-key": KEY}}},
        {"preset": None, "search": {**SEARCH, "params": {"api_key": KEY}}},
        {"preset": None, "search": {**SEARCH, "url": f"http://me:{KEY}@localhost:8000"}},
    ],
)
def test_a_secret_in_the_settings_is_refused_and_not_repeated(settings):
    with pytest.raises(InputError) as caught:
        HttpTarget(**{"name": "service", "url": URL, "preset": "query", **settings})
    assert KEY not in "".join(traceback.format_exception(caught.value, chain=True)).split("InputError")[-1]
    assert "headers_env" in str(caught.value)


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
