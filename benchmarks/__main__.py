"""Run every benchmark; each prints ratios against what one would otherwise run and stores them in benchmarks/results/."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks import encoding, notebooks, scaling, sweep

RESULTS = Path(__file__).with_name("results")


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), ""
    )
    packages = {name: version(name) for name in ("torch", "openvino", "sentence-transformers", "chromadb", "numpy")}
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), **packages}


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    for name, run in {"encoding": encoding.run, "sweep": sweep.run, "notebooks": notebooks.run, "scaling": scaling.run}.items():
        found = run()
        (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine(), **found}, indent=2) + "\n")
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
