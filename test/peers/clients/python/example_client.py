"""The example module of examples/clients/python: reads, uploads and Polars, against what was written."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow as pa
from report import check
from sheaf import SheafError, Slice, Table, read_polars

ROWS = 10_000
url = os.environ["SHEAF_URL"]
table = Table(url, "example")
rows = pa.table({"id": range(ROWS), "kind": [f"k{i % 7}" for i in range(ROWS)], "half": [i / 2 for i in range(ROWS)]})


def refusal(call):
    try:
        return call()
    except SheafError as error:
        return error.status


def without_columns():
    try:
        return table.insert(iter([]))
    except ValueError as error:
        return type(error).__name__


def upload_of_four():
    upload = pickle.loads(pickle.dumps(table.upload()))
    parts = [rows.slice(0, 100).set_column(0, "id", pa.array(range(ROWS + i * 100, ROWS + i * 100 + 100))) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        names = list(pool.map(lambda i: upload.add(parts[i], part=f"p{i}"), range(4)))
    upload.add(parts[2], part="p2")
    before = table.count()
    upload.commit(names)
    upload.commit(names)
    return before, table.count()


def aborted():
    upload = table.upload()
    upload.add(rows)
    upload.abort()
    return table.count()


def ids_in_files():
    """As docs/languages.md reads them, of a table with deleted rows and rows in the log."""
    session, found = table.call("read_session/create", {"files": True, "columns": ["id"], "slices": 3}), []
    for part in (part for cut in session["slices"] for part in cut["ranges"]):
        if "token" in part:
            ids = pa.Table.from_batches(Slice(table, part["token"], part["rows"]).scan())["id"]
        else:
            (file,) = part["files"]
            stored = pa.ipc.open_file(pa.memory_map(file["path"])).read_all().slice(part["first"], part["count"])
            keep = pa.array([True] * part["count"]).to_numpy(zero_copy_only=False)
            for first, count in part["deleted"]:
                keep[first - part["first"] : first - part["first"] + count] = False
            ids = stored.column(file["columns"]["id"]).filter(pa.array(keep))
        found += ids.to_pylist()
    kinds = {"token" in part for cut in session["slices"] for part in cut["ranges"]}
    return len(kinds), found


table.create(rows)
check("create", table.count, ROWS)
check("to_arrow", lambda: table.to_arrow().sort_by("id"), rows)
check("scan with a filter and columns", lambda: pa.Table.from_batches(table.scan(["id"], "id < 5")), rows.slice(0, 5).select(["id"]))
check("slices", lambda: sorted(i for each in table.slices(3, ["id"]) for batch in each.scan() for i in batch["id"].to_pylist()), list(range(ROWS)))
check("a refusal", lambda: refusal(lambda: table.to_arrow(filter="nothing = 1")), 404)
check("rows of an empty iterator are refused", without_columns, "ValueError")
check("upload of four parts, one of them twice", upload_of_four, [ROWS, ROWS + 400])
check("an aborted upload", aborted, ROWS + 400)
lazy = read_polars(table)
check("Polars", lambda: lazy.filter(pl.col("id") < ROWS).group_by("kind").agg(pl.col("half").sum()).sort("kind").collect().to_arrow(), rows.group_by("kind").aggregate([("half", "sum")]).rename_columns({"half_sum": "half"}).sort_by("kind").select(["kind", "half"]))
table.call("delete", {"predicate": "id % 5 = 2 AND id < 4000"})
table.insert(rows.slice(0, 3))
check("files and rows in the log", ids_in_files, [2, table.to_arrow(["id"])["id"].to_pylist()])
