"""Real components and pipelines of Haystack, whose packages are too many for every environment."""

import os
import site
import subprocess
from pathlib import Path

import pytest

from tests.environments import install

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[2]
# Runs in an environment with Haystack, and with Workbench and its packages on the path.
SCRIPT = """
from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder, PromptBuilder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore

import workbench as wb
from workbench.core.errors import InputError
from workbench.systems.callable.target import target_of

TEXTS = {"leave": "Employees get 25 days of paid leave.", "travel": "A taxi is paid after ten in the evening.", "pay": "Salaries are paid on the last day."}
QUESTIONS = {"q1": ("days of leave", "leave"), "q2": ("a taxi in the evening", "travel"), "q3": ("salaries", "pay")}
dataset = wb.Dataset(
    "hr",
    tuple(wb.Document(doc_id, text) for doc_id, text in TEXTS.items()),
    tuple(wb.Query(query_id, text, answer=TEXTS[doc_id]) for query_id, (text, doc_id) in QUESTIONS.items()),
    tuple(wb.Qrel(query_id, doc_id, 1) for query_id, (_, doc_id) in QUESTIONS.items()),
)
store = InMemoryDocumentStore()
whole = [Document(id=doc_id, content=text) for doc_id, text in TEXTS.items()]
store.write_documents(DocumentSplitter(split_by="word", split_length=4).run(documents=whole)["documents"])


@component
class FirstPassage:
    @component.output_types(replies=list[str])
    def run(self, prompt: str):
        return {"replies": [prompt]}


@component
class Chat:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        return {"replies": [ChatMessage.from_assistant(messages[-1].text, meta={"model": "m", "usage": {"prompt_tokens": 3}, "finish_reason": "stop"})]}


def pipeline(**parts):
    made = Pipeline()
    for name, part in parts.items():
        made.add_component(name, part)
    return made


retriever = InMemoryBM25Retriever(store, top_k=1)
scores = wb.evaluate(retriever, dataset, ["recall@3", "mrr@3"])
assert scores["recall@3"] == scores["mrr@3"] == 1, scores
searching = pipeline(retriever=InMemoryBM25Retriever(store, top_k=1))
assert wb.evaluate(searching, dataset, ["recall@3"])["recall@3"] == 1
assert target_of("search", searching).roles == ("search",)

template = "{% for document in documents %}{{ document.content }} {% endfor %}"
answering = pipeline(retriever=InMemoryBM25Retriever(store), prompt=PromptBuilder(template, required_variables=["documents"]), model=FirstPassage())
answering.connect("retriever.documents", "prompt.documents")
answering.connect("prompt.prompt", "model.prompt")
results = wb.compare({"answering": answering, "retriever": retriever}, dataset, ["recall@3", "answer_recall"])
answers = results.answers.query("configuration == 'answering'")
recalls = results.metrics.query("metric == 'answer_recall'")["value"]
assert len(answers) == 3 and len(recalls) == 1 and recalls.min() > 0.6, recalls

chat = pipeline(
    retriever=InMemoryBM25Retriever(store),
    prompt=ChatPromptBuilder([ChatMessage.from_user(template)], required_variables=["documents"]),
    model=Chat(),
    answers=AnswerBuilder(),
)
chat.connect("retriever.documents", "prompt.documents")
chat.connect("prompt.prompt", "model.messages")
chat.connect("model.replies", "answers.replies")
chat.connect("retriever.documents", "answers.documents")
assert wb.evaluate(chat, dataset, ["answer_recall"])["answer_recall"] > 0.6
assert target_of("chat", chat).roles == ("answer",)

needy = pipeline(model=Chat())
try:
    target_of("needy", needy)
except InputError as error:
    assert "the pipeline Pipeline needs model.messages" in str(error), error
else:
    raise AssertionError("a pipeline that needs messages was accepted")
print("done")
"""


def test_components_and_pipelines_search_and_answer(tmp_path: Path) -> None:
    haystack = install(tmp_path / "environment", "haystack-ai==3.4.1") / "python"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    path = os.pathsep.join([str(ROOT), *site.getsitepackages()])
    variables = {"PYTHONPATH": path, "HAYSTACK_TELEMETRY_ENABLED": "False"}
    done = subprocess.run([haystack, script], env=os.environ | variables, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["done"]), done.stderr[-3000:]
