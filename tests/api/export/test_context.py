"""An exported configuration packs the context of a question as the sweep did."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.export.exported import Asked, Reply, ask
from tests.forked import Forked
from workbench.api.export.export import export_configuration, write_prompt
from workbench.api.export.prompt_tokens import question_tokens
from workbench.components.answering.base import Generator
from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.answering.prompted import ChatGenerator
from workbench.components.context.context_packing import ContextPacking
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.answered_cases import passages_of

pytestmark = pytest.mark.slow

PACKINGS = [{"budget": 150, "order": "reversed"}, {"budget": 400, "order": "ends", "drop_duplicates": 0.2}]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path) -> Outcome:
    settings = {
        "name": "answered",
        "dataset": {"kind": "golden", "path": str(handbook_corner), "split": "dev"},
        "pipeline": {"answering": {"kind": "extractive"}, "chunking": {"kind": "fixed", "size": 64, "overlap": 32}},
        "sweep": {"retrieval": [{"kind": "bm25", "k": 8}, {"kind": "bm25", "k": 8, "deliver": {"tokens": 200}}], "context": PACKINGS},
        "metrics": ["recall@5"],
    }
    finished = run_experiment(experiment_of(settings, "test"), tmp_path_factory.mktemp("answered") / "outputs", lambda _: None)
    assert not finished.failures
    write_outputs(finished)
    return finished


@pytest.fixture(scope="module")
def replies(answered: Outcome, tmp_path_factory: pytest.TempPathFactory) -> list[Reply]:
    """The context of every question by each exported configuration."""
    made, names = tmp_path_factory.mktemp("exported"), [result.configuration.name for result in answered.results]
    questions = {str(number): query.text for number, query in enumerate(answered.run.dataset.queries)}
    folders = [export_configuration(answered.folder, name, made / str(number)) for number, name in enumerate(names)]
    return ask(Asked(folder, "retrieve.context(text)", questions) for folder in folders)


@pytest.mark.parametrize("number", range(4))
def test_every_question_gets_the_context_of_the_sweep(answered: Outcome, replies: list[Reply], number: int) -> None:
    contexts = answered.results[number].entries["contexts"][""]
    found = {
        int(query): [(each["doc_id"], each["start"], each["end"], each["text"]) for each in passages]
        for query, passages in replies[number].answers.items()
    }
    expected = passages_of(contexts)
    assert found == {query: [(each.doc_id, each.start, each.end, each.text) for each in passages] for query, passages in expected.items()}
    assert contexts.table("cuts").shape[0] > 0


def test_a_sweep_without_answers_has_no_context(few: Outcome, tmp_path: Path, fork: Callable[..., Forked]) -> None:
    folder = export_configuration(few.folder, few.experiment.configurations[0].name, tmp_path / "chosen")
    script = "import sys; sys.path.insert(0, ''); from retrieve import context; context('a taxi')"
    _, err = fork(script, cwd=folder).communicate()
    assert err.splitlines()[-1] == "LookupError: the sweep answered no questions; export a configuration with answering"
    assert not (folder / "prompt.npz").exists()


class CharacterGenerator(ExtractiveGenerator):
    """Counts its prompt in characters."""

    @property
    def vocabulary(self) -> str:
        return "characters"

    def overhead(self, question: str) -> int:
        return 7 + len(question)


SERVED = ChatGenerator(provider="openai", model="any", base_url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize("generator", [ExtractiveGenerator(), CharacterGenerator(), SERVED], ids=lambda generator: type(generator).__name__)
def test_the_tokens_of_a_question_are_counted_as_in_the_sweep(few: Outcome, tmp_path: Path, generator: Generator) -> None:
    configuration = few.experiment.configurations[0].answered(ContextPacking(), generator)
    passages = [{"slice": 0, "text": "Boats dock."}, {"slice": 0, "text": "Boats dock."}, {"slice": 1, "text": "Ferries leave."}]
    settings, _ = write_prompt(configuration, passages, tmp_path)
    assert settings is not None
    assert settings["around"] == [generator.passage_overhead(1), generator.passage_overhead(2)]
    for query in few.run.dataset.queries:
        counted = settings["overhead"] + question_tokens(query.text, settings["vocabulary"], tmp_path)
        assert counted == generator.overhead(query.text)
