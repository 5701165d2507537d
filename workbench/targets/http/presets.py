"""Bodies and paths of common services, so that an experiment names a preset and an address."""

from collections.abc import Mapping
from typing import Any, Literal

from workbench.targets.contents import FINISHES

Preset = Literal["openai-chat", "openai-chat-stream", "langserve", "langserve-stream", "query"]

# Several paths are alternatives.
_HIT_FIELDS = {
    "id": ["$.doc_id", "$.document_id", "$.metadata.doc_id", "$.id", "$.metadata.id", "$"],
    "text": ["$.text", "$.content", "$.page_content", "$.chunk", "$.passage"],
    "score": ["$.score", "$.relevance", "$.relevance_score", "$.similarity"],
    "start": ["$.start", "$.metadata.start"],
    "end": ["$.end", "$.metadata.end"],
    "metadata": ["$.metadata", "$.meta"],
}
_SOURCES = ["$.sources", "$.contexts", "$.context", "$.documents", "$.hits", "$.results", "$.citations"]
_OUTPUT_TEXTS = ["$.output.answer", "$.output.content", "$.output.output", "$.output.result", "$.output"]
_OUTPUT_SOURCES = ["$.output.context", "$.output.source_documents", "$.output.sources", "$.output.documents"]
_CHAT_BODY: Mapping[str, Any] = {"model": "{model}", "messages": [{"role": "user", "content": "{query}"}]}
_CHAT_SOURCES = ["$.choices[0].message.context.citations", "$.sources", "$.citations", "$.documents"]

# By preset and block, the fields that the experiment can leave out.
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "openai-chat": {
        "answer": {
            "url": "chat/completions",
            "body": _CHAT_BODY,
            "reply": {
                "text": "$.choices[0].message.content",
                "sources": {"hits": _CHAT_SOURCES, **_HIT_FIELDS},
                "model": ["$.model", "$.model_name"],
                "input_tokens": ["$.usage.prompt_tokens", "$.usage.input_tokens"],
                "output_tokens": ["$.usage.completion_tokens", "$.usage.output_tokens"],
                "finish_reason": ["$.choices[0].finish_reason", "$.choices[0].stop_reason"],
            },
        }
    },
    "openai-chat-stream": {
        "answer": {
            "url": "chat/completions",
            "body": {**_CHAT_BODY, "stream": True},
            "stream": {"delta": ["$.choices[0].delta.content", "$.choices[0].text"], "end": "[DONE]"},
            "reply": {
                "text": "$.text",
                "model": ["$.events[0].model", "$.events[-1].model"],
                "input_tokens": ["$.events[-1].usage.prompt_tokens", "$.events[-1].usage.input_tokens"],
                "output_tokens": ["$.events[-1].usage.completion_tokens", "$.events[-1].usage.output_tokens"],
                # The tokens can follow in an event of their own.
                "finish_reason": ["$.events[-1].choices[0].finish_reason", "$.events[-2].choices[0].finish_reason"],
            },
        }
    },
    "langserve": {
        "search": {"url": "invoke", "body": {"input": "{query}"}, "reply": {"hits": ["$.output", *_OUTPUT_SOURCES], **_HIT_FIELDS}},
        "answer": {
            "url": "invoke",
            "body": {"input": "{query}"},
            "reply": {
                "text": _OUTPUT_TEXTS,
                "sources": {"hits": _OUTPUT_SOURCES, **_HIT_FIELDS},
                "finish_reason": [f"$.output.response_metadata.{name}" for name in FINISHES],
            },
        },
    },
    "langserve-stream": {
        "answer": {
            "url": "stream",
            "body": {"input": "{query}"},
            "stream": {"delta": ["$.answer", "$.content", "$.output", "$"], "end": "end"},
            "reply": {
                "text": "$.text",
                "sources": {"hits": ["$.events[*].context[*]", "$.events[*].source_documents[*]", "$.events[*].sources[*]"], **_HIT_FIELDS},
            },
        }
    },
    "query": {
        "search": {
            "url": "query",
            "body": {"query": "{query}", "k": "{k}"},
            "reply": {"hits": ["$.results", "$.hits", "$.documents", "$.sources", "$.matches", "$.chunks", "$"], **_HIT_FIELDS},
        },
        "answer": {
            "url": "query",
            "body": {"query": "{query}", "k": "{k}"},
            "reply": {
                "text": ["$.answer", "$.response", "$.result", "$.text", "$.output"],
                "sources": {"hits": _SOURCES, **_HIT_FIELDS},
                "finish_reason": [f"$.{name}" for name in FINISHES],
                "refused": ["$.refused", "$.abstained"],
                "confidence": ["$.confidence", "$.answer_confidence"],
            },
        },
    },
}
# The block of a preset where the experiment neither searches nor answers.
PRESET_BLOCK = "answer"
