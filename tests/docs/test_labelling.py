"""The page about labelling leaves a dataset that the command accepts."""

import subprocess

import pytest

from tests.docs.conftest import DOCS, WORKBENCH, blocks

pytestmark = pytest.mark.slow

PAGE = DOCS / "how-to" / "label_questions.md"


def test_the_page_labels_measures_agreement_and_writes_a_dataset_that_is_checked(executed, workplace):
    names, output = executed(PAGE)
    assert "ann and bob both judged 4 documents" in output
    assert len(names["agreement"].disagreements) == 4
    (command,) = blocks(PAGE, "bash")
    done = subprocess.run([str(WORKBENCH), *command.split()[1:]], cwd=workplace, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 faults" in done.stdout
