"""Nothing but a WorkbenchError leaves the reader of experiments. `make soak` tries many more."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.wild_experiments import BASES, check_file, check_settings, wild_override, wild_settings, wild_text
from workbench.experiment.read import experiment_of

EXAMPLES = settings(max_examples=150)


@pytest.fixture(scope="module", autouse=True)
def _offline() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wild") / "x.yaml"


def test_what_is_changed_is_valid() -> None:
    for base in BASES:
        assert experiment_of(base, "x.yaml").configurations


@EXAMPLES
@given(settings=wild_settings())
def test_wild_settings_are_read_or_refused(settings) -> None:
    check_settings(settings)


@EXAMPLES
@given(text=wild_text())
def test_wild_text_is_read_or_refused(path: Path, text: str) -> None:
    check_file(path, text)


@EXAMPLES
@given(override=wild_override())
def test_wild_overrides_are_taken_or_refused(path: Path, override: str) -> None:
    check_file(path, Path("experiments/quickstart.yaml").read_text("utf-8"), override)
