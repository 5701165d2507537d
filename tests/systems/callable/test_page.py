"""The page about functions: its module is evaluated by its experiment, on the command line."""

from pathlib import Path

import pandas as pd
import pytest

from tests import forked
from tests.docs.conftest import DOCS, ROOT, blocks

pytestmark = pytest.mark.slow

PAGE = DOCS / "how-to" / "evaluate_your_system.md"
SECTION = "A function"


def test_the_experiment_of_the_page_evaluates_its_module(tmp_path: Path) -> None:
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    (tmp_path / "my_rag.py").write_text(blocks(PAGE, "python", SECTION)[0])
    (tmp_path / "my_function.yaml").write_text(blocks(PAGE, "yaml", SECTION)[0])
    command = ["sweep", "my_function.yaml"]
    refused = forked.run(*command, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--allow-code" in refused.stderr
    done = forked.run(*command, "--allow-code", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    metrics = pd.read_parquet(tmp_path / "outputs" / "my-function" / "metrics.parquet")
    means = metrics[metrics["slice"] == "all"].set_index("metric")["value"]
    assert 0.2 < means["recall@5"] < 1
    assert means["answer_recall"] > 0
