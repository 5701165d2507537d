"""Remember alerts between runs over a growing log."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.core.errors import InputError, WorkbenchError
from workbench.core.files import read_regular, store_errors, write_text
from workbench.core.text.display import excerpt
from workbench.core.text.printable import printable_line
from workbench.monitor.alerts.detect import DetectedAlerts, Nanoseconds, RaisedAlert, began, counted, iso
from workbench.monitor.alerts.settings import AlertSettings
from workbench.monitor.alerts.signals import DAY

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
