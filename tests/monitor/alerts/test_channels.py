import hashlib
import hmac
import json
import os
import re
import socket
import threading
import time
from contextlib import suppress
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from tests.loopback import Loopback, LoopbackHandler, closed_port, serving
from tests.monitor.alerts.test_state import RAISED, SETTINGS, watch
from workbench.core.errors import RunError
from workbench.monitor.alerts.detect import AlertTest
from workbench.monitor.alerts.state import SIGNATURE, Alert, AlertState, Webhook, append_alert, content, deliver, prometheus, update

SECRET = "a secret of the webhook"


class Hook(LoopbackHandler):
    def answer(self, body, fault):
        return {"message": f"{SECRET} {self.path}"}


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    yield from serving(monkeypatch, lambda: Loopback(Hook))


@pytest.fixture
def alert():
    state, _ = update(AlertState(), watch(RAISED), SETTINGS)
    return state.alerts[0]


def hook(server, **settings):
    return Webhook(url=f"{server.host}/T0/path-of-the-hook", secret="HOOK_SECRET", **settings)


def test_an_alert_is_posted_with_a_signature_of_its_time_and_body(serve, alert) -> None:
    server = serve()
    hook(server)(alert)
    (headers,) = server.headers
    now, given = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", headers[SIGNATURE.lower()]).groups()
    assert abs(int(now) - time.time()) < 60
    assert given == hmac.new(SECRET.encode(), f"{now}.{json.dumps(server.asked[0])}".encode(), hashlib.sha256).hexdigest()
    (body,) = server.asked
    assert (body["alert"], body["status"], body["evidence"], body["text"]) == ("cost", "open", ["q1", "q2"], str(alert))


def test_a_server_that_fails_is_asked_again_and_then_the_alert_has_arrived(serve, alert) -> None:
    server = serve()
    server.faults = [{"status": 500}, {"status": 429, "headers": {"Retry-After": "0"}}]
    hook(server)(alert)
    assert len(server.asked) == 3


def test_tries_are_bounded_and_the_message_has_no_secret_and_no_path(serve, alert) -> None:
    server = serve()
    server.faults, server.lasting = [{"status": 503, "headers": {"Retry-After": "0"}}], True
    with pytest.raises(RunError) as error:
        hook(server, tries=3)(alert)
    assert str(error.value) == "the webhook at 127.0.0.1 answered 503; the next run sends the alert again"
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(serve, alert, status) -> None:
    server, other = serve(), serve()
    server.faults = [{"status": status, "headers": {"Location": f"{other.host}/stolen"}}]
    with pytest.raises(RunError, match=f"answered {status}"):
        hook(server)(alert)
    assert (len(server.asked), len(other.asked)) == (1, 0)


def test_a_request_that_is_refused_is_not_repeated(serve, alert) -> None:
    server = serve()
    server.faults = [{"status": 403}]
    with pytest.raises(RunError, match="answered 403"):
        hook(server)(alert)
    assert len(server.asked) == 1


def test_a_server_that_hangs_and_one_that_does_not_listen_are_given_up(serve, alert) -> None:
    server = serve()
    server.faults, server.lasting = [{"hang": True}], True
    with pytest.raises(RunError, match=r"did not answer [(]TimeoutError"):
        hook(server, timeout=0.2, tries=1)(alert)
    with pytest.raises(RunError, match=r"did not answer [(]ConnectError") as error:
        Webhook(url=f"http://127.0.0.1:{closed_port()}/T0/path-of-the-hook", secret="HOOK_SECRET", tries=2)(alert)
    assert "path-of-the-hook" not in str(error.value)
    assert error.value.__cause__ is None


