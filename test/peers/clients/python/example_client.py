"""The example module of examples/clients/python: reads, uploads and Polars, against what was written."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow as pa
from report import check
from sheaf import SheafError, Table, read_polars

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
