"""Write generated questions as a golden folder, with a record of the generation beside them, and record a person's acceptance."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.core.errors import DatasetError, InputError
from workbench.core.files import parsed_json, write_text
from workbench.core.fingerprint import file_digest, fingerprint
from workbench.core.records import ACCEPTED_BY, PROVENANCE, SYNTHETIC, Dataset, Need, Qrel, Query, is_placeholder
from workbench.core.text.formatting import listed, meant
from workbench.data.draft import DatasetDraft
from workbench.data.formats.golden import QUESTION_FILES, jsonl, question_rows, write_golden
from workbench.data.lines import json_lines, read_text
from workbench.llm.families import model_family
from workbench.people.generation.candidates import REASONS, Candidate
from workbench.people.generation.generate import PROMPTS, Generated
from workbench.people.generation.model import ANSWER, REFERENCE, CachedModel, prompt_digest

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


def accept_questions(path: Path, query_ids: Collection[str] | None, by: str) -> tuple[int, int]:
    """Write a person's name to synthetic questions in a JSON Lines file, or in the one of a golden folder.

    `query_ids` are the questions to accept, None for all that nobody has accepted. Return how many were accepted now, and how many synthetic
    questions still are not. The lines of other questions stay as they are.

    Raises
    ------
    InputError
        If the name is blank, or a question does not exist or is not synthetic. The file is then unchanged.
    """
    if not by.strip():
        raise InputError("--by is empty", "give the name of the person who has read the questions")
    file = path / QUESTION_FILES[0] if path.is_dir() else path
    if file.suffix.lower() != ".jsonl" or not file.is_file():
        raise InputError(f"{file} is no file of questions", "give questions.jsonl, or the folder that contains it")
    lines, rows = _rows(file)
    wanted = _wanted(rows, query_ids, file)
    for index in wanted:
        lines[index] = json.dumps(rows[index] | {ACCEPTED_BY: by.strip()}, ensure_ascii=False, allow_nan=False)
    if wanted:
        write_text(file, "\n".join(lines))
    waiting = [index for index, row in rows.items() if row.get(SYNTHETIC) is True and not row.get(ACCEPTED_BY) and index not in wanted]
    return len(wanted), len(waiting)


def _rows(file: Path) -> tuple[list[str], dict[int, dict[str, Any]]]:
    """Return the lines of a file, and its objects by the number of their line, from 0. Raises DatasetError for a line that is no object."""
    draft = DatasetDraft(file.name)
    rows = {int(where.rpartition(":")[2]) - 1: row for row, where in json_lines(file, draft)}
    if draft.faults:
        raise DatasetError(str(file), draft.faults)
    return read_text(file, draft).split("\n"), rows


def _wanted(rows: dict[int, dict[str, Any]], query_ids: Collection[str] | None, file: Path) -> set[int]:
    """Return the lines of the questions to accept."""
    synthetic = {str(row.get("query_id")): index for index, row in rows.items() if row.get(SYNTHETIC) is True and not is_placeholder(row)}
    if query_ids is None:
        return {index for index in synthetic.values() if not rows[index].get(ACCEPTED_BY)}
    if missing := [query_id for query_id in query_ids if query_id not in synthetic]:
        hint = meant(missing[0], synthetic) if len(missing) == 1 else ""
        raise InputError(
            f"{file} has no synthetic question {listed(missing)}{hint}",
            "give the query_id of questions with synthetic: true; placeholders are written in the labeller, or get accepted_by in the file",
        )
    return {synthetic[query_id] for query_id in query_ids}
