"""The installer, in small environments, from an index in a folder."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import install

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).parent / "uv"


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


@pytest.fixture
def index(tmp_path: Path) -> str:
    """The address of an index that has one package, in two versions."""
    folder = tmp_path / "simple" / "tiny-part"
    folder.mkdir(parents=True)
    for version in ("1.0", "2.0"):
        name = f"tiny_part-{version}"
        about = {f"{name}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: tiny-part\nVersion: {version}\n", "tiny_part.py": ""}
        about[f"{name}.dist-info/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        rows = [f"{path},sha256={digest(text)},{len(text)}\n" for path, text in about.items()]
        about[f"{name}.dist-info/RECORD"] = "".join(rows) + f"{name}.dist-info/RECORD,,\n"
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
            for path, text in about.items():
                wheel.writestr(path, text)
    links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in folder.glob("*.whl"))
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return (tmp_path / "simple").as_uri()


def digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def run_installer(folder: Path, steps: Sequence[Sequence[str]], **environment: str) -> str:
    """Run the installer with other steps and return what it prints."""
    script = f"import sys, install; install.STEPS = {steps!r}; sys.exit(install.main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)} | environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which nothing but pip is installed."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    run_installer(folder, (), PIP_PRE="1")
    return folder


@pytest.fixture
def installed(tmp_path: Path, index: str, empty: Path) -> Callable[..., tuple[str, str]]:
    """Install a requirement into an empty environment with these tools; return its version with its installer, and what was printed."""

    def run(requirement: str, *tools: Path, **settings: str) -> tuple[str, str]:
        shutil.copytree(empty, tmp_path / "venv", symlinks=True)
        (tmp_path / "tools").mkdir()
        for tool in tools:
            (tmp_path / "tools" / tool.name).symlink_to(tool)
        shown = run_installer(tmp_path / "venv", ([requirement],), PATH=str(tmp_path / "tools"), PIP_INDEX_URL=index, **settings)
        (about,) = (tmp_path / "venv").rglob("tiny_part-*.dist-info")
        return f"{about.name} by {(about / 'INSTALLER').read_text().strip()}", shown

    return run


def test_uv_installs_from_the_index_and_within_the_constraint_of_pip(installed: Callable[..., tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "constraint.txt").write_text("tiny-part<2\n")
    version, shown = installed("tiny-part", UV, PIP_CONSTRAINT=str(tmp_path / "constraint.txt"))
    assert version == "tiny_part-1.0.dist-info by uv"
    assert "pip" not in shown.splitlines()[-1]


def test_pip_installs_where_it_cannot_fetch_uv(installed: Callable[..., tuple[str, str]]) -> None:
    version, shown = installed("tiny-part")
    assert version == "tiny_part-2.0.dist-info by pip"
    assert "pip cannot fetch uv, so pip installs" in shown


def test_pip_installs_where_one_of_its_settings_has_no_counterpart(installed: Callable[..., tuple[str, str]]) -> None:
    version, shown = installed("tiny-part", UV, PIP_PRE="1")
    assert version == "tiny_part-2.0.dist-info by pip"
    assert "uv has no counterpart of the setting pre of pip" in shown


def test_pip_installs_where_uv_fails(installed: Callable[..., tuple[str, str]], tmp_path: Path) -> None:
    broken = tmp_path / "uv"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    version, shown = installed("tiny-part", broken)
    assert version == "tiny_part-2.0.dist-info by pip"
    assert "uv failed; pip tries again" in shown


def test_settings_of_pip_are_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text(
        "[global]\nindex-url = https://a.example/simple\nextra-index-url = file:///b/simple\n  file:///c/simple\ntimeout = 9\nno-input = true\n"
        "[install]\nfind-links = /w /x\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_TIMEOUT", "7")
    variables = install.uv_variables(install.pip_settings(Path(sys.executable)))
    assert variables["UV_DEFAULT_INDEX"] == "https://a.example/simple"
    assert variables["UV_INDEX"] == "file:///b/simple file:///c/simple"
    assert variables["UV_FIND_LINKS"] == "/w,/x"
    assert variables["UV_HTTP_TIMEOUT"] == "7"
    assert variables["UV_INDEX_STRATEGY"] == "unsafe-best-match"
