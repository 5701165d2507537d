from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import workbench
from workbench.core.environment import advice

WITHOUT = """
import sys
sys.modules["mcp"] = None
from workbench.cli.main import main
try: main(["mcp", sys.argv[1]])
except SystemExit as end: print(end.code)
"""


@pytest.mark.parametrize("outputs", ["../outputs", "/tmp", "linked"])
def test_outputs_outside_of_the_folder_are_refused(tmp_path: Path, outputs: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "linked").symlink_to(tmp_path)
    done = workbench("mcp", folder, "--outputs", outputs)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"--outputs '{outputs}' leads outside of the working folder; give a path inside" in done.stderr


def test_without_the_packages_of_its_extra_it_says_what_to_install(tmp_path: Path, start: Callable) -> None:
    out, err = start(WITHOUT, tmp_path).communicate(timeout=100)
    assert out.strip() == "2"
    assert err.strip().endswith(f"workbench mcp needs mcp; {advice('targets')}")
    assert len(err.splitlines()) == 1
