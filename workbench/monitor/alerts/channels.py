"""Send alerts to a file, a webhook and Prometheus."""

import asyncio
import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.core.environment import is_local
from workbench.core.errors import InputError, RunError
from workbench.core.files import append_lines, store_errors
from workbench.core.loop_thread import run_in_thread
from workbench.core.text.printable import printable
from workbench.llm.models.http import LARGEST_ANSWER, HTTPError, HttpRoute, InvalidURL, Request, asynchronous_client
from workbench.llm.retries import back_off, requested_wait, worth_retrying
from workbench.monitor.alerts.detect import DetectedAlerts
from workbench.monitor.alerts.settings import ALERTS
from workbench.monitor.alerts.state import Alert, AlertState
from workbench.systems.http.endpoints import check_address

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
