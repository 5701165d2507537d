"""Give tables the columns and types of their schemas, write them whole, and check them when they are read."""

from pathlib import Path

import pandas as pd
import pyarrow as pa

from workbench.core.files import write_atomically
from workbench.errors import InputError
from workbench.schemas import TableSchema

_FIX = "make the outputs again with workbench sweep"


def conform(schema: TableSchema, table: pd.DataFrame) -> pd.DataFrame:
    """The table with the schema's columns, in its order and types; a column that is missing is a KeyError."""
    return table[schema.names].astype(dict(schema.dtypes))


def empty(schema: TableSchema) -> pd.DataFrame:
    """The table without rows."""
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in schema.dtypes.items()})


def write_table(folder: Path, schema: TableSchema, table: pd.DataFrame) -> None:
    """Write `<name>.parquet`, whole or not at all; `table` conforms to the schema."""
    write_atomically(folder / f"{schema.name}.parquet", lambda aside: table.to_parquet(aside, index=False))


def read_table(folder: Path, schema: TableSchema) -> pd.DataFrame:
    """Read `<name>.parquet`; InputError if it is missing, unreadable or not of the schema."""
    path = folder / f"{schema.name}.parquet"
    try:
        table = pd.read_parquet(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", _FIX) from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is not a readable table ({type(error).__name__})", _FIX) from error
    dtypes = {str(name): str(dtype) for name, dtype in table.dtypes.items()}
    wrong = [name for name, dtype in schema.dtypes.items() if dtypes.get(name) != dtype]
    wrong += [name for name in dtypes if name not in schema.dtypes]
    if wrong or list(dtypes) != schema.names:
        raise InputError(f"{path} is not a table of this version (columns: {', '.join(wrong) or 'in another order'})", _FIX)
    return table
