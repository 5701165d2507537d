"""Follow docs/ci.md in a fresh folder: its baseline, the steps of its workflows, a change that must fail.

Its experiment is swept with BM25 and without answers, in a moment. Further outputs begin with the store of the first.
"""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.docs.conftest import DOCS, ROOT, blocks

pytestmark = pytest.mark.slow

PAGE = DOCS / "ci.md"
EXPERIMENT = Path("experiments/rag.yaml")


FAST = {"chunking": {"kind": "markdown", "size": 256, "enrich": True}, "retrieval": {"kind": "bm25"}}


class Checkout:
    """A repository as the page describes it, with a shell in it."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder = folder
        (folder / "data").mkdir()
        for file in data.iterdir():
            (folder / "data" / file.name).write_bytes(file.read_bytes())
        (folder / "experiments").mkdir()
        (folder / EXPERIMENT).write_text(blocks(PAGE, "yaml")[0], "utf-8")
        (folder / ".gitignore").write_text("outputs/\n", "utf-8")
        self.shell("git init -q .")

    def shell(self, script: str, code: int = 0, **environment: object) -> str:
        """Run a script as GitHub Actions runs a step, and check its exit code."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        author = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own = {"PATH": path, "PYTHONPATH": str(ROOT), **author, **{name: str(value) for name, value in environment.items()}}
        left = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "WORKBENCH_STORE"))}
        words = ["bash", "-e", "-o", "pipefail", "-c", script]
        done = subprocess.run(words, cwd=self.folder, env=left | own, capture_output=True, text=True, timeout=300)
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
def first(tmp_path_factory, handbook_part) -> Checkout:
    """The repository after the first commands of the page: a sweep, a baseline, a commit."""
    place = Checkout(tmp_path_factory.mktemp("ci"), handbook_part)
    place.set(pipeline=FAST, metrics=["span_recall@2000t", "recall@5"])
    place.shell(blocks(PAGE, "bash")[0])
    return place


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


def test_an_unchanged_commit_passes_on_github_with_a_summary(first, steps, tmp_path):
    first.shell(step(steps, "sweep"))
    shown = first.shell(step(steps, "gate"), GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=tmp_path / "summary.md")
    assert "identical on 59 questions" in shown
    assert "::error" not in shown
    assert "pass" in (tmp_path / "summary.md").read_text("utf-8")
    suite = ElementTree.parse(first.folder / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")


def test_the_steps_of_gitlab_pass_and_write_their_artifacts(first):
    job = ci_file(GITLAB)["rag"]
    first.shell("\n".join(job["script"]))
    for name in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
        assert (first.folder / name).is_file(), name


def test_what_the_jobs_cache_and_keep_is_where_the_commands_write_it(first, steps):
    (cache,) = [each["with"] for each in steps if each.get("uses", "").startswith("actions/cache")]
    for folder in (cache["path"].split()[0], ci_file(GITLAB)["rag"]["cache"]["paths"][0]):
        assert (first.folder / folder).is_dir()
    assert cache["key"].startswith(cache["restore-keys"])
    (kept,) = [each["with"] for each in steps if each.get("uses", "").startswith("actions/upload")]
    first.shell(step(steps, "gate"))
    assert all((first.folder / name).is_file() for name in kept["path"].split())


@pytest.mark.parametrize(
    "changed", ["prompts/answer.txt", "src/app/rag.py", "data/questions.jsonl", "experiments/rag.yaml", "baselines/rag.json"]
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
    first.shell("git worktree remove --force base; rm -r again")


def test_a_baseline_can_be_the_mean_of_three_outputs(first):
    first.share_store("second", "third")
    first.shell(blocks(PAGE, "bash")[1])
    assert '"runs": 3' in (first.folder / "baselines/rag.json").read_text("utf-8")
    first.shell("git checkout -q baselines; rm -r second third")


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
