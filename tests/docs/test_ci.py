"""Follow docs/ci.md in a fresh folder: its baseline, the steps of its workflows and of the action, a change that must fail.

Its experiment is swept with BM25 and without answers, in a moment. Further outputs begin with the store of the first.
"""

import json
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

from tests.docs.conftest import DOCS, ROOT, blocks
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


GITHUB, GITLAB, TWO_STAGES, HOOKS = range(4)
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


class Action:
    """The composite action with the inputs of a workflow's step, run by a shell."""

    def __init__(self, step: dict, output: Path) -> None:
        assert step["uses"] == "OWNER/workbench@main"
        assert step["with"].keys() <= ACTION["inputs"].keys()
        self.inputs = {name: each.get("default") for name, each in ACTION["inputs"].items()} | step["with"]
        self.output = output

    def run(self, place: Checkout, name: str, code: int = 0, **environment: object) -> str:
        """Run a step of the action, and return what it printed."""
        (found,) = [each for each in ACTION["runs"]["steps"] if each.get("name") == name]
        assert found["shell"] == "bash"
        assert "${{" not in found["run"]
        variables = {variable: self.value(text) for variable, text in found["env"].items()}
        return place.shell(found["run"], code, GITHUB_OUTPUT=self.output, **variables, **environment)

    def value(self, text: str) -> str:
        """Fill in the expressions of a value of the action."""

        def filled(match: re.Match[str]) -> str:
            kind, _, name = match[1].partition(".")
            value = {
                "inputs": self.inputs,
                "github": {"action_path": ROOT},
                "steps": {f"gate.outputs.{n}": v for n, v in self.outputs.items()},
            }[kind][name]
            return str(value).lower() if isinstance(value, bool) else str(value)

        return re.sub(r"\$\{\{ (\S+) \}\}", filled, text)

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of the step `gate`."""
        return dict(line.split("=", 1) for line in self.output.read_text("utf-8").splitlines()) if self.output.is_file() else {}


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


@pytest.fixture
def action(steps, tmp_path) -> Action:
    return Action(steps[-1], tmp_path / "output")


def test_the_baseline_is_committed_and_the_outputs_are_not(first):
    assert first.shell("git ls-files").splitlines() == [
        "baselines/rag.json",
        "data/documents.jsonl",
        "data/questions.jsonl",
        "experiments/rag.yaml",
    ]


def test_an_unchanged_commit_passes_on_github_with_a_summary_and_what_is_cached_and_kept(first, steps, action, tmp_path):
    action.run(first, "sweep")
    # A package of the name of the run is no run.
    (first.folder / "rag").mkdir()
    shown = action.run(first, "gate", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=tmp_path / "summary.md")
    assert "identical on 59 questions" in shown
    assert "::error" not in shown
    assert "pass" in (tmp_path / "summary.md").read_text("utf-8")
    suite = ElementTree.parse(first.folder / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (cache,) = [each["with"] for each in steps if each.get("uses", "").startswith("actions/cache")]
    assert (first.folder / cache["path"].split()[0]).is_dir()
    assert cache["key"].startswith(cache["restore-keys"])
    assert action.outputs == {"exit-code": "0", "alarms": "0", "folder": "outputs/rag"}
    (kept,) = [each for each in ACTION["runs"]["steps"] if each.get("uses", "").startswith("actions/upload")]
    assert all((first.folder / name).is_file() for name in action.value(kept["with"]["path"]).split())


def test_the_steps_of_gitlab_pass_and_write_what_is_cached_and_kept(first):
    job = ci_file(GITLAB)["rag"]
    first.shell("\n".join(job["script"]))
    assert (first.folder / job["cache"]["paths"][0]).is_dir()
    for name in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
        assert (first.folder / name).is_file(), name


@pytest.mark.parametrize(
    "changed",
    ["prompts/answer.txt", "src/app/rag.py", "data/questions.jsonl", "experiments/rag.yaml", "baselines/rag.json", "pyproject.toml"],
)
def test_both_jobs_run_on_changes_to_prompts_chunking_code_and_data(changed):
    # YAML 1.1 reads the key `on` as true.
    triggers = ci_file(GITHUB)[True]
    assert triggers["push"]["paths"] == triggers["pull_request"]["paths"]
    for patterns in (triggers["pull_request"]["paths"], ci_file(GITLAB)["rag"]["rules"][0]["changes"]):
        assert any(fnmatch(changed, pattern.replace("**/*", "*").replace("**", "*")) for pattern in patterns)
        assert not any(fnmatch("README.md", pattern) for pattern in patterns)


def test_a_second_run_of_both_sides_passes_if_nothing_changed(first, tmp_path):
    gate, decide = yaml.safe_load(blocks(PAGE, "yml")[TWO_STAGES])
    Action(gate, tmp_path / "held").run(first, "gate")
    assert decide["if"] == "steps.gate.outputs.alarms != '0'"
    # Nothing here is random, so the second step is run although there is no alarm.
    first.share_store("again/base", "again/head")
    assert "pass" in first.shell(decide["run"])
    assert (first.folder / "again/base/rag/manifest.json").is_file()


def test_a_baseline_can_be_the_mean_of_three_outputs(first):
    first.share_store("second", "third")
    first.shell(blocks(PAGE, "bash")[1])
    assert '"runs": 3' in (first.folder / "baselines/rag.json").read_text("utf-8")


def test_a_change_that_breaks_retrieval_fails_and_is_accepted_by_a_reviewed_baseline(first, action, tmp_path):
    first.set(pipeline=FAST | {"chunking": {"kind": "markdown", "size": 24}})
    action.run(first, "sweep")
    shown = action.run(first, "gate", code=1, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=tmp_path / "summary.md")
    assert re.search(r"^FAIL +span_recall@2000t not below baselines/rag.json", shown, re.MULTILINE)
    assert re.search(r"^::error ", shown, re.MULTILINE)
    assert "hb-0" in (tmp_path / "summary.md").read_text("utf-8")
    assert ElementTree.parse(first.folder / "gate.xml").getroot().get("failures") != "0"
    update, release = blocks(PAGE, "bash")[2:4]
    assert "baselines/rag.json" in first.shell(update)
    action.run(first, "gate")
    first.shell("git show HEAD~1:baselines/rag.json > baselines/before.json")
    first.shell(release)
    first.shell(release.splitlines()[1].replace("release.json", "before.json"), code=1)


def test_the_exit_codes_of_the_page_are_those_of_the_command(first):
    listed = re.findall(r"^\| (\d) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed == ["0", "1", "2", "4"]
    first.shell("workbench gate outputs/rag --fail-below recall@5=1.1", code=2)


def test_the_action_reads_no_input_as_a_command_and_leaves_an_alarm_to_a_later_step(first, tmp_path):
    odd = {"uses": "OWNER/workbench@main", "with": {"run": "$(touch ran); echo", "options": "--rule recall@5>=0;touch${IFS}ran"}}
    action = Action(odd, tmp_path / "output")
    assert not action.run(first, "gate", code=2)
    assert not (first.folder / "ran").exists()
    first.shell("workbench sweep experiments/rag.yaml")
    lines = "--rule 'recall@5 >= 0.01'\n--rule \"span_recall@2000t >= {}\"\n"
    for least, code in ((0.01, 0), (1, 1)):
        both = {"uses": odd["uses"], "with": {"run": "rag", "options": lines.format(least)}}
        shown = Action(both, tmp_path / f"lines-{code}").run(first, "gate", code=code)
        assert "recall@5 >= 0.01" in shown
        assert f"span_recall@2000t >= {least}" in shown
    Action({"uses": odd["uses"], "with": {"run": "rag", "options": "--rule 'recall@5"}}, tmp_path / "quote").run(first, "gate", code=2)
    # The gate decides whether the questions that a sweep could not ask are too many.
    (sweep,) = [each["run"] for each in ACTION["runs"]["steps"] if each.get("name") == "sweep"]
    for end, code in ((0, 0), (3, 0), (1, 1), (2, 1)):
        first.shell(f"workbench() {{ return {end}; }}\n{sweep}", code, EXPERIMENT="experiments/rag.yaml")
    # A drop that another run may not repeat: the run says that a server reranked its hits.
    first.set(pipeline=FAST | {"chunking": {"kind": "markdown", "size": 24}})
    first.shell("workbench sweep experiments/rag.yaml")
    manifest = first.folder / "outputs/rag/manifest.json"
    content = json.loads(manifest.read_text("utf-8"))
    (configuration,) = content["configurations"].values()
    configuration["retrieval"]["rerank"] = {"kind": "endpoint"}
    manifest.write_text(json.dumps(content), "utf-8")
    for held, code in ((False, 4), (True, 0)):
        action = Action({"uses": odd["uses"], "with": {"run": "rag", "hold-alarms": held}}, tmp_path / f"output-{held}")
        action.run(first, "gate", code=code)
        assert action.outputs == {"exit-code": "4", "alarms": "1", "folder": "outputs/rag"}


def test_the_hooks_check_the_dataset_and_strip_notebooks(first):
    hooks = {each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    (repository,) = ci_file(HOOKS)["repos"]
    used = {each["id"]: each for each in repository["hooks"]}
    assert used.keys() == hooks.keys()
    check, strip = hooks["workbench-dataset-check"], hooks["workbench-strip-notebooks"]
    words = " ".join([check["entry"], *used[check["id"]]["args"]])
    assert "; 0 faults" in first.shell(words)
    notebook = first.folder / "n.ipynb"
    notebook.write_text(
        (ROOT / "notebooks/start.ipynb")
        .read_text("utf-8")
        .replace('"outputs": []', '"outputs": [{"name": "stdout", "output_type": "stream", "text": ["secret"]}]', 1),
        "utf-8",
    )
    assert "secret" in notebook.read_text("utf-8")
    first.shell(f"{Path(sys.executable).parent / strip['entry']} n.ipynb")
    assert "secret" not in notebook.read_text("utf-8")
    (first.folder / "data/questions.jsonl").write_text('{"query": 3}\n', "utf-8")
    first.shell(words, code=1)
