"""The page about functions: its module is evaluated by its experiment, on the command line."""

import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.docs.conftest import DOCS, ROOT, WORKBENCH, blocks

pytestmark = pytest.mark.slow

PAGE = DOCS / "how-to" / "evaluate_a_function.md"


def test_the_experiment_of_the_page_evaluates_its_module(tmp_path: Path) -> None:
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    (tmp_path / "my_rag.py").write_text(blocks(PAGE, "python")[0])
    (tmp_path / "my_function.yaml").write_text(blocks(PAGE, "yaml")[0])
    command = [str(WORKBENCH), "sweep", "my_function.yaml"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    refused = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert refused.returncode == 2
    assert "--allow-code" in refused.stderr
    done = subprocess.run([*command, "--allow-code"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    metrics = pd.read_parquet(tmp_path / "outputs" / "my-function" / "metrics.parquet")
    means = metrics[metrics["slice"] == "all"].set_index("metric")["value"]
    assert 0.2 < means["recall@5"] < 1
    assert means["answer_recall"] > 0
