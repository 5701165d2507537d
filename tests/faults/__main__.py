"""Run the campaign and write its results to docs/reliability.md: `python -m tests.faults [--processes 2] [--every N]`."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import get_args

from tests.faults.campaign import ROOT, Case, Ending, Runner, campaign
from tests.faults.cases import Worlds

_PAGE = ROOT / "docs" / "reliability.md"
_BEGIN, _END = "<!-- campaign: written by python -m tests.faults -->", "<!-- campaign: end -->"


def main() -> int:
    """Run all cases, or every n-th. Returns the exit code: 1 if a case failed, whose folder is then kept."""
    parser = argparse.ArgumentParser("python -m tests.faults", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try only every N-th case of each row of the table")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="workbench-faults-"))
    runner = Runner()
    worlds = Worlds(runner, place)
    existing: Counter[str] = Counter()
    tried: list[Case] = []
    for case in (*worlds.operations(), *worlds.messages(), *worlds.damaged()):
        if existing[case.group] % options.every == 0:
            tried.append(case)
        existing[case.group] += 1
    runner.close()
    endings, failures = campaign(tried, place, options.processes)
    before, _, rest = _PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    _PAGE.write_text(f"{before}{_BEGIN}\n{table(existing, endings, failures)}\n{_END}{after}", "utf-8")
    for line in failures:
        print(line)
    return 1 if failures else 0


def table(existing: "Counter[str]", endings: "Counter[tuple[str, Ending]]", failures: list[str]) -> str:
    """Format the results as a Markdown table, a row for each operation and fault."""
    columns = get_args(Ending)
    lines = [f"| operation: fault | cases | tried | {' | '.join(columns)} | failed |", "|---|" + "---:|" * (len(columns) + 3)]
    for group, cases in existing.items():
        counts = [endings[group, ending] for ending in columns]
        failed = sum(line.startswith(f"{group}, ") for line in failures)
        lines.append(f"| {group} | {' | '.join(str(count) for count in [cases, sum(counts) + failed, *counts, failed])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
