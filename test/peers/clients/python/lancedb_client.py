"""LanceDB's Python client, remote and with the server as catalog: each step also runs on a local database."""

import datetime
import decimal
import os
import sys
import tempfile
import time
import warnings

import lancedb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from lancedb.pydantic import LanceModel, Vector
from lancedb.query import BooleanQuery, MatchQuery, Occur, PhraseQuery
from lancedb.remote.table import RemoteTable
from report import compare, outcome

# The older forms of create_index are called too: programs have them.
warnings.simplefilter("ignore")

SEED = 7
ROWS = 400
WORDS = "amber basin cedar delta ember fjord grove heron inlet jetty".split()


def rows():
    random = np.random.default_rng(SEED)
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "kind": pa.array([WORDS[i % 7] for i in range(ROWS)]),
            "price": pa.array([None if i % 11 == 0 else i / 4 for i in range(ROWS)], pa.float64()),
            "text": pa.array([" ".join(random.choice(WORDS, 6)) for _ in range(ROWS)]),
            "at": pa.array([datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=i) for i in range(ROWS)], pa.timestamp("us")),
            "amount": pa.array([decimal.Decimal(i).scaleb(-2) for i in range(ROWS)], pa.decimal128(12, 2)),
            "tags": pa.array([[WORDS[i % 10], WORDS[i % 3]] for i in range(ROWS)], pa.list_(pa.string())),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=ROWS * 8), pa.float32()), 8),
        }
    )


def ordered(query, *keys):
    table = query.to_arrow()
    return table.sort_by([(key, "ascending") for key in keys or ("id",)])


def last(*values):
    """Give the last value: the calls before it are made for what they do."""
    return values[-1]


def wait_for_index(table, name):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        stats = table.index_stats(name)
        if stats is not None and stats.num_unindexed_rows == 0:
            return
        time.sleep(0.05)
    raise TimeoutError(f"the index {name} was not ready after 60 s")


def scalar(table, expression):
    """The value of an expression in each row, by id."""
    answer = ordered(table.search().select({"id": "id", "value": expression}).limit(ROWS))
    return answer["value"].to_pylist()


