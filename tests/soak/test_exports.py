"""Results that Ragas and DeepEval write themselves, installed in an environment of their own, are read as a target."""

import subprocess
from pathlib import Path

import pytest

from tests.environments import install, outside
from tests.systems.recorded.conftest import BERTH, PILOT, answer, search
from workbench.core.records import TargetHit
from workbench.systems.recorded.target import RecordedTarget

# Ragas 0.4.3 imports a module that langchain-community 0.4 no longer has.
PACKAGES = ("ragas==0.4.3", "langchain-community<0.4", "deepeval==4.3.1", "pyarrow")
SCRIPT = """
import sys
from deepeval.dataset import EvaluationDataset as CaseDataset
from deepeval.test_case import LLMTestCase
from deepeval.test_case.llm_test_case import RetrievedContextData
from ragas.dataset_schema import EvaluationDataset, SingleTurnSample

berth, pilot = sys.argv[1:]
samples = [
    SingleTurnSample(user_input=berth, retrieved_contexts=["It's a place.", 'Two\\n"lines".'], retrieved_context_ids=["a", "b"], response="A place."),
    SingleTurnSample(user_input=pilot, retrieved_contexts=[], retrieved_context_ids=[], response="The ship."),
]
dataset = EvaluationDataset(samples=samples)
dataset.to_jsonl("ragas.jsonl")
dataset.to_csv("ragas.csv")
dataset.to_pandas().to_parquet("ragas.parquet")
cases = CaseDataset()
cases.add_test_case(LLMTestCase(input=berth, actual_output="A place.", retrieval_context=["It's a place.", RetrievedContextData(source="b", context="Two")]))
cases.add_test_case(LLMTestCase(input=pilot, actual_output="The ship.", retrieval_context=[]))
for kind in ("json", "jsonl", "csv"):
    cases.save_as(kind, directory=".", file_name="deepeval", include_test_cases=True)
"""

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    python = install(folder / "venv", *PACKAGES) / "python"
    environment = {**outside(), "RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    subprocess.run([python, "-c", SCRIPT, BERTH.text, PILOT.text], check=True, timeout=300, cwd=folder, env=environment)
    return folder


@pytest.mark.parametrize("name", ["ragas.jsonl", "ragas.csv", "ragas.parquet"])
def test_what_ragas_writes_is_read(exports: Path, name: str) -> None:
    target = RecordedTarget(name="ragas", path=str(exports / name))
    assert list(search(target)) == [TargetHit("a", "It's a place."), TargetHit("b", 'Two\n"lines".')]
    assert (list(search(target, PILOT)), answer(target).text, answer(target, PILOT).text) == ([], "A place.", "The ship.")


@pytest.mark.parametrize("name", ["deepeval.json", "deepeval.jsonl", "deepeval.csv"])
def test_what_deepeval_writes_is_read(exports: Path, name: str) -> None:
    target = RecordedTarget(name="deepeval", path=str(exports / name))
    assert list(search(target)) == [TargetHit(text="It's a place."), TargetHit("b", "Two", metadata={"source": "b"})]
    assert (answer(target).text, answer(target, PILOT).text) == ("A place.", "The ship.")
