"""The process that converts files: it reads one path after the other, with bounded memory, and answers with the text or the reason."""

import hashlib
import json
import os
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workbench.conversion.converted import UnreadableFileError
from workbench.conversion.registry import convert
from workbench.core.environment import skip_schema_grammar
from workbench.datasets.file_access import FileAccess, RefusedFileError

# A page of HTML with as many tags as are read takes half of it.
MEMORY_GB = 4


def serve(calls: Connection, root: str, max_file_mb: int) -> None:
    """Convert the files under `root` whose paths arrive, until the connection is closed."""
    _limit_memory()
    _be_silent()
    skip_schema_grammar()
    files = FileAccess((Path(root),), max_file_mb)
    while True:
        try:
            path, suffix = json.loads(calls.recv_bytes())
        except EOFError:
            return
        calls.send_bytes(json.dumps(_answer(files, Path(path), suffix)).encode())


def _answer(files: FileAccess, path: Path, suffix: str) -> dict[str, Any]:
    try:
        raw = files.read(path)
        converted = convert(suffix, raw)
    except (UnreadableFileError, RefusedFileError) as error:
        return {"reason": str(error)}
    except OSError as error:
        return {"reason": f"cannot be read ({error.strerror})"}
    except MemoryError:
        return {"reason": f"needs more than {MEMORY_GB} GB of memory"}
    except RecursionError:
        return {"reason": "is nested too deeply"}
    except Exception as error:  # converters raise errors of any kind for broken files
        return {"reason": f"cannot be converted ({type(error).__name__}: {' '.join(str(error).split())[:200]})"}
    # A cell of many rows is repeated in each of them.
    if reason := files.too_large(len(converted.text)):
        return {"reason": f"as text {reason}"}
    return {"text": converted.text, "notes": list(converted.notes), "sha256": hashlib.sha256(raw).hexdigest()}


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit = MEMORY_GB * 2**30
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _be_silent() -> None:
    """Discard what converters print, which would be between the lines of the command."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError, AttributeError):
            continue