def steps(db):
    """Yield the name of each step and a call that takes it; later steps rely on what earlier ones wrote."""
    vector = rows()["vector"][3].as_py()
    state = {}

    def table():
        return db.open_table("items")

    def opened(name):
        return db.open_table(name)

    yield "create a table of pyarrow", lambda: db.create_table("items", rows()).count_rows()
    yield "list tables", lambda: sorted(db.list_tables().tables)
    yield "schema", lambda: [(each.name, str(each.type)) for each in table().schema]
    yield "create a table that exists", lambda: db.create_table("items", rows())
    yield "open a table that does not exist", lambda: db.open_table("nothing")
    yield "read all rows", lambda: ordered(table().search().limit(ROWS))
    for where in (
        "id < 20",
        "kind = 'amber' AND price > 50",
        "price IS NULL",
        "kind IN ('delta', 'ember') OR id = 7",
        "text LIKE '%cedar%' AND NOT text LIKE '%delta%'",
        "at >= timestamp '2026-01-05 00:00:00'",
        "amount BETWEEN 1.10 AND 1.90",
        "array_has(tags, 'jetty')",
        "nothing = 1",
        "id <",
    ):
        yield f"filter {where}", lambda where=where: ordered(table().search().where(where).select(["id", "price"]).limit(ROWS))
        yield f"count {where}", lambda where=where: table().count_rows(where)
    for expression in ("id * 2", "upper(kind)", "coalesce(price, -1.0)", "length(text)", "cast(price as int)", "price / 3", "lower(kind) || '!'", "case when id > 5 then 'a' else 'b' end"):
        yield f"select {expression}", lambda expression=expression: scalar(table(), expression)
    yield "limit and offset", lambda: table().search().select(["id"]).limit(5).offset(10).to_arrow()
    yield "vector search", lambda: table().search(vector).limit(10).select(["id", "_distance"]).to_arrow()
    for metric in ("l2", "cosine", "dot"):
        yield f"vector search by {metric} under a filter", lambda metric=metric: table().search(vector).distance_type(metric).where("id > 100", prefilter=True).limit(5).select(["id", "_distance"]).to_arrow()
    yield "vector search within distances", lambda: table().search(vector).distance_range(0.5, 6.0).limit(20).select(["id", "_distance"]).to_arrow()
    yield "vector of another length", lambda: table().search([1.0, 2.0]).limit(3).to_arrow()

    yield "append rows of pandas", lambda: last(opened("items").add(pd.DataFrame({"id": [1000], "kind": ["panda"], "price": [1.5], "text": ["bamboo"], "vector": [np.zeros(8, np.float32)]})), table().count_rows())
    yield "append rows of Polars", lambda: last(table().add(pl.DataFrame({"id": [1001], "kind": ["bear"], "vector": [[0.5] * 8]})), ordered(table().search().where("id > 1000").limit(9)))
    yield "append dictionaries", lambda: last(table().add([{"id": 1002, "kind": "cub", "vector": [0.25] * 8}]), table().count_rows("id > 999"))
    yield "append an integer that does not fit", lambda: table().add(pa.table({"id": pa.array([2**63], pa.uint64())}))
    yield "append a vector of another length", lambda: table().add([{"id": 1, "vector": [1.0]}])
    yield "append an unknown column", lambda: table().add([{"id": 1, "colour": "red", "vector": [0.0] * 8}])
    yield "count after refusals", lambda: table().count_rows()
    yield "update with an expression", lambda: last(table().update(where="id = 1000", values_sql={"price": "price * 2 + 1"}), ordered(table().search().where("id = 1000").limit(9)))
    yield "update with a value", lambda: last(table().update(where="id >= 1000", values={"kind": "it's"}), ordered(table().search().where("id >= 1000").select(["id", "kind"]).limit(9)))
    yield "delete", lambda: last(table().delete("id IN (1000, 1002)"), table().count_rows())
    source = pa.table({"id": pa.array([1, 2, 2000], pa.int64()), "kind": ["1", "2", "new"]})
    part = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "kind": ["one", "two", "three"]})
    yield "create a table to merge into", lambda: db.create_table("merged", part).count_rows()
    yield "merge: update and insert", lambda: last(opened("merged").merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(source), ordered(opened("merged").search().limit(9)))
    yield "merge: insert only", lambda: last(opened("merged").merge_insert("id").when_not_matched_insert_all().execute(pa.table({"id": pa.array([1, 50], pa.int64()), "kind": ["x", "y"]})), ordered(opened("merged").search().limit(9)))
    yield "merge: a condition on the target", lambda: last(opened("merged").merge_insert("id").when_matched_update_all(where="target.kind = '1'").execute(pa.table({"id": pa.array([1, 50], pa.int64()), "kind": ["cond", "cond"]})), ordered(opened("merged").search().limit(9)))
    yield "merge: delete what the source lacks", lambda: last(opened("merged").merge_insert("id").when_not_matched_by_source_delete("id > 2").execute(pa.table({"id": pa.array([50], pa.int64()), "kind": ["y"]})), ordered(opened("merged").search().limit(9)))

    yield "versions", lambda: [each["version"] for each in opened("merged").list_versions()]
    yield "check an older version out", lambda: last(state.update(t=opened("merged")), state["t"].checkout(1), state["t"].count_rows())
    yield "write to an older version", lambda: state["t"].add([{"id": 5, "kind": "no"}])
    yield "restore it", lambda: last(state["t"].restore(), ordered(opened("merged").search().limit(9)))
    yield "tags", lambda: last(opened("merged").tags.create("first", 1), {name: each["version"] for name, each in opened("merged").tags.list().items()})
    yield "check a tag out", lambda: last(state.update(u=opened("merged")), state["u"].checkout("first"), state["u"].count_rows())
    yield "delete a tag", lambda: last(opened("merged").tags.delete("first"), dict(opened("merged").tags.list()))
    yield "add columns by SQL", lambda: last(opened("merged").add_columns({"double": "id * 2"}), ordered(opened("merged").search().limit(9)))
    yield "rename a column", lambda: last(opened("merged").alter_columns({"path": "double", "rename": "twice"}), [each.name for each in opened("merged").schema])
    yield "change a column's type", lambda: last(opened("merged").alter_columns({"path": "twice", "data_type": pa.int32()}), [str(each.type) for each in opened("merged").schema])
    yield "drop a column", lambda: last(opened("merged").drop_columns(["twice"]), [each.name for each in opened("merged").schema])
    yield "merge: new keys that repeat", lambda: last(opened("merged").merge_insert("id").when_not_matched_insert_all().execute(pa.table({"id": pa.array([70, 70], pa.int64()), "kind": ["a", "b"]})), ordered(opened("merged").search().limit(9), "id", "kind"))
    yield "add a column by a field", lambda: last(opened("merged").add_columns(pa.field("later", pa.float32())), ordered(opened("merged").search().limit(9)))
    yield "overwrite with another schema", lambda: last(opened("merged").add(pa.table({"x": [1.5]}), mode="overwrite"), opened("merged").search().limit(9).to_arrow())

    yield "text search without an index", lambda: table().search("cedar", query_type="fts").limit(5).to_arrow()
    yield "text index", lambda: last(table().create_fts_index("text", with_position=True), wait_for_index(table(), "text_idx"), [each.index_type for each in table().list_indices()])
    for name, query in {
        "a word": "cedar",
        "two words": "cedar heron",
        "a phrase": PhraseQuery("cedar heron", "text"),
        "a misspelt word": MatchQuery("cedra", "text", fuzziness=2),
        "both words": BooleanQuery([(Occur.MUST, MatchQuery("cedar", "text")), (Occur.MUST, MatchQuery("heron", "text"))]),
        "one without the other": BooleanQuery([(Occur.MUST, MatchQuery("cedar", "text")), (Occur.MUST_NOT, MatchQuery("heron", "text"))]),
    }.items():
        yield f"text search: {name}", lambda query=query: ordered(table().search(query, query_type="fts").limit(ROWS).select(["id", "_score"]))
    yield "text search under a filter", lambda: ordered(table().search("cedar", query_type="fts").where("id < 50").limit(ROWS).select(["id", "_score"]))
    yield "hybrid search", lambda: sorted(table().search(query_type="hybrid").vector(vector).text("cedar heron").limit(10).to_arrow()["id"].to_pylist())
    yield "BTREE index", lambda: last(table().create_scalar_index("id"), wait_for_index(table(), "id_idx"), ordered(table().search().where("id BETWEEN 10 AND 20").select(["id"]).limit(50)))
    yield "BITMAP index", lambda: last(table().create_scalar_index("kind", index_type="BITMAP"), wait_for_index(table(), "kind_idx"), ordered(table().search().where("kind = 'basin'").select(["id"]).limit(ROWS)))
    yield "LABEL_LIST index", lambda: last(table().create_scalar_index("tags", index_type="LABEL_LIST"), wait_for_index(table(), "tags_idx"), ordered(table().search().where("array_has_any(tags, ['jetty', 'inlet'])").select(["id"]).limit(ROWS)))
    yield "IVF_FLAT index", lambda: last(table().create_index(metric="l2", index_type="IVF_FLAT", num_partitions=4, vector_column_name="vector"), wait_for_index(table(), "vector_idx"), table().search(vector).nprobes(4).limit(10).select(["id", "_distance"]).to_arrow())
    yield "indexes", lambda: sorted((each.name, each.index_type, tuple(each.columns)) for each in table().list_indices())
    yield "rows after an index", lambda: last(table().add([{"id": 3000, "kind": "late", "text": "cedar quartz", "vector": vector}]), ordered(table().search("quartz", query_type="fts").limit(5).select(["id"])))
    yield "the nearest of rows after an index", lambda: sorted(table().search(vector).limit(2).to_arrow()["id"].to_pylist())
    yield "drop an index", lambda: last(table().drop_index("kind_idx"), sorted(each.name for each in table().list_indices()))

    class Document(LanceModel):
        title: str
        pages: int
        vector: Vector(4)

    yield "create a table of a Pydantic model", lambda: last(db.create_table("documents", schema=Document).add([Document(title="a", pages=3, vector=[0.0] * 4)]), ordered(db.open_table("documents").search().limit(9), "title"))
    yield "create an empty table", lambda: last(db.create_table("empty", schema=pa.schema([("a", pa.int32())])), opened("empty").count_rows())
    yield "drop tables", lambda: last(db.drop_table("documents"), db.drop_table("empty"), sorted(db.list_tables().tables))
    yield "create a namespace", lambda: last(db.create_namespace(["team"]), list(db.list_namespaces().namespaces))
    yield "create a table in it", lambda: last(db.create_table("inner", part, namespace_path=["team"]), list(db.list_tables(namespace_path=["team"]).tables))


def databases():
    url = os.environ["SHEAF_URL"]
    local = lancedb.connect_namespace("dir", {"root": tempfile.mkdtemp()})
    # A query of all rows is what the remote table has in place of to_arrow.
    RemoteTable.to_arrow = lambda table: table.search().limit(table.count_rows()).to_arrow()
    modes = {
        "remote": lambda: lancedb.connect("db://clients", api_key="key", host_override=url),
        "catalog": lambda: lancedb.connect_namespace("rest", {"uri": url, "header.x-lancedb-database": "engine"}),
    }
    return local, {name: modes[name]() for name in sys.argv[1:] or modes}


local, served = databases()
wanted = [(name, outcome(call)) for name, call in steps(local)]
for mode, db in served.items():
    for (name, call), (_, expected) in zip(steps(db), wanted, strict=True):
        compare(f"{mode}: {name}", outcome(call), expected)
