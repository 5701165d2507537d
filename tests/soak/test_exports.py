"""What Ragas, DeepEval and the types of Langfuse's API write, installed in environments of their own, is read as a target."""

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


# The replies of Langfuse's server: what it asks its clients to read. Version 5 has no traces, and texts in place of inputs and outputs.
LANGFUSE = """
import json, sys
from datetime import UTC, datetime

version, berth = sys.argv[1:]
documents = [{"page_content": "It's a place.", "metadata": {"source": "a"}, "type": "Document"}]
steps = [("CHAIN", None, {"question": berth}, {"answer": "A place."}), ("RETRIEVER", "1", "berth", documents)]
rows = [
    {"id": str(place), "traceId": "t", "projectId": "p", "type": kind, "parentObservationId": parent, "startTime": datetime(2026, 11, 1, 12, 0, place, tzinfo=UTC),
     "level": "DEFAULT", "usageDetails": {}, "costDetails": {}, "environment": "default", "input": input, "output": output}
    for place, (kind, parent, input, output) in enumerate(steps, 1)
]
if version == "5.0.4":
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from langfuse.api.observations.types import ObservationsV2Response

    rows = [row | {name: json.dumps(row[name]) for name in ("input", "output") if not isinstance(row[name], str)} for row in rows]
    reply = parse_obj_as(ObservationsV2Response, {"data": rows, "meta": {}})
else:
    from langfuse.api.resources.commons.types import TraceWithFullDetails

    usage = {"input": 0, "output": 0, "total": 0, "unit": "TOKENS"}
    rows = [row | {"modelParameters": {}, "metadata": {}, "usage": usage} for row in rows]
    of_root = {name: rows[0][name] for name in ("input", "output", "environment")}
    reply = TraceWithFullDetails(
        id="t", timestamp=rows[0]["startTime"], name="ask", tags=[], public=False, htmlPath="/t", observations=rows, scores=[], **of_root
    )
with open("reply.json", "w") as file:
    file.write(reply.json(by_alias=True))
"""


@pytest.mark.parametrize("version", ["3.15.0", "5.0.4"])
def test_what_the_api_of_langfuse_replies_is_read(version: str, tmp_path: Path) -> None:
    python = install(tmp_path / "venv", f"langfuse=={version}") / "python"
    subprocess.run([python, "-c", LANGFUSE, version, BERTH.text], check=True, timeout=300, cwd=tmp_path, env=outside())
    target = RecordedTarget(name="langfuse", path=str(tmp_path / "reply.json"))
    assert list(search(target)) == [TargetHit(text="It's a place.", metadata={"source": "a"})]
    assert (answer(target).text, target.identity()["format"]) == ("A place.", "langfuse")
