"""Run the whole campaign and write its results to docs/reliability.md: `python -m tests.faults [PROCESSES]`."""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import get_args

from tests.faults.campaign import ROOT, Ending, Runner, campaign
from tests.faults.cases import Worlds

_PAGE = ROOT / "docs" / "reliability.md"
_BEGIN, _END = "<!-- campaign: written by python -m tests.faults -->", "<!-- campaign: end -->"


def main() -> int:
    """Run every case on some processes. Returns the exit code: 1 if a case failed, whose folder is then kept."""
    parallel = int(sys.argv[1]) if sys.argv[1:] else 2
    place = Path(tempfile.mkdtemp(prefix="workbench-faults-"))
    runner = Runner()
    worlds = Worlds(runner, place)
    cases = [*worlds.operations(), *worlds.messages(), *worlds.damaged()]
    runner.close()
    endings, failures = campaign(cases, place, parallel)
    before, _, rest = _PAGE.read_text("utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    _PAGE.write_text(f"{before}{_BEGIN}\n{table(endings, failures)}\n{_END}{after}", "utf-8")
    for line in failures:
        print(line)
    return 1 if failures else 0


def table(endings: "Counter[tuple[str, Ending]]", failures: list[str]) -> str:
    """Format the results as a Markdown table, a row for each operation and fault."""
    columns = get_args(Ending)
    groups = list(dict.fromkeys([group for group, _ in endings] + [line.partition(", ")[0] for line in failures]))
    lines = [f"| operation: fault | tried | {' | '.join(columns)} | failed |", "|---|" + "---:|" * (len(columns) + 2)]
    for group in groups:
        counts = [endings[group, ending] for ending in columns]
        failed = sum(line.startswith(f"{group}, ") for line in failures)
        lines.append(f"| {group} | {' | '.join(str(count) for count in [sum(counts) + failed, *counts, failed])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
