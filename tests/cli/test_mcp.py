from pathlib import Path

import pytest

from tests.commands import workbench


@pytest.mark.parametrize("outputs", ["../outputs", "/tmp", "linked"])
def test_outputs_outside_of_the_folder_are_refused(tmp_path: Path, outputs: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "linked").symlink_to(tmp_path)
    done = workbench("mcp", folder, "--outputs", outputs)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"--outputs '{outputs}' leads outside of the working folder; give a path inside" in done.stderr
