"""The conditions of a benchmark: machine, package versions and commit."""

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workbench import __version__
from workbench.core.environment import usable_cores

_PACKAGES = (
    "torch",
    "openvino",
    "sentence-transformers",
    "transformers",
    "tokenizers",
    "chromadb",
    "langchain-text-splitters",
    "papermill",
    "pytrec-eval-terrier",
    "numpy",
    "pandas",
)


def machine() -> dict[str, object]:
    """Processor, cores that may be used, memory in GiB, system."""
    memory = re.search(r"MemTotal: +(\d+) kB", _text("/proc/meminfo"))
    cpu = re.search(r"model name\s*: (.+)", _text("/proc/cpuinfo"))
    return {
        "cpu": cpu[1].strip() if cpu else platform.processor(),
        "cores": usable_cores(),
        "memory_gib": round(int(memory[1]) / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the installed packages on either side of the ratios."""
    installed = {"python": platform.python_version(), "workbench": __version__}
    for name in _PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:  # only one side of a ratio is installed
            continue
    return installed


def commit() -> str | None:
    """The commit of this checkout, with `, changed` if tracked files differ from it; None outside git."""
    folder = Path(__file__).parent
    try:
        head, status = (
            subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
            # The results themselves change with every run.
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no", ":/", ":(exclude)results"])
        )
    except (OSError, subprocess.TimeoutExpired):  # no git here
        return None
    return f"{head}, changed" if head and status else head or None


def load() -> float:
    """The load average of the last minute: above the number of cores, other work took part of the machine."""
    return round(os.getloadavg()[0], 2)


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:  # not Linux
        return ""
