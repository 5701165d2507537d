from dataclasses import replace
from pathlib import Path

import pytest

from tests.runner.execution.test_speed import measured
from workbench.api.experiments import Experiment, sweep
from workbench.components.chunking.plain import FixedChunker
from workbench.components.chunking.semantic import SemanticChunker
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.core.storage.result_store import Store
from workbench.runner.execution.plan import EncodingModel, Plan, PlannedConfiguration, duration_text, plan_experiment, plan_lines
from workbench.runner.experiment.read import experiment_of


class NamingRetriever(BM25Retriever):
    """A retriever that names a function."""

    @property
    def named_code(self) -> tuple[str, ...]:
        return ("mine:search",)


@pytest.fixture
def mixed(handbook_few: Path) -> Experiment:
    """A static embedder, and chunks whose sentences a sentence-transformers model compares."""
    chunking = [SemanticChunker(size=128), FixedChunker(size=128)]
    return Experiment("mixed", str(handbook_few), pipeline={"embedding": StaticEmbedder()}, sweep={"chunking": chunking})


def test_a_duration_is_a_range() -> None:
    cases = [
        (0.1, 0.9, "less than a minute"),
        (0.4, 2.2, "up to 2 minutes"),
        (0.4, 1.2, "up to 1 minute"),
        (1.2, 1.4, "about 1 minute"),
        (3.6, 9.4, "about 4 to 9 minutes"),
        (6.6, 7.4, "about 7 minutes"),
        (90, 400, "about 2 to 7 hours"),
        (20, 130, "up to 2 hours"),
    ]
    assert [(low, high, duration_text(low, high)) for low, high, _ in cases] == cases


def test_the_range_is_in_the_lines_of_the_command_and_in_both_displays_of_a_plan(mixed: Experiment, tmp_path: Path) -> None:
    # So slow that the plan takes minutes.
    measured(Store(tmp_path / ".store"), "slow", 20_000, 400, EncodingModel.of(SentenceTransformerEmbedder()))
    plan = mixed.plan(tmp_path)
    assert 1 < plan.minutes_low < plan.minutes_high
    assert plan.duration.startswith("about ")
    assert " to " in plan.duration
    for text in ("\n".join(plan_lines(plan)), str(plan), repr(plan), plan._repr_html_()):
        assert plan.duration[1:] in text  # its first letter can be a capital
    assert "at 40 to 62 tokens/s (measured here)" in str(plan)


def test_the_table_of_a_plan_is_as_wide_as_the_terminal_whatever_the_names() -> None:
    stages = dict.fromkeys(("chunks", "vectors", "index", "queries", "hits", "explanations", "scores"), False)
    names = [f"{'paraphrase-multilingual-mpnet-base-v2-dimensions-256-with-header-' + str(number):-<83}" for number in range(35)]
    planned = [PlannedConfiguration(name, stages | {"vectors": number % 2 == 0}, 123_456) for number, name in enumerate(names)]
    lines = plan_lines(Plan(tuple(planned), {}, 5, 20))
    table = lines[: lines.index("")]
    assert max(map(len, table)) <= 80
    whole = "".join(line.strip() for line in table)
    assert all(name in whole for name in names)


def test_sentences_that_a_chunker_compares_are_counted_for_the_model_that_embeds_them(mixed: Experiment, tmp_path: Path) -> None:
    plan = mixed.plan(tmp_path)
    static, comparing = EncodingModel.of(StaticEmbedder()), EncodingModel.of(SentenceTransformerEmbedder())
    assert set(plan.speeds) == {static, comparing}
    semantic, fixed = plan.configurations
    assert set(semantic.tokens_by_model) == {static, comparing}
    assert set(fixed.tokens_by_model) == {static}
    assert semantic.tokens == sum(semantic.tokens_by_model.values())
    assert plan.tokens_by_model[static] == semantic.tokens_by_model[static] + fixed.tokens


def test_the_first_use_of_models_on_a_machine_is_counted_once(mixed: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "empty"))
    static, compared = StaticEmbedder().preparation(), SentenceTransformerEmbedder(backend="openvino").preparation()
    plan = mixed.plan(tmp_path)
    assert plan.minutes_low * 60 > static[0] + compared[0] > 40
    assert plan.minutes_low * 60 < 2 * static[0]


