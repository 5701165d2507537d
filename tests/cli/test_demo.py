"""The recorded run that comes with the package: it opens as any run does, and says what it is."""

import html
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

import workbench as wb
from tests.commands import workbench
from tests.docs.conftest import ROOT
from workbench.cli.demo import RECORDING, _copied
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.registry import summary_lines


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return workbench("demo").stdout


def test_the_verdict_the_page_and_the_tables_are_there(shown: str) -> None:
    results = wb.load("outputs/demo")
    assert f"at commit {results.manifest['commit'][:12]}. Nothing was computed here." in shown
    assert "pip install 'rag-workbench[sweep]', then workbench demo --repeat" in shown
    for line in summary_lines(RunTables.read(Path("outputs/demo"))):
        assert " ".join(line.split()) in " ".join(shown.split())
    assert len(results.leaderboard()) == 12
    page = Path("outputs/demo/report.html").read_text("utf-8")
    (headline,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", headline)).split())
    assert words.replace(" )", ")").replace("( ", "(") in " ".join(shown.split())


def test_a_second_call_shows_it_again_and_another_run_in_its_place_is_kept(shown: str) -> None:
    assert workbench("demo").stdout == shown
    place = Path("outputs/demo/manifest.json")
    place.write_text(place.read_text("utf-8").replace('"quickstart"', '"mine"'), "utf-8")
    done = workbench("demo")
    assert done.returncode == 2
    assert "outputs/demo is not the recording; move it away, or give another --outputs" in done.stderr
    assert '"mine"' in place.read_text("utf-8")


DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "a table gone": lambda folder: (folder / "metrics.parquet").unlink(),
    "a manifest cut": lambda folder: os.truncate(folder / "manifest.json", 9),
    "a link to nowhere": lambda folder: (shutil.rmtree(folder), folder.symlink_to("nowhere")),
}


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_part_of_the_recording_or_a_link_to_nowhere_is_not_the_recording(damage: str) -> None:
    place = Path("outputs/demo")
    DAMAGES[damage](place)
    done = workbench("demo")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["workbench: outputs/demo is not the recording; move it away, or give another --outputs"]


def test_calls_at_the_same_time_show_the_same_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(3) as pool:
        copies = [pool.submit(_copied, Path("outputs/demo")) for _ in range(24)]
    assert [copy.result() for copy in copies] == [Path("outputs/demo")] * 24
    assert [path.name for path in Path("outputs").iterdir()] == ["demo"]
    assert {path.name for path in Path("outputs/demo").iterdir()} == {path.name for path in RECORDING.iterdir()}


def test_it_is_a_run_of_the_shipped_experiment_by_committed_code_without_a_path_of_its_machine() -> None:
    manifest = json.loads((RECORDING / "manifest.json").read_text("utf-8"))
    experiment = yaml.safe_load((ROOT / "experiments/quickstart.yaml").read_text("utf-8"))
    assert manifest["experiment"] == experiment
    assert re.fullmatch(r"[0-9a-f]{40}", manifest["commit"])
    assert sum(path.stat().st_size for path in RECORDING.iterdir()) <= 4_000_000
    for path in (RECORDING / "manifest.json", RECORDING / "report.html"):
        assert not re.search(r"/(?:home|root|tmp|work|Users)/", path.read_text("utf-8")), path
