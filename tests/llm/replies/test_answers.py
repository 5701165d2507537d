"""The answer in a reply: without reasoning in any model's form, and as JSON."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.llm.base import CallFailure, Reply, finish_of, unfinished
from workbench.llm.replies.answers import (
    Separated,
    UnreadableContentError,
    answered,
    content_text,
    has_reasoning,
    json_reply,
    separated,
    unfenced,
)

# What a model writes before the answer `In May.`
FORMS = {
    "DeepSeek R1 and Qwen3": "<think>\nIn June?\n</think>\n\n{}",
    "without a line break": "<think>In June?</think>{}",
    "in capitals": "<THINK>In June?</THINK> {}",
    "without a thought": "<think>\n\n</think>\n\n{}",
    "without the beginning": "In June? No.\n</think>\n\n{}",
    "without the beginning and line breaks": "In June? No.</think>{}",
    "two without beginnings": "In June?</think>No.</think>{}",
    "two": "<think>In June?</think>\n<think>No.</think>\n{}",
    "of two kinds": "<thinking>In June?</thinking><reflection>No.</reflection>{}",
    "about the tag": "<think>A <think> tag ends with `</think>`. In June?</think>\n{}",
    "with code": "<think>```python\nmonth = 'June'\n</think>\n{}",
    "thinking": "<thinking>In June?</thinking>\n{}",
    "thought with an attribute": '<thought duration="3">In June?</thought>\n{}',
    "reasoning": "<reasoning>In June?</reasoning>\n{}",
    "in a namespace": "<seed:think>In June?</seed:think>{}",
    "with a suffix": "<think_51bce0>In June?</think_51bce0>{}",
    "Magistral": "[THINK]In June?[/THINK]{}",
    "Magistral without the beginning": "In June?[/THINK]{}",
    "Kimi": "◁think▷In June?◁/think▷{}",
    "OpenThinker": "<|begin_of_thought|>\nIn June?\n<|end_of_thought|>\n\n<|begin_of_solution|>\n{}\n<|end_of_solution|>",
    "Command A": "<|START_THINKING|>In June?<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "Solar": "<|think|>In June?<|end|><|begin|>assistant<|content|>{}<|end|>",
    "Gemma": "<|channel>thought\nIn June?<channel|>{}",
    "GPT-OSS": "<|channel|>analysis<|message|>In June?<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "GPT-OSS with comments": "<|start|>assistant<|channel|>analysis<|message|>In June?<|end|><|start|>assistant<|channel|>commentary<|message|>Hm."
    "<|end|><|start|>assistant<|channel|>final<|message|>{}",
    "GPT-OSS without special tokens": "analysisThe user asks. In June?assistantfinal{}",
    "GPT-OSS without thoughts": "<|channel|>final<|message|>{}<|return|>",
    "Granite": "Here is my thought process:\nIn June?\n\nHere is my response:\n{}",
    "Apriel": "Here are my reasoning steps:\nIn June?\n[BEGIN FINAL RESPONSE]\n{}\n[END FINAL RESPONSE]",
    "Hunyuan": "<think>\nIn June?\n</think>\n<answer>\n{}\n</answer>",
    "Dify": '<details style="color:gray;padding: 8px;" open> <summary> Thinking... </summary>\nIn June?</details>\n\n{}',
    "a block of details": "<details>\n<summary>Thought for 3 seconds</summary>\nIn June?\n</details>\n\n{}",
    "LibreChat": ":::thinking\nIn June?\n:::\n{}",
    "Ollama on the command line": "Thinking...\nIn June?\n...done thinking.\n\n{}",
    "plan": "<plan>In June?</plan>\n{}",
    "ant": "<antThinking>In June?</antThinking>{}",
    "monologue": "<inner_monologue>In June?</inner_monologue>{}",
    "ended by another name of the family": "<think>In June?</thinking>\n{}",
    "ended by a shorter name": "<think_on>In June? A <plan> ends with </plan>.</think>{}",
    "wide bars": "<｜think｜>In June?<｜/think｜>{}",
    "bold tags": "**<think>**\nIn June?\n**</think>**\n\n{}",
    "Granite in bold": "**Here is my thought process:**\nIn June?\n\n**Here is my response:**\n\n{}",
    "GPT-OSS without special tokens and capitals": "analysisthe user asks. In June?assistantfinal{}",
    "Apriel without the beginning": "In June? No.\n[BEGIN FINAL RESPONSE]\n{}\n[END FINAL RESPONSE]\n<|end|>",
    # Code that begins in a thought and has no end there.
    "a fence in a list": "<think>\n- ```bash\n  run\n  ```\nIn June?\n</think>\n\n{}",
    "an open fence": '<think>\n```json\n{{"month": 6}}\nIn June?\n</think>\n\n{}',
    "an open fence of tildes": "<think>\n~~~ draft\nIn June?\n</think>\n\n{}",
    "a fence on one line": '<think>\n```json {{"month": 6}}```\nIn June?\n</think>\n\n{}',
    "a single backtick": "<think>the `month flag? In June?</think>{}",
    "an open fence without the beginning": 'In June? No.\n```json\n{{"month": 6}}\n</think>\n\n{}',
    "a fence in a list without the beginning": "In June? No.\n1. ```\n   run\n   ```\n</think>\n\n{}",
    "about the tag, without the beginning": "In June? No. They want <think> tags.\n</think>\n\n{}",
    # Words and tokens before a thought.
    "after a word": "Sure!\n\n<think>\nIn June?\n</think>\n\n{}",
    "after a word, on one line": "Okay.\n<think>In June?</think>\n{}",
    "after a role": "assistant\n<think>In June?</think>{}",
    "after a token and a role": "<|im_start|>assistant\n<think>\nIn June?\n</think>\n\n{}<|im_end|>",
    "after a token of DeepSeek": "<｜Assistant｜><think>In June?</think>{}<｜end▁of▁sentence｜>",
    "in a block": "```\n<think>In June?</think>\n{}\n```",
    "with a box": "<think>In June?</think>\n<|begin_of_box|>{}<|end_of_box|>",
    "with a box in a tag": "<think>In June?</think><answer><|begin_of_box|>{}<|end_of_box|></answer>",
    "Command A with its last token": "<|START_THINKING|>In June?<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "Open WebUI": '<details type="reasoning" done="true"><summary>Thought for 3 seconds</summary>In June?</details>\n{}',
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_reasoning_before_an_answer_is_left_out(form: str) -> None:
    read = separated(form.format("In May."))
    assert (read.answer, read.reasoned) == ("In May.", True)
    assert json_reply(form.format('{"month": 5}')) == {"month": 5}


def test_a_reply_of_reasoning_alone_has_no_answer() -> None:
    texts = [form.partition("June?")[0] + "June?" for form in FORMS.values() if "June?" in form]
    # What follows these words alone may be an answer.
    unmarked = ("In June?", "```")
    texts = [text for text in texts if not text.startswith(unmarked)]
    assert len(texts) == 50
    assert [text for text in texts if separated(text).answer] == []
    assert [text for text in ("<think>a</think>", "a</think> \n", "[THINK]a[/THINK]") if separated(text).answer] == []


def test_a_reply_knows_whether_only_the_end_of_its_reasoning_was_marked() -> None:
    unopened = {name for name, form in FORMS.items() if separated(form.format("In May.")).unopened}
    assert unopened == {name for name in FORMS if "without the beginning" in name or name == "two without beginnings"}


def test_later_thoughts_of_a_reply_that_begins_with_one_are_left_out() -> None:
    assert separated("<think>a</think>In spring.<think>b</think>In May.").answer == "In spring.\n\nIn May."
    assert separated("<think>a</think>In May.<think>b</think>").answer == "In May."
    assert separated("<think>a</think>In spring.<think>b").answer == ""
    assert separated("<think>a</think>Write <think> to begin.").answer == "Write <think> to begin."
    assert separated("<think>a</think>Write <think>, and then </think>.").answer == "Write <think>, and then </think>."
    kept = "<think>a</think>Write `<think>`:\n```\n<think>b</think>\n```"
    assert separated(kept).answer == kept.removeprefix("<think>a</think>")


ANSWERS = [
    "In May.",
    " In May.\n",
    "",
    "The tag `<think>` begins a thought, and `</think>` ends it.",
    "End the thought with `</think>`.",
    "A model writes <think>a thought</think> before it answers.",
    "For example:\n\n```html\n<think>hm</think>\n```\n\nThen the answer.",
    "~~~\nlate thought\n</think>\n~~~",
    "```\n<think>\n```",
    '{"quote": "it ends with </think> in May", "verdict": "supported"}',
    "<p>In May.</p>",
    "<details><summary>When?</summary>In May.</details>",
    'Write "</think>" after the thought.',
    "End a thought with </think>, then answer.",
    "Models write, for example:\n<think>a thought</think>\nbefore they answer.",
    "A line can begin with\n<think>a thought</think> in some models.",
    "<details><summary>Thinking of a dog?</summary>Ask first.</details>",
    "Thinking... takes time.",
    "The label assistantfinal is one word. Or `assistantfinal`, or 'assistantfinal'.",
    "The token is <|im_end|>.",
    "A turn ends with </s>",
    "The last token is:\n\n<|im_end|>",
    "<s>25</s> 30 days",
    "It costs <s>30</s>",
    "<|im_end|>",
    "**<think>** begins a thought.",
    "It begins with\n<think>, and ends later.",
    "Write `May</s>`",
    "It opens in <month>May</month>",
    "Use:\n```text\nMay\n```",
    "Write:\n```\n`a` `b` `c`\n<think>hm</think>\n```",
    "[Thoughts](thoughts.md) has it.",
    "[THINK] tanks open in May.".lower(),
    "I think it opens in May. My reasoning: it says so.",
    "analysis of the passages shows May",
    "Analysis: May.",
    "Here is my response:\nMay.",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_that_names_such_marks_stays_as_it_is(text: str) -> None:
    assert separated(text) == Separated(text)


FRAMES = [
    "{}</s>",
    "{}\n<|im_end|>",
    "{}<|eot_id|>",
    "{}<|endoftext|>",
    "{}<｜end▁of▁sentence｜>",
    "{}<end_of_turn>\n",
    "{}<seed:eos>",
    "{}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "<|START_RESPONSE|>{}<|END_RESPONSE|>",
    "<|message|>{}<|return|>",
    "<|im_start|>assistant\n{}<|im_end|>",
    "<|begin_of_box|>{}<|end_of_box|>",
    "<answer>{}</answer>",
    "<answer lang='en'>\n{}\n</answer><|im_end|>",
    "<s>{}</s>",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_tokens_and_tags_around_an_answer_are_no_part_of_it(frame: str) -> None:
    for text in ("May", "It opens in May."):
        assert separated(frame.format(text)) == Separated(text)
    assert separated(f"<think>In June?</think>{frame.format('May')}").answer == "May"
    assert json_reply(frame.format('{"quote": "ends with </think>"}')) == {"quote": "ends with </think>"}
    assert json_reply(frame.format('```json\n{"month": 5}\n```')) == {"month": 5}


def test_a_box_within_an_answer_is_opened() -> None:
    assert separated("It opens in <|begin_of_box|>May<|end_of_box|>.").answer == "It opens in May."


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_in_a_block_of_code_is_kept_with_it(form: str) -> None:
    block = "```text\nIn May.\n```"
    if form != "in a block":
        assert separated(FORMS[form].format(block)).answer == block
        assert separated(FORMS[form].format(f"Use:\n{block}\nThen `wait`.")).answer == f"Use:\n{block}\nThen `wait`."


def test_words_before_a_thought_are_kept_if_they_may_be_the_answer() -> None:
    thought, long = "<think>\nIn June?\n</think>", "It opens in May, as the second passage says. " * 3
    assert separated(f"In May.\n{thought}").answer == "In May."
    assert separated(f"{long}\n{thought}\nSo: in May.").answer == f"{long.strip()}\n\nSo: in May."
    assert separated(f"{long}\n<think>\nIn June?").answer == long.strip()
    assert separated("Sure!\n\n<think>\nIn June?") == Separated("", True)


def test_an_answer_after_a_thought_can_begin_with_a_quotation() -> None:
    assert separated('In June? No.</think>"In May," it says.') == Separated('"In May," it says.', True, True)


def test_after_very_many_thoughts_the_answer_is_what_follows() -> None:
    assert separated("<think>a</think>" * 200 + "In May.").answer == "In May."
    assert separated("<think>a</think>" + "In spring.\n<think>b</think>" * 200 + "In May.").answer.endswith("In May.")


@given(st.lists(st.sampled_from(["<think>", "</think>", "[/THINK]", "`", "```\n", "\n", " ", "May", "<|end|>", "{"])).map("".join))
def test_an_answer_is_read_once(text: str) -> None:
    read = separated(text)
    assert separated(read.answer).answer == read.answer
    assert read.reasoned or "<|end|>" in text or read.answer == text


@pytest.mark.parametrize(
    "part",
    [
        *("<think>", "</think>", "<think></think>", "`</think>`", "<think>\n```\n", "[/THINK]", "<|channel|>analysis"),
        *("```x\n</think>\n", "<plan></think>\n```\n", "\n<think>a", "<|im_end|>", "<|begin_of_box|>", "<answer>"),
    ],
)
def test_a_model_gone_wrong_is_read_in_time(part: str) -> None:
    started = time.process_time()
    separated(part * 2000 + "In May.")
    separated("a" + part * 2000)
    assert time.process_time() - started < 3


def reason(reply: Reply) -> str:
    outcome = answered(reply)
    assert isinstance(outcome, CallFailure)
    assert outcome.kind == "reply"
    return outcome.reason


def test_a_reply_without_an_answer_says_why() -> None:
    assert reason(Reply("<think>In June?", "length")) == "the reply is reasoning without an answer because it used all of its tokens"
    assert reason(Reply("<think>In June?")) == "the reply is reasoning without an answer"
    assert reason(Reply("", reasoned=True)) == "the reply is reasoning without an answer"
    assert reason(Reply("", "length")) == "the answer is empty because it used all of its tokens"
    assert reason(Reply(" ", "tool_calls")) == "the model called a tool in place of an answer"
    assert reason(Reply("", "recitation")) == "the answer is empty (recitation)"
    assert reason(Reply("\n")) == "the answer is empty"


def test_an_answer_that_was_cut_after_the_reasoning_is_an_answer() -> None:
    outcome = answered(Reply("<think>In June?</think>It opens in M", "length", output_tokens=9))
    assert outcome == Reply("It opens in M", "length", output_tokens=9, reasoned=True)


def test_reasons_to_end_have_one_name() -> None:
    names = {
        "stop": [
            "stop",
            "STOP",
            "end_turn",
            "endTurn",
            "stop_sequence",
            "eos",
            "eos_token",
            "COMPLETE",
            "FinishReason.STOP",
            "null",
            None,
            "",
        ],
        "length": ["length", "max_tokens", "MAX_TOKENS", "maxTokens", "model_length", "max_output_tokens", "token_limit", "ERROR_LIMIT"],
        "content_filter": [
            "content_filter",
            "content_filter: X",
            "SAFETY",
            "recitation",
            "sensitive",
            "refusal",
            "guardrail_intervened",
            "SPII",
        ],
        "tool_calls": ["Tool_Calls", "tool_use", "TOOL_CALL", "function_call"],
    }
    assert {end: {finish_of(name) for name in given} for end, given in names.items()} == {end: {end} for end in names}
    assert finish_of("model_context_window_exceeded") == "length"


def test_any_other_reason_to_end_says_that_the_reply_broke_off() -> None:
    names = [
        "error",
        "insufficient_system_resource",
        "network_error",
        "abort",
        "pause_turn",
        "rate_limit",
        "malformed_function_call",
        "load",
    ]
    assert [finish_of(name.upper()) for name in names] == names
    assert {failure.kind for name in names if (failure := unfinished(name))} == {"server"}
    assert [unfinished(name) for name in ("stop", "length")] == [None, None]


def test_parts_of_text_are_joined_and_those_of_reasoning_left_out() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "In June?"}]},
        {"type": "reasoning", "text": "In June?"},
        {"type": "text", "text": "In "},
        "May",
        {"type": "output_text", "text": "."},
        {"type": "text", "text": {"value": " Yes.", "annotations": []}},
        {"type": "reference", "reference_ids": [1]},
    ]
    assert content_text(parts) == "In May. Yes."
    assert (content_text("In May."), content_text(None), content_text([])) == ("In May.", "", "")
    assert has_reasoning({"content": parts})
    assert not has_reasoning({"content": parts[2:]})
    assert has_reasoning({"reasoning_content": "In June?", "content": None})


def test_a_part_that_is_no_text_is_named() -> None:
    with pytest.raises(UnreadableContentError, match="the answer has a part of type 'image_url', which is no text"):
        content_text([{"type": "text", "text": "In May."}, {"type": "image_url", "image_url": {"url": "x"}}])
    for content in (3, [3]):
        with pytest.raises(TypeError):
            content_text(content)


def test_one_object_is_read_also_from_a_block_of_code() -> None:
    texts = [
        '{"a": 1}',
        ' {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '```JSON\n{"a": 1}\n``` ',
        '```json {"a": 1}```',
        '~~~\n{"a": 1}\n~~~',
        *(
            f'```{name}\n{{"a": 1}}\n```'
            for name in ("javascript", "js", "python", "text", "jsonl", "yaml", "json5 ", " json", "{.json}", "c++")
        ),
        '````json\n{"a": 1}\n````',
        '~~~~\n{"a": 1}\n~~~~',
        '```json\n{"a": 1}',
        '```{"a": 1}```',
        '\ufeff{"a": 1}',
        '\ufeff```json\r\n{"a": 1}\r\n```',
    ]
    assert [json_reply(text) for text in texts] == [{"a": 1}] * len(texts)


def test_a_word_or_a_number_is_read_from_a_block_of_code() -> None:
    texts = ["7", " 7\n", "```\n7\n```", "```json\n7\n```", "```7```", "~~~text\n7\n~~~", "````\n7", "```text 7```"]
    assert [unfenced(text) for text in texts] == ["7"] * len(texts)
    assert [unfenced(text) for text in ("```true```", "It is ```7```.", "```\n7\n```\n```\n8\n```")] == [
        "true",
        "It is ```7```.",
        "```\n7\n```\n```\n8\n```",
    ]


def test_anything_else_is_no_object() -> None:
    texts = [
        "",
        "[1]",
        'Sure: {"a": 1}',
        '{"a": 1} {"a": 2}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1',
        "1",
        "[" * 100_000,
        '<think>{"a": 1}',
        '```json\n{"a": 1}\n```\n\n```json\n{"a": 2}\n```',
        'Sure:\n```json\n{"a": 1}\n```',
        '```json\n{"a": 1\n```',
    ]
    assert [text for text in texts if json_reply(text) is not None] == []
