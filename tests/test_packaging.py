"""The wheel and the source distribution, without the checkout."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pandas as pd
import pytest

import install as installer
from tests.docs.conftest import TUTORIAL
from tests.docs.lesson import Reader, lesson_blocks
from tests.environments import install, outside, pip
from tests.test_core import run_jobs
from workbench import __version__
from workbench.core.environment import NAME, advice

ROOT = Path(__file__).parent.parent
# Runs the command of the unpacked wheel where no import can reach the checkout, and says where it came from.
COMMAND = """
import sys
from pathlib import Path
root = Path(sys.argv.pop(1))
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != root]
import workbench
print(workbench.__file__, flush=True)
from workbench.cli.main import run
sys.argv[0] = "workbench"
run()
"""
EXPERIMENT = """
name: tiny
dataset: {kind: golden, path: data}
pipeline: {retrieval: {kind: bm25}}
sweep: {chunking: [{kind: fixed, size: 16}, {kind: whole}]}
metrics: [recall@1, mrr@10]
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source distribution and of the wheel that was built from it, with the tools that are installed."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with an experiment on two documents, elsewhere than the checkout."""
    (tmp_path / "data" / "documents").mkdir(parents=True)
    (tmp_path / "data" / "documents" / "cats.md").write_text("# Cats\n\nCats purr when they are content.\n")
    (tmp_path / "data" / "documents" / "dogs.md").write_text("# Dogs\n\nDogs bark at strangers.\n")
    lines = [
        '{"query": "why do cats purr", "relevant_doc_ids": ["cats"]}',
        '{"query": "who do dogs bark at", "relevant_doc_ids": ["dogs"]}',
    ]
    (tmp_path / "data" / "questions.jsonl").write_text("\n".join(lines))
    (tmp_path / "tiny.yaml").write_text(EXPERIMENT)
    return tmp_path


def check_sweep(folder: Path) -> None:
    """The two questions are answered, by tables, notebooks and a report."""
    output = folder / "outputs" / "tiny"
    metrics = pd.read_parquet(output / "metrics.parquet").query("slice == 'all' and metric == 'recall@1'")
    assert dict(zip(metrics["configuration"], metrics["value"], strict=True)) == {"fixed-16-0-bm25": 1.0, "whole-bm25": 1.0}
    assert (output / "report.html").stat().st_size > 10_000
    assert {path.stem for path in (output / "notebooks").iterdir()} == {"fixed-16-0-bm25", "whole-bm25", "comparison"}


def test_the_distribution_has_one_name_that_every_advice_uses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (project["name"], project["version"]) == (NAME, __version__)
    extras = project["optional-dependencies"]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "workbench").rglob("*.py")]
    for path in pages:
        text = path.read_text("utf-8")
        for name, wanted in re.findall(r"pip install '?([\w-]*workbench[\w-]*)(?:\[([\w,]+)\])?", text):
            # The tutorial installs the file of a wheel, in whose name the dash is an underscore.
            assert name == NAME or name.startswith(f"{NAME.replace('-', '_')}-"), path
            assert set(filter(None, wanted.split(","))) <= set(extras), path
        assert all(extra in extras for extra in re.findall(r"advice\([\"'](\w+)[\"']\)", text)), path
    assert advice("lab", "fast") == f"pip install '{NAME}[lab,fast]'"


