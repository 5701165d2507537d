"""Convert files in another process with bounded memory, which is replaced when a file takes too long or makes it crash."""

import hashlib
import json
import multiprocessing
import os
import sys
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Self

from workbench.core.environment import modules_of_working_directory_ignored, skip_schema_grammar
from workbench.core.operating_system import ending, limit_memory, open_descriptor
from workbench.core.text.formatting import number
from workbench.data.conversion.registry import convert
from workbench.data.conversion.text import ConvertedText, UnreadableFileError
from workbench.data.files import FileAccess, RefusedFileError

# A page of HTML with as many tags as are read takes half of it.
MEMORY_GB = 4

# Imports of the converters, which count for the first file.
_STARTING = 60.0


def serve(calls: Connection, root: str, max_file_mb: int) -> None:
    """Convert the files under `root` whose paths arrive, until the connection is closed."""
    limit_memory(MEMORY_GB * 2**30)
    # Discard what converters print, which would be between the lines of the command.
    nowhere = open_descriptor(Path(os.devnull), os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError, AttributeError):
            continue
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


@dataclass
class ConverterProcess:
    """A process that converts the files under `root`, each in at most `seconds`. A context manager."""

    root: Path
    seconds: float = 60.0
    max_file_mb: int = 200
    _process: SpawnProcess | None = field(default=None, init=False)
    _calls: Connection | None = field(default=None, init=False)

    def convert(self, path: Path, suffix: str) -> tuple[ConvertedText, str]:
        """Return the text of a file and the sha256 of its bytes. Raises UnreadableFileError with the reason."""
        started = self._process is not None
        calls = self._started()
        seconds = self.seconds if started else self.seconds + _STARTING
        try:
            calls.send_bytes(json.dumps([str(path), suffix]).encode())
            if not calls.poll(seconds):
                self.close()
                raise UnreadableFileError(f"takes more than {number(self.seconds, 0)} seconds")
            answer = json.loads(calls.recv_bytes())
        except (EOFError, OSError):
            raise UnreadableFileError(f"makes its converter end ({self._ending()})") from None
        if reason := answer.get("reason"):
            raise UnreadableFileError(reason)
        return ConvertedText(answer["text"], tuple(answer["notes"])), answer["sha256"]

    def _started(self) -> Connection:
        if self._calls is None:
            # A fork would copy the threads of this process, and what it has in memory.
            context = multiprocessing.get_context("spawn")
            self._calls, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs, str(self.root), self.max_file_mb), daemon=True)
            with modules_of_working_directory_ignored():
                self._process.start()
            theirs.close()
        return self._calls

    def _ending(self) -> str:
        process = self._process
        self.close()
        code = process.exitcode if process else None
        return "no exit code" if code is None else ending(code)

    def close(self) -> None:
        if self._process is not None and self._calls is not None:
            self._calls.close()
            self._process.join(0.5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process = self._calls = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
