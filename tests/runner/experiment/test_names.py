"""Names of configurations: what they say, and the law that other settings have another name."""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import pytest
from pydantic import JsonValue
from pydantic.fields import FieldInfo

from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.answering.prompted import ChatGenerator
from workbench.components.chunking.base import Chunker
from workbench.components.chunking.langchain import LangChainChunker
from workbench.components.chunking.markdown import MarkdownChunker
from workbench.components.chunking.plain import FixedChunker, SentenceChunker
from workbench.components.context.context_packing import ContextPacking
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.components.retrieval.base import Retriever
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.core.component import Component
from workbench.core.records import TokenCut
from workbench.runner.experiment.expand import STAGES, named
from workbench.runner.experiment.names import OMITTED, name_of
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.configuration import PipelineConfiguration

FIXED, MINILM, DENSE = FixedChunker(size=256), SentenceTransformerEmbedder(), DenseRetriever()


class OptionsChunker(FixedChunker):
    """A plugin's chunker, whose own fields its name does not say."""

    examples: ClassVar = ({"size": 64},)

    kind: Literal["options"] = "options"  # type: ignore[assignment]  # a kind of its own
    minimum: int | None = None
    rule: JsonValue = None

    @property
    def name(self) -> str:
        return self.kind


class WeightedRetriever(DenseRetriever):
    """A plugin's retriever with weights."""

    weights: dict[str, float] = {}  # noqa: RUF012  # pydantic copies it


def piped(chunking: Chunker = FIXED, embedding: Embedder = MINILM, retrieval: Retriever = DENSE, **others: Any) -> PipelineConfiguration:
    context, answering = others.pop("context", None), others.pop("answering", None)
    return PipelineConfiguration.of(chunking, embedding, retrieval, **others).answered(context, answering)


def name(*parts: Any, **others: Any) -> str:
    return name_of(piped(*parts, **others), answers=False)


def test_a_name_is_the_chunking_and_every_setting_that_is_not_at_its_default() -> None:
    recursive = LangChainChunker(splitter="RecursiveCharacterTextSplitter", size=200, overlap=20)
    assert name() == "fixed-256-0"
    assert name(MarkdownChunker(size=256, enrich=True)) == "markdown-256-enriched"
    assert name(retrieval=BM25Retriever()) == "fixed-256-0-bm25"
    assert name(recursive, StaticEmbedder(max_tokens=200), HybridRetriever()) == "langchain-recursive-200-20-static-window200-hybrid"
    assert name(SentenceChunker(size=256, overlap=32, tokens="cl100k")) == "sentence-256-32-cl100k"
    assert name(retrieval=DenseRetriever(k=20, search="ann", deliver=TokenCut(500))) == "fixed-256-0-k20-deliver_500t-ann"
    assert name(retrieval=BM25Retriever(k1=1.2, stopwords="none")) == "fixed-256-0-bm25-k1_1.2-stopwords_none"
    assert name(rerank=LateInteractionReranker(pool=20)) == "fixed-256-0-late_interaction-pool20"
    hybrid = HybridRetriever(retrievers={"dense": {}, "bm25": {"k1": 1.2}}, fusion="weighted", weights={"dense": 0.7, "bm25": 0.3})
    assert name(retrieval=hybrid) == "fixed-256-0-hybrid-dense_bm25_k1_1.2-weighted-weights_dense_0.7_bm25_0.3"


def test_answers_as_usual_need_no_word() -> None:
    assert name(context=ContextPacking(), answering=ExtractiveGenerator()) == "fixed-256-0"
    assert name(context=ContextPacking(budget=500, order="ends"), answering=ExtractiveGenerator()) == "fixed-256-0-context500-ends"
    chat = ChatGenerator(provider="openai", model="gpt-5-mini", prompt="prompts/strict.md", temperature=None)
    assert name(answering=chat) == "fixed-256-0-chat-prompt_prompts_strict-temperature_none-openai-gpt_5_mini"
    assert name_of(piped(), answers=True) == "fixed-256-0-unanswered"


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("BAAI/bge-small-en-v1.5", "bge_small_en_v1.5"),
        ("sentence-transformers/all-mpnet-base-v2", "all_mpnet_base_v2"),
        ("one/small", "one_small"),
        ("models/mine", "models_mine"),
        ("/data/models/mine", "mine"),
        ("C:\\data\\models\\mine", "mine"),
        ("d:/data/mine", "mine"),
        ("models/" + "deep/" * 20 + "mine", "111_deep_deep_deep_deep_deep_mine"),
    ],
)
def test_a_model_has_its_short_name(text: str, spelled: str) -> None:
    assert name(embedding=SentenceTransformerEmbedder(model=text)) == f"fixed-256-0-{spelled}"


