"""Damage files that a finished sweep left, as a failing disk or a person would."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["flip", "truncate", "empty", "delete", "swap"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Files without content, or whose content nothing reads.
_IGNORED = (".lock", ".gitignore", ".uploaded")


@dataclass(frozen=True)
class Damage:
    """Damage of one file, named by its path below the outputs folder. `swap` exchanges it with the next file of its name and place."""

    path: str
    kind: Kind
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.path}" + (f" (seed {self.seed})" if self.seed else "")

    def apply(self, outputs: Path) -> None:
        """Damage the file in an outputs folder."""
        path = outputs / self.path
        content = path.read_bytes()
        if self.kind == "delete":
            path.unlink()
        elif self.kind == "swap":
            other = namesake(path)
            path.write_bytes(other.read_bytes())
            other.write_bytes(content)
        elif self.kind == "flip":
            bit = random.Random(f"{self.path} {self.seed}").randrange(8 * len(content))
            flipped = content[bit // 8] ^ (1 << bit % 8)
            path.write_bytes(content[: bit // 8] + bytes([flipped]) + content[bit // 8 + 1 :])
        else:
            path.write_bytes(content[: len(content) // 2] if self.kind == "truncate" else b"")


def namesake(path: Path) -> Path:
    """The file of the same name in the next folder beside the path's own, or else the path itself."""
    others = sorted(path.parent.parent.glob(f"*/{path.name}"))
    return next((other for other in others if other != path and other.is_file()), path)


def damages(outputs: Path) -> Iterator[Damage]:
    """Yield every damage of every file with content."""
    for path in sorted(outputs.rglob("*")):
        if path.is_file() and not path.name.endswith(_IGNORED) and path.stat().st_size:
            kinds = [kind for kind in KINDS if kind != "swap" or namesake(path) != path]
            yield from (Damage(path.relative_to(outputs).as_posix(), kind) for kind in kinds)
