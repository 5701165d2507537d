"""Real retrievers, vector stores and runnables of LangChain."""

from operator import itemgetter

import bm25s
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from tests.systems.callable.conftest import answered, searched
from workbench.core.records import Passage
from workbench.systems.callable.target import PythonTarget, target_of

DOCUMENTS = [
    Document("Employees get 25 days of paid leave.", metadata={"source": "leave", "start_index": 40}),
    Document("A taxi is paid after ten in the evening.", metadata={"source": "travel"}),
    Document("Salaries are paid on the last day.", metadata={"source": "pay"}),
]


class WordsRetriever(BaseRetriever):
    """BM25, as a stranger would write it."""

    documents: list[Document]
    k: int = 2

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        index = bm25s.BM25()
        index.index(bm25s.tokenize([document.page_content for document in self.documents], show_progress=False), show_progress=False)
        ranked, _ = index.retrieve(bm25s.tokenize(query, show_progress=False), self.documents, k=self.k, show_progress=False)
        return list(ranked[0])


RETRIEVER = WordsRetriever(documents=DOCUMENTS)
PROMPT = ChatPromptTemplate.from_template("{context}\n\n{question}")
MODEL = FakeListChatModel(responses=["25 days"])


def test_a_retriever_searches() -> None:
    target = target_of("mine", RETRIEVER)
    assert target.roles == ("search",)
    first, second = searched(target, "days of leave")
    assert (first.text, first.metadata["source"], first.start, first.end) == (DOCUMENTS[0].page_content, "leave", 40, 76)
    assert second.start is None
    assert len(searched(target, "days of leave", 1)) == 1


def test_a_vector_store_searches_as_deep_as_asked() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(DOCUMENTS, ids=["leave", "travel", "pay"])
    hits = searched(target_of("mine", store), "taxi", 3)
    assert sorted(hit.doc_id or "" for hit in hits) == ["leave", "pay", "travel"]
    assert len(searched(target_of("mine", store), "taxi", 2)) == 2


def test_a_chain_from_a_question_to_a_text_answers() -> None:
    chain = {"context": RETRIEVER, "question": RunnablePassthrough()} | PROMPT | MODEL | StrOutputParser()
    target = target_of("mine", chain)
    assert target.roles == ("answer",)
    assert answered(target, "How many days of leave?").text == "25 days"


def test_a_chain_with_named_inputs_gives_its_answer_and_the_documents_it_read() -> None:
    chain = RunnablePassthrough.assign(context=itemgetter("input") | RETRIEVER) | RunnablePassthrough.assign(
        answer=RunnableLambda(lambda given: {"context": given["context"], "question": given["input"]}) | PROMPT | MODEL
    )
    answer = answered(PythonTarget(name="mine", answer=chain, input_key="input"), "days of leave")
    assert answer.text == "25 days"
    assert answer.sources
    assert answer.sources[0].metadata["source"] == "leave"
    hits = searched(PythonTarget(name="mine", search=chain, input_key="input"), "days of leave")
    assert [hit.text for hit in hits] == [source.text for source in answer.sources]


def test_a_chain_answers_from_a_given_context() -> None:
    echo = RunnableLambda(lambda given: f"{given['question']} {given['context']}")
    target = PythonTarget(name="mine", answer=echo, context=True)
    assert answered(target, "leave", [Passage("leave", 0, 2, "A.")]).text == "leave ['A.']"


def test_a_chat_message_is_an_answer_with_the_use_of_its_model() -> None:
    usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    message = AIMessage("25 days", usage_metadata=usage, response_metadata={"model_name": "m"})
    answer = answered(target_of("mine", RunnableLambda(lambda _: message)))
    assert (answer.text, answer.input_tokens, answer.output_tokens, answer.model, answer.sources) == ("25 days", 7, 2, "m", None)
    nested = answered(target_of("mine", RunnableLambda(lambda _: {"answer": message})))
    assert (nested.text, nested.input_tokens) == ("25 days", 7)


def test_a_runnable_that_is_asynchronous_only_answers() -> None:
    async def later(question: str) -> str:
        return question.upper()

    assert answered(target_of("mine", RunnableLambda(later))).text == "LEAVE"


def test_pairs_of_documents_and_scores_are_hits() -> None:
    (hit,) = searched(PythonTarget(name="mine", search=lambda _: [(DOCUMENTS[1], 0.5)]))
    assert (hit.text, hit.score, hit.metadata) == (DOCUMENTS[1].page_content, 0.5, {"source": "travel"})


@pytest.mark.parametrize("role", ["search", "answer"])
def test_a_named_method_of_a_runnable_works_too(role: str) -> None:
    chain = RunnableLambda(lambda question: [question] if role == "search" else question)
    target = PythonTarget(name="mine", **{role: chain.ainvoke})
    found = searched(target)[0].doc_id if role == "search" else answered(target).text
    assert found == "leave"
