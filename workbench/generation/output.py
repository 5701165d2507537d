"""Write generated questions as a golden folder, with the reference answers, the dropped candidates and a record of the generation beside them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.core.files import parsed_json
from workbench.core.fingerprint import file_digest, fingerprint
from workbench.datasets.formats.golden import QUESTION_FILES, jsonl, question_rows, write_golden
from workbench.errors import InputError
from workbench.generation.candidates import REASONS, Candidate
from workbench.generation.generate import Generated
from workbench.generation.model import ANSWER, REFERENCE, CachedModel, prompt_digest
from workbench.generation.proposals import PROMPTS
from workbench.llm.families import model_family
from workbench.records import ACCEPTED_BY, PROVENANCE, SYNTHETIC, Dataset, Need, Qrel, Query

RECORD, REFERENCES, DROPPED = "generation.json", "references.jsonl", "dropped.jsonl"


def check_folder(folder: Path) -> None:
    """Raise InputError unless a folder is new, empty, or as a generation wrote it, so that no work of a person is overwritten."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        written = parsed_json((folder / RECORD).read_bytes())["questions_sha256"]
        if file_digest(folder / QUESTION_FILES[0]) == written:
            return
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{folder} exists and is no folder of generated questions", "name a new one with --output") from None
    raise InputError(f"{folder / QUESTION_FILES[0]} was edited or accepted since it was generated", "name another folder with --output")


def write_generated(generated: Generated, dataset: Dataset, model: CachedModel, folder: Path) -> None:
    """Write the folder of a dataset that was made of accepted candidates. It appears only when complete."""
    questions = jsonl(question_rows(dataset))
    record = _record(generated, model) | {"questions_sha256": hashlib.sha256(questions.encode()).hexdigest()}
    beside = {
        REFERENCES: jsonl(_references(generated)),
        DROPPED: jsonl(_dropped(generated)),
        RECORD: json.dumps(record, indent=2, ensure_ascii=False) + "\n",
    }
    write_golden(dataset, folder, beside, replace=True)


def generated_dataset(generated: Generated, source: Dataset, model: CachedModel) -> Dataset:
    """Return the accepted questions as a dataset, each marked as synthetic."""
    queries, qrels, needs = [], [], []
    for candidate in generated.accepted:
        query_id = _query_id(candidate)
        reference = candidate.reference
        variants = (reference.text,) if candidate.answer and reference and reference.agrees and reference.text != candidate.answer else ()
        metadata = {"type": candidate.kind, **_marks(candidate, generated, model)}
        queries.append(
            Query(query_id, candidate.question, candidate.kind != "unanswerable", candidate.answer, metadata, answer_variants=variants)
        )
        doc_ids = dict.fromkeys(span.doc_id for need in candidate.needs for span in need)
        qrels += [Qrel(query_id, doc_id, 1) for doc_id in doc_ids]
        needs += [Need(query_id, need) for need in candidate.needs]
    return Dataset(source.name, source.documents, tuple(queries), tuple(qrels), tuple(needs))


def answered_dataset(generated: Generated, source: Dataset, model: CachedModel) -> Dataset:
    """Return the source with the reference answers of its questions as expected answers, each of them marked as synthetic."""
    written = {candidate.query_id: candidate for candidate in generated.accepted}
    queries = [
        replace(query, answer=candidate.reference.text, metadata={**query.metadata, **_marks(candidate, generated, model)})
        if (candidate := written.get(query.query_id)) and candidate.reference
        else query
        for query in source.queries
    ]
    return replace(source, queries=tuple(queries))


def _query_id(candidate: Candidate) -> str:
    return candidate.query_id or f"s-{fingerprint(candidate.question)[:8]}"


def _marks(candidate: Candidate, generated: Generated, model: CachedModel) -> dict[str, Any]:
    """Return the marks of a synthetic question, with its provenance. No date, so that the same generation gives the same file."""
    names = [REFERENCE] if candidate.query_id else [PROMPTS[candidate.kind][0], ANSWER, REFERENCE]
    provenance = {
        "part": "answer" if candidate.query_id else "question",
        "model": _name(model),
        "provider": model.client.kind,
        "prompts": {name: prompt_digest(name) for name in names},
        "passages": [source.chunk_id for source in candidate.sources],
        "seed": generated.settings.seed,
        "reference_agrees": bool(candidate.reference and candidate.reference.agrees),
    }
    return {SYNTHETIC: True, ACCEPTED_BY: "", PROVENANCE: provenance}


def _name(model: CachedModel) -> str:
    return model.name or str(getattr(model.client, "model", "") or Path(str(getattr(model.client, "path", ""))).name)


def _references(generated: Generated) -> Iterator[dict[str, Any]]:
    for candidate in generated.accepted:
        if reference := candidate.reference:
            yield {
                "query_id": _query_id(candidate),
                "query": candidate.question,
                "answer": candidate.answer,
                "reference": reference.text,
                "agrees": reference.agrees,
                "documents": [
                    {"doc_id": doc_id, "score": score, "passages": [list(span) for span in spans]}
                    for doc_id, (score, spans) in reference.documents.items()
                ],
            }


def _dropped(generated: Generated) -> Iterator[dict[str, Any]]:
    for candidate in generated.dropped:
        yield {
            "reason": candidate.dropped,
            "why": REASONS[candidate.dropped],
            "detail": candidate.detail,
            "type": candidate.kind,
            "query": candidate.question,
            "answer": candidate.answer,
            "quotes": list(candidate.quotes),
            "passages": [source.chunk_id for source in candidate.sources],
        }


def _record(generated: Generated, model: CachedModel) -> dict[str, Any]:
    spent, name = model.resources.budget.spent, _name(model)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "model": name,
        "family": model_family(name),
        "provider": model.client.kind,
        "settings": generated.settings.model_dump(),
        "prompts": {name: prompt_digest(name) for name in (*(name for name, _ in PROMPTS.values()), ANSWER, REFERENCE)},
        "questions": dict(Counter(candidate.kind for candidate in generated.accepted)),
        "dropped": dict(generated.reasons),
        "failures": dict(model.failures),
        "calls": spent.calls,
        "cached": model.cached,
        "tokens": spent.tokens,
        "usd": spent.usd,
    }