def test_the_vocabulary_that_counts_sizes_is_named_where_no_embedder_names_it() -> None:
    assert name(embedding=SentenceTransformerEmbedder(model="one/small"), retrieval=BM25Retriever()) == "fixed-256-0-one_small_tokens-bm25"


def test_a_plugins_own_field_is_named() -> None:
    chunkings = [OptionsChunker(size=64, minimum=minimum) for minimum in (None, 100)]
    assert [name(chunking) for chunking in chunkings] == ["options-size64", "options-size64-minimum100"]
    assert name(retrieval=WeightedRetriever(weights={"title": 0.5})) == "fixed-256-0-weights_title_0.5"


@pytest.mark.parametrize(
    "values",
    [
        (-1, 1),
        (1, 1.5, True, "1"),
        (None, "", " ", "none"),
        ({"by": "page"}, {"by": "line"}),
        (["\n\n", " "], ["\n", " "], ["\n", "\n", " "]),
        ("x" * 200, "x" * 201),
        ([], {}, [[]]),
    ],
)
def test_values_that_look_alike_have_other_names(values: tuple[JsonValue, ...]) -> None:
    found = [name(OptionsChunker(size=64, rule=value)) for value in values]
    if values[0] != []:
        assert len(set(found)) == len(found)
    assert all(len(each) < 80 for each in found)


REQUIRED = {
    "size": 64,
    "child": 32,
    "parent": 96,
    "splitter": "RecursiveCharacterTextSplitter",
    "chunker": "SentenceChunker",
    "callable": "builtins:str.split",
    "model": "maker/model",
    "path": "files/one.jsonl",
    "base_url": "http://localhost:8080/v1",
}
VALUES: Mapping[str, tuple[Any, ...]] = {
    "splitter": ("TokenTextSplitter",),
    "chunker": ("TokenChunker",),
    "callable": ("mine.texts:split",),
    "provider": ("openai", "anthropic"),
    "deliver": (TokenCut(500), TokenCut(2000)),
    "retrievers": (HybridRetriever(retrievers={"dense": {"search": "ann"}, "bm25": {}}).retrievers,),
    "weights": ((("dense", 0.5),), (("dense", 0.7), ("bm25", 0.3))),
    "arguments": ({"keep_separator": False}, {"separators": ["\n\n", " "]}, {"separators": ["\n", " "]}),
    "refusal_phrases": (("not known",), ("not known", "no answer")),
}


def others(field: str, info: FieldInfo, usual: Any) -> Iterator[Any]:
    """Other values of a field than its usual one."""
    kinds = str(info.annotation)
    if field in VALUES:
        yield from VALUES[field]
    elif get_args(info.annotation) and "Literal" in kinds:
        yield from (value for value in get_args(info.annotation) if value != usual)
    elif "bool" in kinds:
        yield not usual
    elif "float" in kinds:
        yield from (0.125, 0.25, 7.0)
    elif "int" in kinds:
        yield from (9, 11, 111)
    else:
        yield from ("one", "two/one", "a prompt: with words", "a prompt: with other words")
    if "None" in kinds and usual is not None:
        yield None


def required(component: type[Component]) -> dict[str, Any]:
    """The settings that a component needs. Splitters of libraries need a size, too."""
    return {field: REQUIRED[field] for field, info in component.model_fields.items() if info.is_required() or field == "size"}


def variations(stage: str) -> Iterator[tuple[str, Component]]:
    """Each component of a stage with required settings only, and with each of its fields changed, under the field's name."""
    for kind, component in STAGES[stage].items():
        if kind.startswith(("hashed", "options")):
            continue
        fields = component.model_fields
        usual = component(**required(component))
        yield "", usual
        for field, info in fields.items():
            if field != "kind" and not info.exclude and (stage, field) != ("chunking", "model"):
                for value in others(field, info, getattr(usual, field)):
                    if value != getattr(usual, field):
                        yield field, usual.model_copy(update={field: value})


def configuration(stage: str, component: Any) -> PipelineConfiguration:
    parts: dict[str, Any] = {"context": ContextPacking(), "answering": ExtractiveGenerator(), stage: component}
    return PipelineConfiguration("", **{"chunking": FIXED, "embedding": MINILM, "retrieval": DENSE, **parts})