def test_the_wheel_holds_the_package_its_data_and_its_notebooks(wheel: Path) -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "workbench").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    notebooks = {f"workbench/notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    handbook = ROOT / "experiments" / "handbook"
    shipped = [handbook / "questions.jsonl", *(handbook / "documents").rglob("*.md"), ROOT / "experiments" / "quickstart.yaml"]
    shipped += [ROOT / "llms.txt", *(ROOT / "skills").rglob("*.md")]
    files |= {f"workbench/{path.relative_to(ROOT).as_posix()}" for path in shipped}
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        (about,) = [name for name in held if name.endswith("/METADATA")]
        metadata = message_from_bytes(archive.read(about))
        (entries,) = [archive.read(name).decode() for name in held if name.endswith("/entry_points.txt")]
    assert files | notebooks == {name for name in held if name.startswith("workbench/")}
    assert {Path(name).suffix for name in files} >= {".py", ".jsonl", ".j2", ".css", ".js", ".typed"}
    assert all(name.startswith(("workbench/", f"{NAME.replace('-', '_')}-")) for name in held)
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == (NAME, __version__, "Apache-2.0")
    assert {"workbench = workbench.cli.main:run", "rag-workbench = workbench.cli.main:run"} <= set(entries.splitlines())


def test_an_index_takes_both_files(built: Path) -> None:
    programs = Path(sys.executable).parent
    for command in (["twine", "check", "--strict", *built.iterdir()], ["check-wheel-contents", *built.glob("*.whl")]):
        done = subprocess.run([programs / command[0], *command[1:]], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_commit_is_released_only_with_a_tag_and_a_dated_section(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "CHANGELOG.md"):
        shutil.copyfile(ROOT / name, tmp_path / name)

    def make() -> str:
        # The upload fails: there is no such program.
        words = ["make", "--no-print-directory", "release", "MAKE=echo made", "BIN=/nowhere"]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60).stdout

    def git(*words: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True, capture_output=True, timeout=60)

    git("init", "-q")
    assert make().startswith("There are changes")
    git("add", ".")
    git("commit", "-qm", "first")
    assert "CHANGELOG.md has no section" in make()
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(changes.read_text("utf-8").replace(f"## {__version__}, unreleased", f"## {__version__}, 2026-12-01"), "utf-8")
    git("commit", "-qam", "dated")
    assert f"no tag v{__version__}" in make()
    git("tag", f"v{__version__}")
    assert "made wheel" in make()


def test_the_source_distribution_can_be_tested_and_leaves_out_what_was_made(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        tops = {Path(name).parts[1] for name in source.getnames() if len(Path(name).parts) > 1}
        outputs = [name for name in source.getnames() if "/outputs/" in name]
    assert {"workbench", "notebooks", "tests", "docs", "experiments", "pyproject.toml", "README.md", "LICENSE"} <= tops
    assert not tops & {".venv", "dist", "build", ".ci", "shared"}
    assert [Path(name).name for name in outputs] == ["README.md"]


@pytest.mark.slow
def test_the_unpacked_wheel_runs_a_sweep_without_the_checkout(wheel: Path, workplace: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(workplace / "site")
    environment = os.environ | {"PYTHONPATH": str(workplace / "site")}
    command = [sys.executable, "-c", COMMAND, str(ROOT), "sweep", "tiny.yaml"]
    done = subprocess.run(command, cwd=workplace, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(workplace / "site" / "workbench"))
    check_sweep(workplace)


@pytest.mark.soak
def test_the_wheel_without_extras_is_the_core(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It has the code that refuses connections.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    assert installer.install(python, [str(wheel)], installer.uv_command(python))
    pip_alone = {"pip", "setuptools", "uv"}
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "freeze"], capture_output=True, text=True, env=outside(), check=True)
    packages = {line.partition("==")[0].partition(" @")[0] for line in listed.stdout.splitlines()} - pip_alone
    assert len(packages) <= 40, sorted(packages)
    assert installer.install(python, ["pytest"], installer.uv_command(python))
    (tmp_path / "work").mkdir()
    assert "test_by_the_plugin" in run_jobs(python, tmp_path / "work", env=outside())


@pytest.mark.soak
def test_the_wheel_shows_its_recording_as_a_tool_of_uv(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    found = installer.uv_command(Path(sys.executable))
    assert found
    command, environment = found
    words = [*command, "tool", "run", "--from", str(wheel), NAME, "demo"]
    done = subprocess.run(words, cwd=tmp_path, env=outside() | dict(environment), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A recording of the experiment quickstart")
    assert (tmp_path / "outputs/demo/report.html").is_file()


@pytest.mark.soak
def test_the_wheel_alone_in_an_empty_environment_runs_a_sweep_and_the_tutorial(wheel: Path, workplace: Path) -> None:
    installed, tutorial = (path.read_text("utf-8") for path in (ROOT / "install.py", TUTORIAL))
    (torch,) = set(re.findall(r"torch==[\d.]+", installed))
    assert f"`pip install {torch}`, then `pip install '{wheel.name}[sweep,lab]'`" in tutorial
    place, environment = install(workplace / "venv", torch), outside()
    pip(place, "install", f"{wheel}[sweep,lab]")
    done = subprocess.run(
        [place / "workbench", "sweep", "tiny.yaml"], cwd=workplace, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    check_sweep(workplace)
    (workplace / "why.py").write_text(
        "import workbench.components.embedding.sentence_transformers as b; print(b.encoder_of('all-MiniLM-L6-v2', 'auto').why)"
    )
    done = subprocess.run([place / "python", "why.py"], cwd=workplace, env=environment, capture_output=True, text=True, timeout=300)
    assert f"pip install '{wheel}[fast]'" in done.stdout
    # The parts before need the checkout.
    Reader(workplace, place).follow(lesson_blocks(tutorial[tutorial.index("\n## 3. ") :]))
    assert (workplace / "outputs" / "bees" / "report.html").is_file()
