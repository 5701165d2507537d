"""Remember alerts between runs over a growing log, and send them to a file, a webhook and Prometheus."""

import asyncio
import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.core.environment import is_local
from workbench.core.errors import InputError, RunError, WorkbenchError
from workbench.core.files import append_lines, read_regular, store_errors, write_text
from workbench.core.loop_thread import run_in_thread
from workbench.core.text.display import excerpt
from workbench.core.text.printable import printable, printable_line
from workbench.llm.models.http import LARGEST_ANSWER, HTTPError, HttpRoute, InvalidURL, Request, asynchronous_client
from workbench.llm.retries import back_off, requested_wait, worth_retrying
from workbench.monitor.alerts.detect import DetectedAlerts, Nanoseconds, RaisedAlert, began, counted, iso
from workbench.monitor.alerts.settings import ALERTS, AlertSettings
from workbench.monitor.alerts.signals import DAY
from workbench.systems.http.endpoints import check_address

_NEVER = 2**63
_MOST_FAILURES = 3
# Of the evidence, in the line of an alert. Channels get all ids in full.
_SHOWN_IDS, _SHOWN_OF_ID = 3, 12


class Alert(BaseModel):
    """An alert as it was first raised, the present at which the log last showed it, and the last status that was sent to each channel."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    status: Literal["open", "acknowledged", "resolved"]
    first: RaisedAlert
    shown: Nanoseconds
    sent: dict[str, str] = {}

    def __str__(self) -> str:
        """Return the alert as one line, with visible control characters and without secrets."""
        first, parts = self.first, [f"{self.status} {self.first.alert}: {self.first.about}"]
        if first.value is not None:
            bounds = "" if first.low is None or first.high is None else f" ({first.low:.3g} to {first.high:.3g})"
            parts[0] += f": {first.value:.3g}{bounds}" + ("" if first.limit is None else f", limit {first.limit:.3g}")
        parts.append(f"since {iso(first.since)}, raised {iso(first.raised)} after {counted(first)}")
        parts += [f"began {began(first)} {first.change}"] if first.change else []
        parts += [f"resolved {iso(first.resolved)}: {first.reason}"] if first.resolved else []
        shown = [excerpt(one, _SHOWN_OF_ID) for one in first.evidence[:_SHOWN_IDS]]
        more = len(first.evidence) - len(shown)
        parts += [f"see {', '.join(shown)}" + (f" and {more} more" if more else "")] if shown else []
        return printable_line("; ".join(parts))


class AlertState(BaseModel):
    """All alerts so far, in the order in which they were found."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: Annotated[int, Field(strict=True, ge=1, le=1)] = 1
    alerts: tuple[Alert, ...] = ()


def update(state: AlertState, watch: DetectedAlerts, settings: AlertSettings) -> tuple[AlertState, tuple[Alert, ...]]:
    """Return the state after a run, and the alerts whose status changed. A second run on the same log changes nothing.

    A raised alert continues the one of the same name with which it overlaps, up to the quiet time apart. An alert that the log does not show any more,
    because late rows changed earlier results or old rows were deleted, is resolved after the quiet time.
    """
    quiet, until = round(settings.quiet_days * DAY), watch.until
    before, alerts = {alert.id: alert.status for alert in state.alerts}, list(state.alerts)
    for raised in watch.raised:
        number = next((number for number, alert in enumerate(alerts) if _same(alert.first, raised, quiet)), None)
        if number is None:
            status: Literal["open", "resolved"] = "resolved" if raised.resolved else "open"
            alerts.append(Alert(id=f"{raised.alert}-{iso(raised.raised)}", status=status, first=raised, shown=until))
        else:
            alerts[number] = _ended(alerts[number], raised.resolved, raised.reason, until)
    for number, alert in enumerate(alerts):
        if alert.status != "resolved" and until - alert.shown > quiet:
            alerts[number] = _ended(alert, until, "the log does not show it any more", alert.shown)
    return AlertState(alerts=tuple(alerts)), tuple(alert for alert in alerts if before.get(alert.id) != alert.status)


