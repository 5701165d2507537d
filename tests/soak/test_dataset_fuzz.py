"""Many mutated files of every format; tests/datasets/test_fuzz.py draws a few in every run."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dataset_fuzzing import DATASETS, RUN, mutated_bytes, mutated_file, mutated_files, read_mutated, read_mutated_trec

settings.register_profile("fuzzing", max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings.get_profile("fuzzing")


@pytest.mark.soak
@pytest.mark.parametrize("name", DATASETS)
@settings(MANY)
@given(data=st.data())
def test_a_dataset_mutated_thousands_of_times_is_read_or_refused_with_a_line(name: str, data: st.DataObject) -> None:
    kind, path, files = DATASETS[name]
    read_mutated(kind, path, data.draw(mutated_files(files)))


@pytest.mark.soak
@settings(MANY)
@given(raw=mutated_bytes(RUN) | mutated_file("run.trec", RUN))
def test_a_run_mutated_thousands_of_times_is_read_or_refused_with_a_line(raw: bytes) -> None:
    read_mutated_trec(raw)
