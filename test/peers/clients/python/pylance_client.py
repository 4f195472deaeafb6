"""pylance opens tables by a namespace: the server is the catalog, and each step also runs on a local folder.

Rows that Sheaf itself holds are refused: the scheme of their location is a sentence that names the way out, and the engine's
error quotes it. No file is left behind.
"""

import os
import tempfile
from functools import partial
from pathlib import Path

import lance
import lance_namespace as models
import pyarrow as pa
from report import check, compare, outcome
from sheaf import Table

SENTENCE = "sheaf-stores-the-rows-of-this-table--query-it-over-http-or-export-it"
rows = pa.table({"id": pa.array(range(100), pa.int64()), "kind": ["red", "green", None, "blue"] * 25, "half": [i / 2 for i in range(100)]})
more = pa.table({"id": pa.array([99, 100, 101], pa.int64()), "kind": ["new"] * 3, "half": [0.5] * 3})


def steps(open, write):
    """Yield the name of each step and a call that takes it; later steps rely on what earlier ones wrote."""

    def read(**options):
        return open().to_table(**options).sort_by("id")

    def after(change):
        change()
        return read(), open().version

    yield "create", lambda: write(rows, mode="create").count_rows()
    yield "create a table that exists", lambda: write(rows, mode="create")
    yield "open and read", read
    yield "read columns under a filter", lambda: read(columns=["id", "half"], filter="kind = 'red' AND id > 20")
    yield "append", lambda: after(lambda: write(more, mode="append"))
    yield "append other columns", lambda: write(pa.table({"colour": ["red"]}), mode="append")
    yield "delete", lambda: after(lambda: open().delete("id < 10"))
    yield "update", lambda: after(lambda: open().update({"kind": "upper(kind)"}, where="id > 90"))
    yield "merge", lambda: after(lambda: open().merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(more.slice(1)))
    yield "add a column", lambda: after(lambda: open().add_columns({"double": "id * 2"}))
    yield "drop a column", lambda: after(lambda: open().drop_columns(["double"]))
    yield "scalar index", lambda: after(lambda: open().create_scalar_index("id", "BTREE"))
    yield "compact", lambda: after(lambda: open().optimize.compact_files())
    yield "versions", lambda: [each["version"] for each in open().versions()]
    yield "an older version", lambda: open(version=2).count_rows()
    yield "restore", lambda: after(lambda: open(version=1).restore())
    yield "tag", lambda: (open().tags.create("first", 1), open(version="first").count_rows())[1]
    yield "overwrite", lambda: after(lambda: write(more, mode="overwrite"))


local = os.path.join(tempfile.mkdtemp(), "items.lance")
catalog = models.connect("rest", {"uri": os.environ["SHEAF_URL"], "header.x-lancedb-database": "pylance"})
items = {"namespace_client": catalog, "table_id": ["items"]}
wanted = [(name, outcome(call)) for name, call in steps(partial(lance.dataset, local), lambda data, mode: lance.write_dataset(data, local, mode=mode))]
found = steps(partial(lance.dataset, **items), lambda data, mode: lance.write_dataset(data, mode=mode, **items))
for (name, call), (_, expected) in zip(found, wanted, strict=True):
    compare(name, outcome(call), expected)


def refused(call):
    """Give whether a call is refused in these words, and the files that it adds to the server's folder."""
    files = lambda: {str(each) for each in Path(os.environ["SHEAF_ROOT"]).rglob("*.*") if each.suffix in (".lance", ".txn", ".manifest")}  # noqa: E731
    before = files()
    kind, error = outcome(call)
    return kind if kind == "answer" else SENTENCE in error or error, sorted(files() - before)


Table(os.environ["SHEAF_URL"], "held", {"x-lancedb-database": "pylance"}).create(rows)
held = {"namespace_client": catalog, "table_id": ["held"]}
check("Sheaf's rows: open", lambda: refused(lambda: lance.dataset(**held)), [True, []])
check("Sheaf's rows: append", lambda: refused(lambda: lance.write_dataset(more, mode="append", **held)), [True, []])
check("Sheaf's rows: overwrite", lambda: refused(lambda: lance.write_dataset(more, mode="overwrite", **held)), [True, []])
check("Sheaf's rows: create", lambda: refused(lambda: lance.write_dataset(more, mode="create", **held))[1], [])
check("Sheaf's rows: as they were", lambda: Table(os.environ["SHEAF_URL"], "held", {"x-lancedb-database": "pylance"}).count(), 100)
