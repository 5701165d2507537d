"""The reader of experiments on many thousands of wild files, settings and overrides, others on each run."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.wild_experiments import check_file, check_settings, wild_override, wild_settings, wild_text

MANY = settings(max_examples=10_000, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", autouse=True)
def _offline() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wild") / "x.yaml"


@pytest.mark.soak
@MANY
@given(settings=wild_settings())
def test_wild_settings_are_read_or_refused(settings) -> None:
    check_settings(settings)


@pytest.mark.soak
@MANY
@given(text=wild_text())
def test_wild_text_is_read_or_refused(path: Path, text: str) -> None:
    check_file(path, text)


@pytest.mark.soak
@MANY
@given(override=wild_override())
def test_wild_overrides_are_taken_or_refused(path: Path, override: str) -> None:
    check_file(path, Path("experiments/quickstart.yaml").read_text("utf-8"), override)
