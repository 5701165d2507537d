"""Record outputs/quickstart for `workbench demo`: `make recording`.

The tables are compressed as far as zstd can, so that the wheel stays small. Notebooks are left out.
"""

import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq

from workbench.cli.demo import RECORDING
from workbench.core.errors import InputError
from workbench.report.results.run_tables import MANIFEST, RunTables

LARGEST = 4_000_000


def record(folder: Path, target: Path = RECORDING) -> int:
    """Copy the tables and the page of a run of committed code, and return the number of bytes. Raises InputError if they are too large."""
    run = RunTables.read(folder)
    if not run.manifest["commit"] or run.manifest["commit"].endswith("-dirty"):
        raise InputError(f"{folder} was not made of a commit", "commit, sweep again, and record")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            pq.write_table(
                file.read(), target / path.name, compression="zstd", compression_level=19, row_group_size=file.metadata.num_rows or 1
            )
    for name in (MANIFEST, "report.html"):
        shutil.copyfile(folder / name, target / name)
    size = sum(path.stat().st_size for path in target.iterdir())
    if size > LARGEST:
        raise InputError(f"the recording has {size:,} bytes", f"make it smaller than {LARGEST:,}")
    return size


if __name__ == "__main__":
    print(f"{RECORDING}: {record(Path(sys.argv[1])):,} bytes")
