"""Read the metadata of parquet files. pyarrow 26 ends its process at some that are malformed, so another process reads them first."""

import subprocess
import sys
from typing import Any

_MAGIC = b"PAR1"
# The length of the metadata and the magic bytes.
_ENDING = 8
_SECONDS = 60
_READ = """
import sys
from pyarrow import BufferReader, parquet
about = parquet.read_metadata(BufferReader(sys.stdin.buffer.read()))
for row in range(about.num_row_groups):
    for column in range(about.num_columns):
        about.row_group(row).column(column)
"""


def read_metadata(raw: bytes) -> Any:
    """Return pyarrow's metadata of a parquet file. Raises ArrowException, OSError or ValueError if they are malformed."""
    from pyarrow import BufferReader, parquet  # heavy

    size = int.from_bytes(raw[-_ENDING : -len(_MAGIC)], "little") + _ENDING
    # -P keeps the modules of the working directory out.
    command = [sys.executable, "-P", "-c", _READ]
    try:
        ended = subprocess.run(command, input=_MAGIC + raw[-size:], capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError("its metadata cannot be read in a minute") from None
    if ended.returncode < 0:
        reason = ended.stderr.decode("utf-8", "replace").rpartition("what():")[2].strip()
        raise ValueError(reason.splitlines()[0] if reason else "its metadata is malformed")
    return parquet.read_metadata(BufferReader(raw))
