"""Follow docs/ci.md in a fresh folder: its baseline, the steps of its workflows, a change that must fail.

Its experiment is swept with BM25 and without answers, in a moment. Further outputs begin with the store of the first.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from multiprocessing.connection import Client, Listener
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.docs.conftest import DOCS, blocks
from tests.forked import run

pytestmark = pytest.mark.slow

PAGE = DOCS / "ci.md"
EXPERIMENT = Path("experiments/rag.yaml")
FAST = {"chunking": {"kind": "markdown", "size": 256, "enrich": True}, "retrieval": {"kind": "bm25"}}
# What a shell runs as `workbench`: it imports nothing and hands its words to a process that has the imports.
PROGRAM = """#!{python} -IS
import os, sys
from multiprocessing.connection import Client

with Client({address!r}) as tests:
    tests.send((sys.argv[1:], os.getcwd(), dict(os.environ)))
    out, error, code = tests.recv()
sys.stdout.write(out)
sys.stderr.write(error)
sys.exit(code)
"""


class Checkout:
    """A repository as the page describes it, with a shell that finds `workbench` in the folder `programs`."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs

    def shell(self, script: str, code: int = 0, **environment: object) -> str:
        """Run a script as GitHub Actions runs a step, and check its exit code."""
        author = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own = {"PATH": f"{self._programs}{os.pathsep}{os.environ['PATH']}", **author}
        own |= {name: str(value) for name, value in environment.items()}
        words = ["bash", "-e", "-o", "pipefail", "-c", script]
        done = subprocess.run(words, cwd=self.folder, env=os.environ | own, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, f"{script}\nexited with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def share_store(self, *outputs: str) -> None:
        """Begin other outputs with the results of the first, which nothing random has made."""
        for name in outputs:
            shutil.copytree(self.folder / "outputs" / ".store", self.folder / name / ".store")

    def set(self, **changes: object) -> None:
        """Change keys of the experiment."""
        path = self.folder / EXPERIMENT
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text("utf-8")) | changes, sort_keys=False), "utf-8")


def ci_file(place: int) -> dict:
    return yaml.safe_load(blocks(PAGE, "yml")[place])


def step(steps: list[dict], name: str) -> str:
    (found,) = [each["run"] for each in steps if each.get("name", "").startswith(name)]
    return found


GITHUB, GITLAB, TWO_STAGES = range(3)


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Iterator[Path]:
    """A folder with the program `workbench`."""
    folder = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch, Listener() as listener, ThreadPoolExecutor(1) as pool:
        for name in [name for name in os.environ if name.startswith(("GITHUB_", "WORKBENCH_STORE"))]:
            patch.delenv(name)
        (folder / "workbench").write_text(PROGRAM.format(python=sys.executable, address=listener.address))
        (folder / "workbench").chmod(0o700)
        pool.submit(run_commands, listener)
        yield folder
        with Client(listener.address) as last:
            last.send(None)


def run_commands(listener: Listener) -> None:
    """Run what the program receives, until nothing is received."""
    while True:
        with listener.accept() as program:
            received = program.recv()
            if received is None:
                return
            words, folder, environment = received
            done = run(*words, cwd=Path(folder), env=environment)
            program.send((done.stdout, done.stderr, done.returncode))


@pytest.fixture(scope="module")
def begun(tmp_path_factory, handbook_part, programs) -> Path:
    """The repository after the first commands of the page: a sweep, a baseline, a commit."""
    place = Checkout(tmp_path_factory.mktemp("ci"), programs)
    shutil.copytree(handbook_part, place.folder / "data")
    (place.folder / EXPERIMENT).parent.mkdir()
    (place.folder / EXPERIMENT).write_text(blocks(PAGE, "yaml")[0], "utf-8")
    (place.folder / ".gitignore").write_text("outputs/\n", "utf-8")
    place.set(pipeline=FAST, metrics=["span_recall@2000t", "recall@5"])
    place.shell("git init -q .\n" + blocks(PAGE, "bash")[0])
    return place.folder


@pytest.fixture
def first(begun, programs, tmp_path) -> Checkout:
    """A copy of it, which a test may change."""
    return Checkout(shutil.copytree(begun, tmp_path / "checkout"), programs)


@pytest.fixture(scope="module")
def steps() -> list[dict]:
    return ci_file(GITHUB)["jobs"]["gate"]["steps"]


