"""Read NFCorpus (Boteva et al., ECIR 2016) in BEIR's edition from a folder or the cache, or download it once.

A downloaded archive must have the published counts. Its SHA-256 is then recorded, and checked after every later download.
"""

import os
import shutil
import zipfile
import zlib
from pathlib import Path

from filelock import FileLock

from workbench.core.environment import cache_folder, data_folder
from workbench.core.fingerprint import file_digest
from workbench.core.progress import ProgressBar
from workbench.datasets.draft import DatasetDraft
from workbench.datasets.files import FileAccess
from workbench.datasets.formats.beir import read_beir
from workbench.errors import InputError
from workbench.printable import printable_line

URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/nfcorpus.zip"
COUNTS = {"documents": 3_633, "queries": 3_237, "test judgements": 12_334}
# The queries often quoted for this corpus, with their documents of grade 2.
FIVE = ("PLAIN-2630", "PLAIN-2660", "PLAIN-2510", "PLAIN-2430", "PLAIN-2690")
_SECONDS = 30
# The archive has 2.4 MB.
_LARGEST = 64 * 2**20


def read_nfcorpus(folder: Path | None, split: str | None, five: bool, files: FileAccess) -> DatasetDraft:
    """Read NFCorpus. `five` keeps the five named questions with their documents of grade 2 (21, 20, 16, 15 and 14 of them)."""
    draft = read_beir(folder or _found() or _obtained(), split, files)
    if five:
        draft.queries = [(query, where) for query, where in draft.queries if query.query_id in FIVE]
        draft.qrels = [(qrel, where) for qrel, where in draft.qrels if qrel.query_id in FIVE and qrel.relevance == 2]
    return draft


def _found() -> Path | None:
    folders = (data_folder() / "nfcorpus", cache_folder() / "nfcorpus")
    return next((folder for folder in folders if (folder / "corpus.jsonl").is_file()), None)


def _obtained() -> Path:
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "nfcorpus.lock"):
            return _found() or _downloaded(cache)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = printable_line(error.strerror or str(error)) if isinstance(error, OSError) else ""
        what = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        fix = "give dataset.path a folder that contains it, or set WORKBENCH_DATA to the folder above it"
        raise InputError(f"NFCorpus could not be fetched into {cache} ({what})", fix) from error


def _downloaded(cache: Path) -> Path:
    """Download the archive, check it, unpack it to a temporary folder and rename it, so that an interrupted download is never read."""
    # This process has the lock: temporary files, or a folder without a corpus, were left by a killed process.
    archive, aside = cache / "nfcorpus.zip", cache / "nfcorpus.part"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        _fetch(os.environ.get("WORKBENCH_NFCORPUS_URL", URL), aside / "nfcorpus.zip")
        with zipfile.ZipFile(aside / "nfcorpus.zip") as packed:
            packed.extractall(aside)
        _check_counts(aside / "nfcorpus")
        _check_digest(aside / "nfcorpus.zip", cache / "nfcorpus.zip.sha256")
        os.replace(aside / "nfcorpus.zip", archive)
        shutil.rmtree(cache / "nfcorpus", ignore_errors=True)
        os.replace(aside / "nfcorpus", cache / "nfcorpus")
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return cache / "nfcorpus"


def _fetch(url: str, target: Path) -> None:
    from workbench.models.http import open_address  # heavy

    target.parent.mkdir(parents=True, exist_ok=True)
    with open_address(url, _LARGEST, _SECONDS) as answer, target.open("wb") as stream:
        size = int(answer.headers.get("content-length", 0)) or None
        with ProgressBar(total=size, unit="B", unit_scale=True, desc="NFCorpus") as bar:
            for block in answer.iter_raw():
                bar.update(stream.write(block))


def _check_counts(folder: Path) -> None:
    whole, test = (read_beir(folder, split, FileAccess()) for split in (None, "test"))
    counts = dict(zip(COUNTS, (len(whole.documents), len(whole.queries), len(test.qrels)), strict=True))
    if counts != COUNTS:
        raise InputError(f"the downloaded NFCorpus has {counts}, not {COUNTS}", "give dataset.path a folder with the published one")


def _check_digest(archive: Path, record: Path) -> None:
    digest = file_digest(archive)
    recorded = record.read_text().split()[:1] if record.exists() else []
    if recorded and recorded != [digest]:
        raise InputError(f"the downloaded NFCorpus differs from the one recorded in {record}", f"delete {record} if the change is known")
    record.write_text(f"{digest}  nfcorpus.zip\n")
