"""Nothing but a WorkbenchError leaves the reader of experiments. `make soak` tries many thousands of examples."""

from pathlib import Path

import pytest

from tests.fuzzing import check_examples, few_or_many
from tests.wild_experiments import BASES, check_file, check_settings, wild_override, wild_settings, wild_text
from workbench.runner.experiment.read import experiment_of


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wild") / "x.yaml"


def test_what_is_changed_is_valid() -> None:
    for base in BASES:
        assert experiment_of(base, "x.yaml").configurations


@few_or_many(150, 10_000)
def test_wild_settings_are_read_or_refused(examples: int) -> None:
    check_examples(examples, wild_settings(), check_settings)


@few_or_many(150, 10_000)
def test_wild_text_is_read_or_refused(examples: int, path: Path) -> None:
    check_examples(examples, wild_text(), lambda text: check_file(path, text))


@few_or_many(150, 10_000)
def test_wild_overrides_are_taken_or_refused(examples: int, path: Path) -> None:
    quickstart = Path("experiments/quickstart.yaml").read_text("utf-8")
    check_examples(examples, wild_override(), lambda override: check_file(path, quickstart, override))