def answering(first: bytes, then: bytes, pause: float) -> str:
    """Return the address of a server that sends some bytes, and then others again and again for at most 10 seconds."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        end = time.monotonic() + 10
        with suppress(OSError), listening, listening.accept()[0] as client:
            client.settimeout(10)
            client.recv(65_536)
            client.sendall(first)
            while then and time.monotonic() < end:
                client.sendall(then)
                time.sleep(pause)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/T0/path-of-the-hook"


def refused(url: str, alert: Alert, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the failure of a try of half a second, which must not take longer."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    began = time.monotonic()
    (failure,) = deliver(AlertState(alerts=(alert,)), {"webhook": Webhook(url=url, secret="HOOK_SECRET", timeout=0.5, tries=1)})[1]
    assert time.monotonic() - began < 5
    return failure


@pytest.mark.parametrize(
    ("first", "then", "pause"),
    [(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05), (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0), (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.05)],
)
def test_a_server_that_goes_on_sending_is_given_up_after_the_time_of_a_try(first, then, pause, alert, monkeypatch) -> None:
    failure = refused(answering(first, then, pause), alert, monkeypatch)
    assert failure == "webhook: the webhook at 127.0.0.1 did not answer (TimeoutError); the next run sends the alert again"


def test_the_body_of_an_answer_is_not_read_also_not_of_a_redirect(alert, monkeypatch) -> None:
    for status, pause in ((302, 0), (500, 0.05)):
        head = b"HTTP/1.1 %d X\r\nLocation: http://127.0.0.1:1/\r\n\r\n" % status
        assert f"answered {status}" in refused(answering(head, b"x" * 1000, pause), alert, monkeypatch)


@pytest.mark.parametrize("location", [b"\xff\xfe", b"http://[", "http://\u2100.com/".encode(), b"http://a:99999999999/", b"http://\x00"])
def test_the_location_of_a_redirect_is_not_parsed(location, alert, monkeypatch) -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location
    assert refused(answering(head, b"", 0), alert, monkeypatch).startswith("webhook: the webhook at 127.0.0.1 ")


@pytest.mark.reaches("alerts.example")
def test_proxies_of_the_environment_are_ignored(serve, alert, monkeypatch) -> None:
    monkeypatch.setenv("https_proxy", serve().host)
    # A proxy that was asked, and opens no tunnel, would be a ProxyError.
    with pytest.raises(RunError, match=r"did not answer [(]ConnectError[)]"):
        Webhook(url="https://alerts.example/a", hosts=("alerts.example",), secret="HOOK_SECRET", tries=1)(alert)


@pytest.mark.parametrize(
    ("url", "hosts", "allowed"),
    [
        ("http://localhost:80/a", (), True),
        ("http://[::1]/a", (), True),
        ("https://alerts.example.org/a", ("alerts.example.org",), True),
        ("https://alerts.example.org/a", (), False),
        ("http://alerts.example.org/a", ("alerts.example.org",), False),
        ("https://alerts.example.org.evil.example/a", ("alerts.example.org",), False),
        ("http://user:password@127.0.0.1/a", (), False),
        ("file:///etc/passwd", (), False),
    ],
)
def test_only_this_machine_and_named_hosts_get_alerts(url, hosts, allowed) -> None:
    if allowed:
        assert Webhook(url=url, secret="A", hosts=hosts).url == url
    else:
        with pytest.raises(ValidationError) as error:
            Webhook(url=url, secret="A", hosts=hosts)
        assert "password" not in str(error.value).replace("a user, a password", "")


def test_without_the_secret_nothing_is_sent(serve, alert, monkeypatch) -> None:
    server = serve()
    monkeypatch.delenv("HOOK_SECRET")
    state, failures = deliver(AlertState(alerts=(alert,)), {"webhook": hook(server), "file": lambda _: None})
    assert failures == ("webhook: the environment variable HOOK_SECRET is not set; set it to the secret of the webhook",)
    assert (server.asked, state.alerts[0].sent) == ([], {"file": "open"})
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    assert deliver(state, {"webhook": hook(server)})[1] == ()
    assert len(server.asked) == 1


def test_a_line_that_a_kill_has_cut_spoils_no_other(tmp_path, alert) -> None:
    path = tmp_path / "alerts.jsonl"
    for cut in (b"", b'{"id": "no_res', b'{"id": "x"}\n'):
        path.write_bytes(cut)
        append_alert(path, alert)
        append_alert(path, alert)
        assert path.read_bytes().splitlines() == [*cut.splitlines(), content(alert), content(alert)]


def test_a_file_gets_one_line_for_each_alert(tmp_path, alert) -> None:
    for _ in range(2):
        append_alert(tmp_path / "alerts.jsonl", alert)
    first, second = (tmp_path / "alerts.jsonl").read_bytes().splitlines()
    assert first == second == content(alert)
    assert json.loads(first)["id"] == alert.id


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_alerts_are_appended_to_a_regular_file_only(kind, tmp_path, alert) -> None:
    path, other = tmp_path / "alerts.jsonl", tmp_path / "commands"
    other.write_text("# precious")
    {"link": lambda: path.symlink_to(other), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[kind]()
    state, failures = deliver(AlertState(alerts=(alert,)), {"file": partial(append_alert, path)})
    assert failures == (f"file: {path} is a link, or not a regular file; move it away and run again",)
    assert (other.read_text(), state.alerts[0].sent) == ("# precious", {})


def test_the_parser_of_prometheus_reads_its_text_with_hostile_labels(alert) -> None:
    reason = 'a "quoted"\\ \nreason{x="1"} 2'
    found = watch(RAISED)._replace(tested=(AlertTest("cost", 7, 0.05), AlertTest("drift", 0)), left_out={reason: 3})
    text = prometheus(AlertState(alerts=(alert,)), found)
    families = list(text_string_to_metric_families(text))
    values = {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}
    assert values["workbench_alert_open", "cost"] == 1
    assert values["workbench_alert_open", "latency"] == 0
    assert values["workbench_alert_raised", "cost"] == 1
    assert values["workbench_alert_limit", "cost"] == 0.05
    assert values["workbench_alert_observations", "drift"] == 0
    assert values["workbench_left_out", reason] == 3
    assert {family.type for family in families} == {"gauge"}
    assert len(families) == 5
