"""Small inputs of reviewers that gave a wrong value once: each script prints the right one.

They lie beside the big sets and are not part of the product, whose own tests have the same inputs made anew.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

CASES = (ROOT / os.environ.get("WORKBENCH_DATA", "../shared/data")).resolve().parent / "cases"
# The scripts import modules by the names that these had when they were written.
MOVED = {
    "workbench.judging.base": "workbench.components.judging.base",
    "workbench.judging.prompting.replies": "workbench.components.judging.replies",
    "workbench.judging.prompting.structured": "workbench.components.judging.replies",
    "workbench.records": "workbench.core.records",
    "workbench.retrieval.bm25": "workbench.components.retrieval.bm25",
}
# What each script prints, in this order, and what it does not print.
PRINTED: dict[str, tuple[list[str], list[str]]] = {
    "answer-recall-without-blanks": ([r"^sentence-64\S* +1\.000 .* 4  ", r"answer_recall +1\.0"], []),
    "bm25-without-blanks": (
        [r"^sentence-64\S* +1\.000 .* 4  ", r"'नमस्ते', 'दुनिया'", r"\['café', 'café'\]", r"'c', 'and', 'section', '5'", r"\['3\.14'\]"],
        [r"\['图书馆周六几点关门'\]"],
    ),
    "braces-in-path": ([r"^sentence-64\S* +1\.000", r"^sentence-64\S* +1\.000"], ["FAILED", "unexpected"]),
    "docx-silent-losses": (["Total: 420 euros", "π r²", "東京に行く", "call 112 in an emergency"], ["SECRET", "\u00ad"]),
    "error-200": (
        [r"429: Rate limit exceeded: free-models-per-min", r"^sentence-64\S*parts\S* +1\.000 .* 4  ", r"^sentence-64\S*error_200\S* +–"],
        ["Error\\)"],
    ),
    "judge-rating-scale": ([*[r"unreadable"] * 3, r'"8"} 0\.8$', r'"8/10"} 0\.8$'], [r" 0\.08", r" 0\.1$"]),
    "judge-zero-based-claims": ([*[r" None "] * 3], ["supported"]),
    "mcp-lists-and-numbers": ([r"^small +0\.667 .* 6  ", r"^small +1\.000 .* 4  ", r"^small +1\.000 .* 4  "], ["did not serve"]),
    "pdf-line-end-hyphens": (
        ["non-English", "price-determining factors. All", "COVID-19", "Ein- und Ausfuhr", "register", "AB-1234-X", "foo-bar", "2019-2020"],
        ["2019- 2020"],
    ),
    "pdf-unmapped-font": ([r"skipped: rules\.pdf has no text for 166 of its 182 characters", "0 documents from 1 file"], []),
    "think-in-answers": (
        [
            r"^sentence-64\S*plain\S* +1\.000",
            r"^sentence-64\S*think_right\S* +1\.000",
            r"^sentence-64\S*wrong\S* +0\.000",
            r"^sentence-64\S*think_wrong\S* +0\.000",
            r"^sentence-64\S*think_cut\S* +– .* 0  ",
        ],
        ["<think>"],
    ),
    "trec-run-empty-questions": ([r"^sentence-64\S* +0\.667 .* 6  ", r"^same-run +0\.667 .* 6  "], []),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", PRINTED)
def test_the_script_prints_the_right_value(case: str, tmp_path: Path) -> None:
    if not (CASES / case).is_dir():
        pytest.skip(f"the case {case} is not in {CASES}: set WORKBENCH_DATA")
    shutil.copytree(CASES / case, tmp_path / case)
    for script in (*(tmp_path / case).glob("*.py"), tmp_path / case / "run.sh"):
        text = script.read_text("utf-8")
        for old, new in MOVED.items():
            text = text.replace(f"from {old} import", f"from {new} import")
        # A configuration that is not at its defaults says so in its name.
        text = text.replace("runs/sentence-64.trec", "runs/sentence-64-bm25.trec")
        script.write_text(text, "utf-8")
    shell = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment = {**shell, "WB": str(Path(sys.executable).parent), "OUT": str(tmp_path / "out")}
    done = subprocess.run(
        ["sh", str(tmp_path / case / "run.sh")], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    rest = done.stdout
    wanted, unwanted = PRINTED[case]
    for pattern in wanted:
        found = re.search(pattern, rest, re.MULTILINE)
        assert found, f"{pattern} is not in what is left of {done.stdout}{done.stderr}"
        rest = rest[found.end() :]
    assert not [pattern for pattern in unwanted if re.search(pattern, done.stdout, re.MULTILINE)], done.stdout


def test_every_case_is_tested() -> None:
    if not CASES.is_dir():
        pytest.skip(f"the cases are not in {CASES.parent}: set WORKBENCH_DATA")
    assert {place.name for place in CASES.iterdir() if place.is_dir()} == set(PRINTED)