def test_the_baseline_is_committed_and_the_outputs_are_not(first):
    assert first.shell("git ls-files").splitlines() == [
        "baselines/rag.json",
        "data/documents.jsonl",
        "data/questions.jsonl",
        "experiments/rag.yaml",
    ]


def test_an_unchanged_commit_passes_on_github_with_a_summary_and_what_is_cached_and_kept(first, steps, tmp_path):
    first.shell(step(steps, "sweep"))
    shown = first.shell(step(steps, "gate"), GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=tmp_path / "summary.md")
    assert "identical on 59 questions" in shown
    assert "::error" not in shown
    assert "pass" in (tmp_path / "summary.md").read_text("utf-8")
    suite = ElementTree.parse(first.folder / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (cache,) = [each["with"] for each in steps if each.get("uses", "").startswith("actions/cache")]
    assert (first.folder / cache["path"].split()[0]).is_dir()
    assert cache["key"].startswith(cache["restore-keys"])
    (kept,) = [each["with"] for each in steps if each.get("uses", "").startswith("actions/upload")]
    assert all((first.folder / name).is_file() for name in kept["path"].split())


def test_the_steps_of_gitlab_pass_and_write_what_is_cached_and_kept(first):
    job = ci_file(GITLAB)["rag"]
    first.shell("\n".join(job["script"]))
    assert (first.folder / job["cache"]["paths"][0]).is_dir()
    for name in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
        assert (first.folder / name).is_file(), name


@pytest.mark.parametrize(
    "changed",
    ["prompts/answer.txt", "src/app/rag.py", "data/questions.jsonl", "experiments/rag.yaml", "baselines/rag.json", "wheels/w.whl"],
)
def test_both_jobs_run_on_changes_to_prompts_chunking_code_and_data(changed):
    # YAML 1.1 reads the key `on` as true.
    triggers = ci_file(GITHUB)[True]
    assert triggers["push"]["paths"] == triggers["pull_request"]["paths"]
    for patterns in (triggers["pull_request"]["paths"], ci_file(GITLAB)["rag"]["rules"][0]["changes"]):
        assert any(fnmatch(changed, pattern.replace("**/*", "*").replace("**", "*")) for pattern in patterns)
        assert not any(fnmatch("README.md", pattern) for pattern in patterns)


def test_a_second_run_of_both_sides_passes_if_nothing_changed(first, tmp_path):
    one, two = blocks(PAGE, "yml")[TWO_STAGES], tmp_path / "output"
    gate, decide = (each["run"] for each in yaml.safe_load(one))
    first.shell(gate, GITHUB_OUTPUT=two)
    assert two.read_text() == "alarms=0\n"
    # Nothing here is random, so the second step is run although there is no alarm.
    first.share_store("again/base", "again/head")
    assert "pass" in first.shell(decide)
    assert (first.folder / "again/base/rag/manifest.json").is_file()


def test_a_baseline_can_be_the_mean_of_three_outputs(first):
    first.share_store("second", "third")
    first.shell(blocks(PAGE, "bash")[1])
    assert '"runs": 3' in (first.folder / "baselines/rag.json").read_text("utf-8")


def test_a_change_that_breaks_retrieval_fails_and_is_accepted_by_a_reviewed_baseline(first, steps, tmp_path):
    first.set(pipeline=FAST | {"chunking": {"kind": "markdown", "size": 24}})
    first.shell(step(steps, "sweep"))
    shown = first.shell(step(steps, "gate"), code=1, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=tmp_path / "summary.md")
    assert re.search(r"^FAIL +span_recall@2000t not below baselines/rag.json", shown, re.MULTILINE)
    assert re.search(r"^::error ", shown, re.MULTILINE)
    assert "hb-0" in (tmp_path / "summary.md").read_text("utf-8")
    assert ElementTree.parse(first.folder / "gate.xml").getroot().get("failures") != "0"
    update, release = blocks(PAGE, "bash")[2:4]
    assert "baselines/rag.json" in first.shell(update)
    first.shell(step(steps, "gate"))
    first.shell("git show HEAD~1:baselines/rag.json > baselines/before.json")
    first.shell(release)
    first.shell(release.splitlines()[1].replace("release.json", "before.json"), code=1)


def test_the_exit_codes_of_the_page_are_those_of_the_command(first):
    listed = re.findall(r"^\| (\d) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed == ["0", "1", "2", "4"]
    first.shell("workbench gate outputs/rag --fail-below recall@5=1.1", code=2)
