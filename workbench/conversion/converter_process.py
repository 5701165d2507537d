"""Convert files in another process, which is replaced when a file takes too long or makes it crash."""

import json
import multiprocessing
import signal
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Self

from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.worker import serve
from workbench.core.environment import modules_of_working_directory_ignored
from workbench.core.formatting import number

# Imports of the converters, which count for the first file.
_STARTING = 60.0


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
        return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"

    def close(self) -> None:
        """End the process."""
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
