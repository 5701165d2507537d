"""The command `judge fetch`."""

from pathlib import Path

from click.testing import CliRunner

from workbench.cli.judge import MODELS
from workbench.cli.main import main
from workbench.llm.models.downloads import PUBLISHED


def test_the_models_are_those_that_are_published() -> None:
    assert tuple(PUBLISHED) == MODELS


def test_a_wrong_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    result = CliRunner().invoke(
        main, ["judge", "fetch", "smollm2-135m", "--from", str(tmp_path / "mine.gguf"), "--to", str(tmp_path / "to")]
    )
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"workbench: {tmp_path}/mine.gguf is not the published SmolLM2-135M-Instruct.Q4_1.gguf: its sha256 is another;")


def test_a_local_file_is_verified_and_its_settings_are_printed(gguf: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["judge", "fetch", "smollm2-135m", "--from", str(gguf), "--to", str(tmp_path)])
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first == f"{tmp_path}/{gguf.name}: 98,362,432 bytes, sha256 b179c9523d0e…, Apache-2.0"
    assert second == f"judge with it: judging: {{support: {{kind: local, path: {tmp_path}/{gguf.name}}}}}"
    assert (tmp_path / gguf.name).stat().st_size == 98_362_432
