"""Run the simulations and print their tables: python -m benchmarks.verdict [runs]."""

import sys

from benchmarks.verdict.tables import claims_table, coverage_table


def main(runs: int) -> None:
    print(claims_table(runs)[1], coverage_table(runs)[1], sep="\n\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
