"""Pipelines and components of Haystack as functions of a question. Haystack is not imported: the attributes of its objects are enough.

Source: haystack-ai 3.4.1.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from workbench.core.errors import InputError

# The outputs that serve a role, the better first.
_OUTPUTS: Mapping[Literal["search", "answer"], tuple[str, ...]] = {"search": ("documents",), "answer": ("answers", "replies")}
# Inputs that get the question: these always, the others if they are mandatory.
_QUESTION, _NEEDED = ("query", "question"), ("text", "input", "prompt")
_K = "top_k"


def haystack_roles(value: object) -> set[str]:
    """Return which of `search` and `answer` a pipeline or a component serves, by the names of its outputs. Empty for another object."""
    outputs = {name for names in _outputs(value).values() for name in names}
    return {role for role, names in _OUTPUTS.items() if outputs.intersection(names)}


def haystack_function(label: str, value: Any, role: Literal["search", "answer", "ingest", "remove"]) -> Callable[..., Any] | None:
    """Return a function of the question that runs a pipeline or a component. None for another object, or one that does not serve the role.

    Raises InputError for a pipeline with another mandatory input than the question.
    """
    if role == "ingest" or role == "remove" or role not in haystack_roles(value):
        return None
    if not _is_pipeline(value):
        # Its signature says where the question and the number of hits go.
        @functools.wraps(value.run)
        def run(*args: Any, **named: Any) -> Any:
            return _result(value.run(*args, **named), role)

        return run
    inputs = _asked(label, value)
    finals = list(_last_with_documents(value))

    sized = [name for name in finals if _K in value.inputs(include_components_with_connected_inputs=True).get(name, {})]

    def asked(query: str, **sizes: int) -> Any:
        data: dict[str, dict[str, Any]] = {name: dict.fromkeys(names, query) for name, names in inputs.items()}
        for name in sized if sizes else ():
            data.setdefault(name, {}).update(sizes)
        return _result(_merged(value.run(data, include_outputs_from=set(finals)), finals), role)

    def search(query: str, k: int) -> Any:
        return asked(query, top_k=k)

    def answer(query: str) -> Any:
        return asked(query)

    return search if role == "search" else answer


def _is_pipeline(value: Any) -> bool:
    return all(callable(getattr(value, name, None)) for name in ("run", "inputs", "outputs", "add_component")) and hasattr(value, "graph")


def _outputs(value: Any) -> Mapping[str, Any]:
    """Return the names of the outputs of a component, or of those of a pipeline whose outputs are its own."""
    if isinstance(value, type):
        return {}
    if _is_pipeline(value):
        found: Mapping[str, Any] = value.outputs()
        return found
    sockets = getattr(value, "__haystack_output__", None)
    return {} if sockets is None else {"": getattr(sockets, "_sockets_dict", {})}


def _asked(label: str, pipeline: Any) -> dict[str, list[str]]:
    """Return the inputs of each component that get the question."""
    asked, needed = dict[str, list[str]](), list[str]()
    for name, inputs in pipeline.inputs().items():
        for key, socket in inputs.items():
            if key in _QUESTION or (key in _NEEDED and socket["is_mandatory"]):
                asked.setdefault(name, []).append(key)
            elif socket["is_mandatory"]:
                needed.append(f"{name}.{key}")
    if needed or not asked:
        fault = f"needs {', '.join(needed)}" if needed else "takes no question"
        fix = f"give a function of the question that runs it; inputs named {', '.join((*_QUESTION, *_NEEDED))} get the question"
        raise InputError(f"the pipeline {label} {fault}", fix)
    return asked


def _last_with_documents(pipeline: Any) -> Iterator[str]:
    """Yield the components that give documents which reach no other such component: a ranker, not the retriever before it."""
    giving = {name for name, outputs in pipeline.outputs(include_components_with_connected_outputs=True).items() if "documents" in outputs}
    for name in sorted(giving):
        seen, following = set[str](), list(pipeline.graph.successors(name))
        while following:
            if (other := following.pop()) not in seen:
                seen.add(other)
                following += pipeline.graph.successors(other)
        if not seen & giving:
            yield name


def _merged(results: Mapping[str, Mapping[str, Any]], finals: list[str]) -> dict[str, Any]:
    """Return the outputs of all components as one mapping, with the documents of those that gave them last."""
    merged = {key: value for outputs in results.values() for key, value in outputs.items()}
    documents = [document for name in finals for document in results.get(name, {}).get("documents") or ()]
    return merged | ({"documents": documents} if any(name in results for name in finals) else {})


def _result(outputs: Mapping[str, Any], role: Literal["search", "answer"]) -> Any:
    """Return outputs as hits, or as an answer with its sources and its use of a model."""
    documents = outputs.get("documents")
    hits = None if documents is None else list(map(_hit, documents))
    if role == "search":
        return hits
    answers = next((outputs[name] for name in _OUTPUTS["answer"] if outputs.get(name)), None)
    if not answers:
        return None
    first = answers[0]
    metas = outputs.get("meta") or [getattr(first, "meta", None)]
    meta = metas[0] if isinstance(metas, list) and metas and isinstance(metas[0], Mapping) else {}
    used = meta.get("usage")
    usage: Mapping[str, Any] = used if isinstance(used, Mapping) else {}
    own = getattr(first, "documents", None)
    return {
        "answer": getattr(first, "data", first),
        **({} if hits is None and not own else {"sources": list(map(_hit, own)) if own else hits}),
        "model": meta.get("model"),
        "finish_reason": meta.get("finish_reason"),
        "input_tokens": usage.get("prompt_tokens"),
        "output_tokens": usage.get("completion_tokens"),
    }


def _hit(document: Any) -> Any:
    """Return a document as a hit. Splitters name the document of a part, and its first character, in its metadata."""
    meta = getattr(document, "meta", None)
    if meta is None:
        return document
    parent = {"doc_id": meta["source_id"]} if meta.get("source_id") else {}
    # The end follows from the start and the text.
    place = {"start": meta.get("split_idx_start"), "metadata": dict(meta)}
    return {**parent, "id": document.id, "text": document.content, "score": document.score, **place}
