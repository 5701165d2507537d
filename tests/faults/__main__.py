"""Run the campaign and write its results to docs/reliability.md: `python -m tests.faults [--journal FILE] [--most N]`."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import get_args

from tests.faults.campaign import ROOT, Case, Ending, Journal, campaign
from tests.faults.cases import Worlds

# The first ninth of the cases has every ninth of each row, and so on.
_SPREAD = 9
_PAGE = ROOT / "docs" / "reliability.md"
_BEGIN, _END = "<!-- campaign: written by python -m tests.faults -->", "<!-- campaign: end -->"


def main() -> int:
    """Run the cases that the journal lacks. Returns the exit code: 1 if a case failed, whose folder is then kept."""
    parser = argparse.ArgumentParser("python -m tests.faults", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--journal", type=Path, help="a file that remembers the finished cases; a campaign that was stopped continues")
    parser.add_argument("--most", type=int, metavar="N", help="try at most N cases, spread over all rows of the table")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="workbench-faults-"))
    worlds = Worlds(place)
    existing: Counter[str] = Counter()
    numbered: list[tuple[int, Case]] = []
    for case in (*worlds.operations(), *worlds.messages(), *worlds.damaged()):
        numbered.append((existing[case.group], case))
        existing[case.group] += 1
    journal = Journal(options.journal or place / "journal.jsonl")
    finished = {(group, name) for group, name, _, _ in journal.read()}
    todo = [case for _, case in sorted(numbered, key=lambda pair: pair[0] % _SPREAD) if (case.group, case.name) not in finished]
    campaign(todo[: options.most], place, journal, options.processes)
    endings = Counter((group, ending) for group, _, ending, _ in journal.read())
    failures = [f"{group}, {failure}" for group, *_, failure in journal.read() if failure]
    before, _, rest = _PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    _PAGE.write_text(f"{before}{_BEGIN}\n{table(existing, endings)}\n{_END}{after}", "utf-8")
    for line in failures:
        print(line)
    return 1 if failures else 0


def table(existing: "Counter[str]", endings: "Counter[tuple[str, str]]") -> str:
    """Format the results as a Markdown table, a row for each operation and fault. A case that failed has no ending."""
    columns = get_args(Ending)
    lines = [f"| operation: fault | cases | tried | {' | '.join(columns)} | failed |", "|---|" + "---:|" * (len(columns) + 3)]
    for group, cases in existing.items():
        *counts, failed = (endings[group, ending] for ending in (*columns, ""))
        lines.append(f"| {group} | {' | '.join(str(count) for count in [cases, sum(counts) + failed, *counts, failed])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