def acknowledge(state: AlertState, name: str) -> AlertState:
    """Return the state with an open alert acknowledged. Raises InputError if no alert with this id is open."""
    if not any(alert.id == name and alert.status != "resolved" for alert in state.alerts):
        known = [alert.id for alert in state.alerts if alert.status == "open"]
        raise InputError(f"no alert {excerpt(name)!r} is open", f"open are {', '.join(known) or 'none'}")
    changed = (alert.model_copy(update={"status": "acknowledged"}) if alert.id == name else alert for alert in state.alerts)
    return AlertState(alerts=tuple(changed))


def deliver(state: AlertState, channels: Mapping[str, Callable[[Alert], None]]) -> tuple[AlertState, tuple[str, ...]]:
    """Send to each channel the alerts that were opened or resolved since it got them, and return the state and the failures.

    The next run sends them again. A channel that is down does not silence the others, and neither does an alert that it refuses. After 3 failures
    of a channel its others wait for the next run.
    """
    alerts, failures = list(state.alerts), []
    for name, send in channels.items():
        for number, alert in enumerate(alerts):
            news = "resolved" if alert.status == "resolved" else "open"
            if alert.sent.get(name) == news:
                continue
            try:
                send(alert)
            except Exception as error:  # a server decides what a library raises, and its message can contain a secret
                failures.append(f"{name}: {error if isinstance(error, WorkbenchError) else f'unexpected {type(error).__name__}'}")
                # Each waits for its tries.
                if sum(failure.startswith(f"{name}: ") for failure in failures) >= _MOST_FAILURES:
                    break
            else:
                alerts[number] = alert.model_copy(update={"sent": alert.sent | {name: news}})
    return AlertState(alerts=tuple(alerts)), tuple(failures)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock of a state, in a folder that exists, from reading it until it is written."""
    file = path.with_name(f".{path.name}.lock")
    with store_errors(file):
        held = FileLock(file).acquire()
    with held:
        yield


def read_state(path: Path) -> AlertState:
    """Read a state; a file that does not exist has no alerts. Raises InputError if it is not a state."""
    try:
        return AlertState.model_validate_json(read_regular(path)) if path.exists() else AlertState()
    except (OSError, ValidationError):
        raise InputError(f"{path} is not a state of alerts", "restore it, or delete it to begin again") from None


def write_state(path: Path, state: AlertState) -> None:
    """Write a state atomically."""
    write_text(path, state.model_dump_json(indent=1) + "\n")


def _same(known: RaisedAlert, raised: RaisedAlert, quiet: int) -> bool:
    overlaps = raised.raised <= (known.resolved or _NEVER) + quiet and known.raised <= (raised.resolved or _NEVER) + quiet
    return known.alert == raised.alert and overlaps


def _ended(alert: Alert, resolved: int | None, reason: str, shown: int) -> Alert:
    status = "resolved" if resolved else "open" if alert.status == "resolved" else alert.status
    first = replace(alert.first, resolved=resolved, reason=reason)
    return alert.model_copy(update={"status": status, "first": first, "shown": max(alert.shown, shown)})


SIGNATURE = "X-Workbench-Signature"
_LONGEST_WAIT = 30.0
_LONGEST = 2_000


class Webhook(BaseModel):
    """A URL that gets each alert as JSON, signed with a secret from the environment.

    The header X-Workbench-Signature is `t=TIME,v1=HMAC`, the HMAC of `TIME.BODY` by SHA-256 in hexadecimal digits. Redirects are not followed,
    proxies and .netrc are ignored, and messages contain neither the secret nor more of the URL than its host.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)
    url: str = Field(description="The address: on this machine, or https at one of `hosts`.")
    secret: str = Field(description="The name of the environment variable that has the secret, in capitals.")
    hosts: tuple[str, ...] = Field(default=(), description="The other hosts to which alerts may be sent.")
    timeout: float = Field(default=10, gt=0, le=60, description="Seconds without an answer after which a try has failed.")
    tries: int = Field(default=4, ge=1, le=10, description="The number of tries.")

    @model_validator(mode="after")
    def _allowed(self) -> Self:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.secret):
            raise ValueError("secret is no name of an environment variable in capitals, such as ALERT_SECRET, which has the secret")
        check_address(self.url, "the webhook")
        parts = urlsplit(self.url)
        if not is_local(self.url) and (parts.scheme != "https" or parts.hostname not in self.hosts):
            raise ValueError(f"alerts may not be sent to {parts.hostname}: use https, and list it in hosts")
        return self

    def __call__(self, alert: Alert) -> None:
        """Send an alert. Raises RunError after the last try, InputError without the secret."""
        secret, body = os.environ.get(self.secret), content(alert)
        if not secret:
            raise InputError(f"the environment variable {self.secret} is not set", "set it to the secret of the webhook")
        for number in range(1, self.tries + 1):
            status, wait, fault = self._tried(body, secret)
            if not fault:
                return
            if number == self.tries or (status is not None and not worth_retrying(status)):
                raise RunError(f"the webhook at {urlsplit(self.url).hostname} {fault}", "the next run sends the alert again")
            time.sleep(min(_LONGEST_WAIT, back_off(number, status, wait)))

    def _tried(self, body: bytes, secret: str) -> tuple[int | None, float | None, str]:
        """Send a body once. Return the status, the wait that the server asks for, and why it failed."""
        now = int(time.time())
        headers = {"Content-Type": "application/json", "User-Agent": "workbench", SIGNATURE: f"t={now},v1={signature(secret, now, body)}"}
        try:
            status, given = run_in_thread("webhook", partial(self._answer, body, headers))
        except (HTTPError, InvalidURL, OSError, ValueError) as error:  # their messages contain the URL
            return None, None, f"did not answer ({type(error).__name__})"
        return status, requested_wait(given), "" if 200 <= status < 300 else f"answered {status}"

    async def _answer(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str]]:
        """Return the status and headers of the answer, whose body is not read."""
        # Of the whole try, since a server can send a byte now and then.
        async with asyncio.timeout(self.timeout), asynchronous_client(HttpRoute(self.url, LARGEST_ANSWER, proxies=False)) as client:
            answer = await client.send(Request("POST", self.url, headers=headers, content=body), stream=True)
            await answer.aclose()
            return answer.status_code, answer.headers


