"""Run the campaign and write its results to docs/reliability.md: `python -m tests.faults [--journal FILE] [--minutes N]`."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import get_args

from tests.faults.campaign import ROOT, Case, Ending, Journal, campaign
from tests.faults.cases import Worlds

# The first ninth of the cases has every ninth of each row, and so on, short rows first.
_SPREAD = 9
_PAGE = ROOT / "docs" / "reliability.md"
_BEGIN, _END = "<!-- campaign: written by python -m tests.faults -->", "<!-- campaign: end -->"


def main() -> int:
    """Run the cases that the journal lacks or that failed. Returns the exit code: 1 if a case failed, whose folder is then kept."""
    parser = argparse.ArgumentParser("python -m tests.faults", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "faults.jsonl", help="the file that remembers the finished cases")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no case after these minutes; the next call continues")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only the cases whose row begins with a text")
    options = parser.parse_args()
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="workbench-faults-"))
    worlds = Worlds(place)
    existing: Counter[str] = Counter()
    numbered: list[tuple[int, Case]] = []
    for case in (*worlds.operations(), *worlds.messages(), *worlds.damaged()):
        numbered.append((existing[case.group], case))
        existing[case.group] += 1
    journal = Journal(options.journal)
    passed = {case for case, (ending, _) in journal.read().items() if ending}
    spread = [case for _, case in sorted(numbered, key=lambda pair: (pair[0] % _SPREAD, existing[pair[1].group]))]
    todo = [case for case in spread if (case.group, case.name) not in passed and case.group.startswith(options.only)]
    campaign(todo, place, journal, options.processes, 60 * options.minutes)
    known = {(case.group, case.name) for case in spread}
    finished = {case: result for case, result in journal.read().items() if case in known}
    endings = Counter((group, ending) for (group, _), (ending, _) in finished.items())
    before, _, rest = _PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    _PAGE.write_text(f"{before}{_BEGIN}\n{table(existing, endings)}\n{_END}{after}", "utf-8")
    failures = [f"{group}, {failure}" for (group, _), (_, failure) in finished.items() if failure]
    for line in (*failures, f"{len(finished):,} of {len(spread):,} cases, {len(failures)} failed"):
        print(line)
    return 1 if failures else 0


def table(existing: "Counter[str]", endings: "Counter[tuple[str, str]]") -> str:
    """Format the results as a Markdown table, a row for each operation and fault over all commands. A case that failed has no ending."""
    columns = get_args(Ending)
    lines = [f"| operation: fault | cases | tried | {' | '.join(columns)} | failed |", "|---|" + "---:|" * (len(columns) + 3)]
    rows: dict[str, list[int]] = {}
    for group, cases in existing.items():
        *counts, failed = (endings[group, ending] for ending in (*columns, ""))
        row = [cases, sum(counts) + failed, *counts, failed]
        for name in (": ".join(group.split(": ")[-2:]), "all"):
            rows[name] = [total + count for total, count in zip(rows.get(name, [0] * len(row)), row, strict=True)]
    rows["all"] = rows.pop("all")
    return "\n".join([*lines, *(f"| {name} | {' | '.join(f'{count:,}' for count in row)} |" for name, row in rows.items())])


if __name__ == "__main__":
    sys.exit(main())