def test_other_settings_have_another_name_and_it_has_no_hash() -> None:
    seen: dict[str, tuple[str, PipelineConfiguration]] = {}
    for stage in STAGES:
        for field, component in variations(stage):
            made = configuration(stage, component)
            text = name_of(made)
            assert re.fullmatch(r"[a-z0-9._-]+", text), text
            assert len(text) < 100
            assert not re.search(r"(?<![a-z0-9])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}(?![a-z0-9])", text), text
            if field in OMITTED:
                assert text == name_of(configuration(stage, type(component)(**required(type(component)))))
            elif text in seen and seen[text][1].components != made.components:
                pytest.fail(f"{text} names {field} of {component!r} and {seen[text][0]}")
            else:
                seen[text] = (field, made)
    assert len(seen) > 150


def test_the_same_settings_have_the_same_name_whatever_else_an_experiment_has(handbook_part: Path) -> None:
    def names(**settings: Any) -> list[str]:
        made = experiment_of({"name": "x", "dataset": {"kind": "golden", "path": str(handbook_part)}, **settings}, "x.yaml")
        return [each.name for each in made.configurations]

    markdown = {"kind": "markdown", "size": 256, "enrich": True}
    assert names(pipeline={"chunking": markdown}) == ["markdown-256-enriched"]
    assert names(sweep={"chunking": [markdown, markdown | {"enrich": False}]}) == ["markdown-256-enriched", "markdown-256"]
    answered = {"context": {"budget": 2000, "order": "rank"}, "answering": {"kind": "extractive"}}
    assert names(pipeline={"chunking": markdown, **answered}) == ["markdown-256-enriched"]
    kinds = [{"kind": "dense"}, {"kind": "bm25"}, {"kind": "hybrid"}]
    many = names(sweep={"chunking": [markdown, {"kind": "fixed", "size": [64, 128]}], "retrieval": kinds})
    assert [names(pipeline={"chunking": markdown, "retrieval": kind})[0] for kind in kinds] == many[:3]


def faults_of(*configurations: PipelineConfiguration) -> list[str]:
    faults: list[str] = []
    named(configurations, faults)
    return faults


def test_configurations_that_have_one_name_are_faults_that_say_why() -> None:
    assert faults_of(piped(), piped()) == ["configuration 'fixed-256-0' occurs 2 times; remove the repetitions"]
    chats = [ChatGenerator(timeout=timeout) for timeout in (30, 60)]
    assert faults_of(*(piped(answering=chat) for chat in chats)) == [
        "2 configurations have the name 'fixed-256-0-chat', since names do not say answering.timeout; give them names under configurations, such as "
        "{name: mine, answering: {…}}"
    ]
    prompts = [SentenceTransformerEmbedder(query_prompt="x" * 80 + last) for last in "ab"]
    assert faults_of(*(piped(embedding=prompt) for prompt in prompts)) == [
        f"2 configurations have the name 'fixed-256-0-query_prompt_{'x' * 32}_81', since their values of embedding.query_prompt look alike in it; "
        "give them names under configurations, such as {name: mine, embedding: {…}}"
    ]


@pytest.mark.parametrize("letter", ["x", "é", "字"])
def test_a_name_is_never_too_long_for_a_file(letter: str, tmp_path: Path) -> None:
    rules = {f"{letter}{number}": letter * 30 for number in range(40)}
    chunkings = [OptionsChunker(size=64, rule=rules), OptionsChunker(size=64, rule=letter * 9_000)]
    for made in (*map(name, chunkings), name(chunkings[0], StaticEmbedder(dimensions=64), BM25Retriever(k=5))):
        # The longest name that a run gives to a file: that of a failed notebook while it is written.
        (tmp_path / f".{made}.failed.ipynb.4194304.tmp").write_text("")


def test_a_name_that_is_too_long_says_how_many_settings_it_lacks() -> None:
    embedding = StaticEmbedder(model="m" * 40, dimensions=64)
    retrieval = WeightedRetriever(weights={"y" * 40: 0.5, "z" * 40: 0.5}, k=5)
    assert name(OptionsChunker(size=64, rule=["y" * 40] * 5), embedding, retrieval).endswith("-64d-k5-and_1_more")


def test_a_plugins_chunker_cannot_name_a_file_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OptionsChunker, "name", "page/../../Etc\n\\x:y?")
    assert name(OptionsChunker(size=64)) == "page_.._.._etc__x_y_-size64"


def test_names_are_unique_also_where_capitals_do_not_count() -> None:
    spelled = [piped(OptionsChunker(size=64, rule=text)) for text in ("Page", "page")]
    assert len(faults_of(*spelled)) == 1


def test_stages_do_not_share_their_words() -> None:
    plain = [
        name_of(configuration(stage, part)) for stage in STAGES if stage != "chunking" for field, part in variations(stage) if not field
    ]
    assert len(set(plain)) == len(plain) - 3, "four components are usual"
    assert all(a != b for a, b in itertools.pairwise(sorted(set(plain))))
