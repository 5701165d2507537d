"""The points about operation: gates in CI, the log of production, alerts."""

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.core.formatting import listed, plural
from workbench.errors import InputError
from workbench.gate.checklist.points import Audit, ChecklistPoint
from workbench.gate.checklist.retrieval import RETRIEVAL_LIMIT, mean_of, rounded_down

CI_FILES = (".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml")
# Commands that check a gate.
_RUNS_A_GATE = re.compile(r"\bworkbench\s+gate\b|--rag-experiment\b")
# The fields of a line of the log, and those of the objects among them.
LOG_FIELDS: Mapping[str, tuple[str, ...]] = {
    "query": (),
    "processed_query": (),
    "hits": ("chunk_id", "score"),
    "answer": (),
    "latency": ("embedding", "retrieval", "generation"),
    "configuration": (),
    "versions": (),
    "feedback": (),
}
# The signals that need an alert, and the field that a test alert shows for each.
ALERTS: Mapping[str, str] = {
    "faithfulness": "faithfulness below 0.80",
    "empty_results": "queries that returned something before and return nothing now",
    "similarity": "a declining mean similarity",
}
FAITHFULNESS_ALERT = 0.8


def gates_in_ci(audit: Audit, repository: Path) -> ChecklistPoint:
    """Check that the experiment has rules, and that a file of GitHub Actions or GitLab runs them."""
    gate = audit.run.manifest["experiment"].get("gate") or {}
    rules = sum(len(gate.get(key) or ()) for key in ("rules", "retrieval_tests")) + sum(
        bool(gate.get(key)) for key in ("baseline", "release")
    )
    files = [path for pattern in CI_FILES for path in sorted(repository.glob(pattern))]
    calling = [path for path in files if any(_RUNS_A_GATE.search(line.partition("#")[0]) for line in _lines(path))]
    shown = listed([path.relative_to(repository).as_posix() for path in calling])
    commands = [f"workbench gate {audit.folder} --configuration {audit.configuration} --update-baseline baselines/{audit.run.name}.json"]
    name, advice = "gates in CI", "write the rules, then copy the job from docs/ci.md"
    if calling and rules:
        return ChecklistPoint(name, "met", f"{shown} checks {plural(rules, 'rule')} of the experiment")
    if calling:
        evidence = f"{shown} calls a gate, but the experiment of this run has no key gate"
        return ChecklistPoint(name, "met", f"{evidence}: the rules are those of its command")
    where = f"none of {plural(len(files), 'CI file')}" if files else f"no file of GitHub Actions or GitLab in {repository.resolve().name}"
    evidence = f"{where} calls workbench gate or pytest --rag-experiment"
    settings = {} if rules else {"gate": {"rules": _rules(audit), "baseline": f"baselines/{audit.run.name}.json", "tolerance": "5%"}}
    return ChecklistPoint(name, "not met", evidence, advice, settings, commands)


def _rules(audit: Audit) -> list[str]:
    """Return rules that the configuration meets: the limit of recall, else its own value of the primary metric."""
    recall = mean_of(audit, "recall@5")
    if recall is not None and recall.value >= RETRIEVAL_LIMIT:
        return [f"recall@5 >= {RETRIEVAL_LIMIT}"]
    primary, found = audit.run.primary, mean_of(audit, str(audit.run.primary))
    usable = found is not None and primary.higher_is_better and not math.isnan(found.value)
    return [f"{primary} >= {rounded_down(found.value)}"] if found is not None and usable else []


def production_log(audit: Audit, log: Path | None) -> ChecklistPoint:
    """Check that every line of a log has the fields of LOG_FIELDS."""
    name, commands = "production logging", [f"workbench checklist {audit.folder} --log {shlex.quote(str(log or 'queries.jsonl'))}"]
    if log is None:
        evidence = "Workbench writes no log of production yet, and --log names none of yours"
        return ChecklistPoint(name, "cannot be seen", evidence, f"write a JSON line for each query, with {_wanted()}", commands=commands)
    lacking: Counter[str] = Counter()
    count = 0
    for line in _objects(log):
        count += 1
        lacking.update(_lacking(line))
    if not count:
        return ChecklistPoint(name, "not met", f"{log} is empty", f"write a line for each query, with {_wanted()}", commands=commands)
    if not lacking:
        return ChecklistPoint(name, "met", f"{plural(count, 'line')} of {log} have all fields")
    shown = listed([f"{field} ({missing})" for field, missing in lacking.most_common()])
    return ChecklistPoint(
        name, "not met", f"of {plural(count, 'line')} of {log}, some lack {shown}", "log these fields too", commands=commands
    )


def _wanted() -> str:
    return listed([f"{field} ({', '.join(inner)})" if inner else field for field, inner in LOG_FIELDS.items()], len(LOG_FIELDS))


def _lacking(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that a line does not have. `feedback` can be null, since most users give none."""
    for field, inner in LOG_FIELDS.items():
        value = line.get(field)
        if field not in line or (value is None and field != "feedback"):
            yield field
        elif inner:
            items = value if isinstance(value, list) else [value]
            yield from (f"{field}.{name}" for name in inner if not all(isinstance(item, Mapping) and name in item for item in items))


def alerts(audit: Audit, log: Path | None) -> ChecklistPoint:
    """Check that each alert was seen to fire, by a log of alerts."""
    name, commands = "alerts", [f"workbench checklist {audit.folder} --alerts {shlex.quote(str(log or 'alerts.jsonl'))}"]
    if log is None:
        evidence = "Workbench sends no alerts yet, and --alerts names no log of yours"
        advice = f"let each alert fire once, and log it with signal, limit, time and sent_to. Signals: {', '.join(ALERTS)}"
        return ChecklistPoint(name, "cannot be seen", evidence, advice, commands=commands)
    seen: dict[str, int] = Counter(str(line["signal"]) for line in _objects(log) if _is_alert(line))
    missing = [signal for signal in ALERTS if signal not in seen]
    if not missing:
        return ChecklistPoint(name, "met", f"{log} has test alerts of {listed([f'{signal} ({seen[signal]})' for signal in ALERTS])}")
    evidence = f"{log} has no complete alert for {listed([f'{signal} ({ALERTS[signal]})' for signal in missing])}"
    return ChecklistPoint(name, "not met", evidence, "let it fire once, and log signal, limit, time and sent_to", commands=commands)


def _is_alert(line: Mapping[str, Any]) -> bool:
    if not all(line.get(field) not in (None, "") for field in ("signal", "limit", "time", "sent_to")):
        return False
    limit = line["limit"]
    return line["signal"] != "faithfulness" or (isinstance(limit, int | float) and limit >= FAITHFULNESS_ALERT)


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read the JSON lines of a log. Raises InputError for a line that is no object."""
    for place, line in enumerate(_lines(path, "give a file of JSON lines"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise InputError(f"{path}:{place} is not a JSON object", "write one object in a line")
        yield found


def _lines(path: Path, fix: str = "") -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", fix) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})", fix) from None
