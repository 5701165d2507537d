"""Run the simulations and print their tables: python -m benchmarks.verdict [runs]."""

import sys

from benchmarks.verdict.coverage import by_documents, by_sharing
from benchmarks.verdict.tables import claims, claims_table, coverage_table, detected_table, misses, power_table, powers, sharing_table


def main(runs: int) -> None:
    found = claims(runs)
    missed = misses(found)
    print(claims_table(found), f"Missed: {', '.join(missed) or 'none'}.", power_table(found), sep="\n\n", flush=True)
    print("", coverage_table(by_documents(runs)), sharing_table(by_sharing(runs)), detected_table(powers(runs)), sep="\n\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