def signature(secret: str, now: int, body: bytes) -> str:
    """Return the HMAC of a body sent at a time, in hexadecimal digits."""
    return hmac.new(secret.encode(), b"%d.%s" % (now, body), hashlib.sha256).hexdigest()


def content(alert: Alert) -> bytes:
    """Return an alert as a line of JSON, without secrets: its fields, with times in nanoseconds, and `text`."""
    fields = {"id": alert.id, "status": alert.status, "text": str(alert)} | alert.model_dump(mode="json")["first"]
    return json.dumps({name: _safe(value) for name, value in fields.items()}).encode()


def _safe(value: Any) -> Any:
    """Return texts without secrets and of at most 2,000 letters. Ids and versions can be any texts of a log."""
    if isinstance(value, str):
        return printable(value)[:_LONGEST]
    return [_safe(item) for item in value] if isinstance(value, list) else value


def append_alert(path: Path, alert: Alert) -> None:
    """Append an alert to a file of JSON Lines."""
    with store_errors(path):
        append_lines(path, content(alert) + b"\n")


def prometheus(state: AlertState, watch: DetectedAlerts) -> str:
    """Return the text format of Prometheus: whether each alert is open, how often it was raised, its limit, and rows that were left out."""
    states = {name: [alert.status != "resolved" for alert in state.alerts if alert.first.alert == name] for name in ALERTS}
    families = {
        ("workbench_alert_open", "alert", "Whether the alert is open."): {name: float(any(opened)) for name, opened in states.items()},
        ("workbench_alert_raised", "alert", "How often it was raised."): {name: float(len(opened)) for name, opened in states.items()},
        ("workbench_alert_limit", "alert", "Its limit."): {
            tested.alert: tested.limit for tested in watch.tested if tested.limit is not None
        },
        ("workbench_alert_observations", "alert", "Conversations tested."): {
            tested.alert: float(tested.observations) for tested in watch.tested
        },
        ("workbench_left_out", "reason", "Rows that were left out."): {name: float(count) for name, count in watch.left_out.items()},
    }
    lines = []
    for (metric, label, about), values in families.items():
        lines += [f"# HELP {metric} {about}", f"# TYPE {metric} gauge"]
        lines += [f'{metric}{{{label}="{_escaped(name)}"}} {value!r}' for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