def test_the_plan_names_deliveries_that_are_not_what_is_measured(place: Path) -> None:
    def lines(metrics: list[str], **retrieval: object) -> list[str]:
        settings = {
            "name": "planned",
            "dataset": {"kind": "golden", "path": str(place / "data")},
            "sweep": {"chunking": [{"kind": "fixed", "size": [16, 32]}], "retrieval": {"kind": "bm25", **retrieval}},
            "metrics": metrics,
        }
        shown = plan_lines(plan_experiment(experiment_of(settings, "here"), place / "outputs"))
        return shown[shown.index("") + 2 :]

    both = "all 2 configurations"
    assert lines(["span_recall@10t"]) == []
    assert lines(["span_recall@10t"], deliver={"tokens": 20}) == [
        f"The measured text is not the delivered text: span_recall@10t reads 10 tokens, but {both} deliver 20."
    ]
    assert lines(["span_recall@50000t"]) == [
        f"The whole corpus fits into 50,000 tokens: {both} deliver everything that they find, so the order does not matter."
    ]
    assert lines(["recall@1", "span_recall@40t"], k=2) == [
        "Metrics at 40t read 40 tokens of the ranking, but the k chunks that fixed-16-0-bm25-k2 delivers hold fewer."
    ]


def test_a_plan_without_permission_says_of_a_retriever_what_is_true_of_it(handbook_few: Path, tmp_path: Path) -> None:
    pipeline = {"chunking": {"kind": "fixed", "size": 128}, "retrieval": {"kind": "bm25"}}
    dataset = {"kind": "golden", "path": str(handbook_few)}
    experiment = experiment_of({"name": "named", "dataset": dataset, "pipeline": pipeline}, "here")
    configuration = replace(experiment.configurations[0], retrieval=NamingRetriever())
    plan = plan_experiment(replace(experiment, configurations=(configuration,)), tmp_path)
    (note,) = (line for line in plan_lines(plan) if line.startswith("not planned"))
    assert "because only running mine:search tells what a sweep computes for them: " in note
    assert "chunks" not in note


def test_texts_of_several_configurations_are_counted_once_and_pairs_to_rerank_as_the_most(handbook_few: Path, tmp_path: Path) -> None:
    settings = {
        "name": "shared",
        "dataset": {"kind": "golden", "path": str(handbook_few)},
        "sweep": {
            "chunking": [{"kind": "fixed", "size": 128}],
            "retrieval": [{"kind": "dense"}, {"kind": "hybrid"}],
            "rerank": ["none", {"kind": "late-interaction", "pool": 20}, {"kind": "mmr"}],
        },
        "metrics": ["recall@5"],
    }
    plan = plan_experiment(experiment_of(settings, "test"), tmp_path)
    first, *others = plan.configurations
    assert first.tokens > 1_000
    assert [planned.tokens for planned in others] == [0] * 5
    assert [planned.pairs for planned in plan.configurations] == [0, 12 * 20, 0, 0, 12 * 20, 0]
    assert "at most 480 pairs of question and chunk to rerank" in str(plan)


def test_one_more_listed_configuration_costs_one(handbook_few: Path, tmp_path: Path) -> None:
    settings = {
        "name": "listed",
        "dataset": {"kind": "golden", "path": str(handbook_few)},
        "pipeline": {"embedding": {"kind": "static"}},
        "sweep": {"chunking": {"kind": "fixed", "size": [128, 256]}, "retrieval": [{"kind": "dense"}, {"kind": "bm25"}]},
        "metrics": ["recall@5"],
    }
    sweep(Experiment._of(experiment_of(settings, "test")), tmp_path)
    more = settings | {"configurations": [{"name": "current", "retrieval": {"kind": "hybrid"}}], "exclude": ["fixed-128-*"]}
    planned = plan_experiment(experiment_of(more, "test"), tmp_path).configurations
    assert [(each.name, all(each.reused.values())) for each in planned] == [
        ("fixed-256-0-static", True),
        ("fixed-256-0-bm25", True),
        ("current", False),
    ]
    assert planned[-1].tokens == 0
