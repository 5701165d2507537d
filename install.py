"""Install Workbench with everything that its quickstart and its tests need into `.venv`: with uv if pip can fetch it, else with pip.

uv installs in seconds what takes pip minutes. It does not read the settings of pip, so they are translated; if one of them has no counterpart,
pip installs.
"""

import ast
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Torch comes first, pinned: a plain requirement would select the build with gigabytes of CUDA.
STEPS = (["torch==2.13.0"], ["-e", ".[all,dev]"])
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "trusted-host": "UV_INSECURE_HOST",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
# The other lists of uv are separated by spaces, as those of pip are.
BY_COMMAS = {"UV_FIND_LINKS"}
# Settings of pip that do not change what is installed.
HARMLESS = {
    "cache-dir",
    "config-file",
    "disable-pip-version-check",
    "no-cache-dir",
    "no-color",
    "no-input",
    "no-python-version-warning",
    "no-warn-script-location",
}
HARMLESS |= {"progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action", "verbose"}


def main(arguments: Sequence[str]) -> int:
    """Install into the folder that is named, by default `.venv`. Return the exit code."""
    folder = Path(arguments[0] if arguments else ".venv")
    begin = time.monotonic()
    print(f"Installing into {folder}: about 3 GB, a minute with uv and a fast connection, five with pip.", flush=True)
    if not (folder / "pyvenv.cfg").is_file():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    uv = uv_command(python)
    for requirements in STEPS:
        if not install(python, requirements, uv):
            print(f"{requirements[-1]} could not be installed; what was printed above says why.", file=sys.stderr)
            return 3
    print(f"Installed in {time.monotonic() - begin:.0f} seconds.")
    return 0


def install(python: Path, requirements: Sequence[str], uv: tuple[Sequence[str], Mapping[str, str]] | None) -> bool:
    """Install with uv where there is one, else or where that fails with pip. Return whether it worked."""
    if uv:
        command, environment = uv
        if subprocess.run([*command, "pip", "install", "--quiet", "--python", str(python), *requirements], env=environment).returncode == 0:
            return True
        print("uv failed; pip tries again, which takes minutes.", file=sys.stderr, flush=True)
    return subprocess.run([str(python), "-m", "pip", "install", "--quiet", *requirements]).returncode == 0


def uv_command(python: Path) -> tuple[Sequence[str], Mapping[str, str]] | None:
    """Find or fetch uv, and translate the settings of pip. None, with a line that says why, if pip must install."""
    settings = pip_settings(python)
    if unknown := sorted(settings.keys() - VARIABLES.keys() - HARMLESS):
        print(f"uv has no counterpart of the setting {unknown[0]} of pip, so pip installs, which takes minutes.", flush=True)
        return None
    found = shutil.which("uv")
    if not found:
        # Not from a source distribution: that would be compiled.
        fetched = subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "uv"], capture_output=True)
        if fetched.returncode:
            print("pip cannot fetch uv, so pip installs, which takes minutes.", flush=True)
            return None
    return ([found] if found else [str(python), "-m", "uv"]), uv_variables(settings) | os.environ


def pip_settings(python: Path) -> dict[str, str]:
    """Return the settings of `pip install` by name: variables before sections for installing before global ones."""
    listed = subprocess.run([str(python), "-m", "pip", "config", "list"], capture_output=True, text=True, check=True).stdout
    rows = [line.partition("=")[::2] for line in listed.splitlines()]
    settings: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        of_section = {name.removeprefix(f"{section}."): ast.literal_eval(value) for name, value in rows if name.startswith(f"{section}.")}
        settings |= of_section
    return settings


def uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Translate settings of pip into variables that uv reads. With several indexes, uv then takes the best version of any, as pip does."""
    lists = {VARIABLES[name]: value.split() for name, value in settings.items() if name in VARIABLES}
    variables = {name: ("," if name in BY_COMMAS else " ").join(values) for name, values in lists.items()}
    return variables | {"UV_INDEX_STRATEGY": "unsafe-best-match"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
