"""What is believed of a server's usage and of the model that it names."""

import base64

import pytest

from workbench.llm.base import ChatCall, Message
from workbench.llm.models.tokenizers import count
from workbench.llm.tokens import count_of, most_prompt_tokens, most_tokens, name_of


@pytest.mark.parametrize("value", [-5, 10**30, 2**62, 1.5, True, "7", None])
def test_what_is_no_count_of_tokens_is_none(value: object) -> None:
    assert count_of(value) is None


def test_a_count_is_kept() -> None:
    assert count_of(0) == 0
    assert count_of(2_000_000) == 2_000_000


def test_the_name_of_a_model_can_be_stored_and_printed() -> None:
    assert name_of("gpt-5-mini") == "gpt-5-mini"
    assert name_of(None) == ""
    assert name_of("x\ud800\x1b[2J").encode("utf-8") == b"x\\ud800\\x1b[2J"
    assert len(name_of("m" * 10_000)) == 200


@pytest.mark.parametrize(
    "text",
    [
        "The committee approves travel expenses within fourteen days of receipt. ",
        "Die Kommission genehmigt Reisekosten innerhalb von vierzehn Tagen. ",
        "委员会在收到申请后十四天内批准差旅费用。",
        "委員会は受領後十四日以内に出張費を承認します。",
        "위원회는 접수 후 십사 일 이내에 출장비를 승인합니다. ",
        "समिति प्राप्ति के चौदह दिनों के भीतर यात्रा व्यय को मंजूरी देती है। ",
        "ကော်မတီသည် လက်ခံရရှိပြီး ဆယ့်လေးရက်အတွင်း ခရီးစရိတ်ကို အတည်ပြုသည်။ ",
        "ኮሚቴው የጉዞ ወጪዎችን ከተቀበለ በአሥራ አራት ቀናት ውስጥ ያጸድቃል። ",
        "ཚོགས་ཆུང་གིས་འགྲུལ་བཞུད་ཀྱི་འགྲོ་གྲོན་ཆོག་མཆན་སྤྲོད་ཀྱི་ཡོད། ",
        "😀👩\u200d👩\u200d👧🧪🦄",
        "|1.0|2.5|-|n/a|\n",
        "def f(x):\n    return {k: v[0] for k, v in x.items() if v}\n",
        "0f8fad5b-d9cb-469f-a165-70867728950e\n",
        base64.b64encode(bytes(number**3 % 251 for number in range(600))).decode(),
    ],
)
def test_the_estimate_of_a_text_is_no_less_than_a_vocabulary_counts(text: str) -> None:
    assert count(text * 20, "cl100k") <= most_tokens(text * 20)


def test_the_schema_of_a_call_is_a_part_of_its_prompt() -> None:
    schema = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}}
    messages = [Message("user", "is it so?")]
    assert most_prompt_tokens(ChatCall(messages, 10, schema=schema)) >= most_prompt_tokens(ChatCall(messages, 10)) + 20
