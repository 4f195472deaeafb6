"""The generated client of lance-namespace and the one inside pylance: each step also runs on a local directory of Lance tables."""

import io
import os
import tempfile
from functools import partial

import lance_namespace as models
import lance_namespace_urllib3_client as generated
import numpy as np
import pyarrow as pa
from report import compare, outcome

ROWS = 50
vectors = np.random.default_rng(7).normal(size=(ROWS, 4)).astype(np.float32)
rows = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "kind": ["red", "green", None, "blue's", "red"] * 10,
        "price": [None if i % 11 == 0 else i / 4 for i in range(ROWS)],
        "vector": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 4),
    }
)
near = {"single_vector": vectors[3].tolist()}


def stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def call(namespace, operation, *path, rows=None, **members):
    """Call an operation of pylance's interface: a request with the id in it, and rows where there are any."""
    request = getattr(models, "".join(word.title() for word in operation.split("_")) + "Request")(id=list(path), **members)
    return getattr(namespace, operation)(request, *([] if rows is None else [stream(rows)]))


def call_generated(client, operation, *path, rows=None, **members):
    """Call an operation of the generated client: the id in the path, and a request or rows as body."""
    api = generated.TableApi(client) if hasattr(generated.TableApi, operation) else generated.NamespaceApi(client)
    id = "$".join(path) or "$"
    if rows is not None:
        return getattr(api, operation)(id=id, body=stream(rows), **members)
    if operation in ("list_namespaces", "list_tables", "list_table_tags", "list_table_versions", "drop_table"):
        return getattr(api, operation)(id, **members)
    name = "".join(word.title() for word in operation.split("_")) + "Request"
    return getattr(api, operation)(id, getattr(generated, name).from_dict(members))


def steps(do):
    """Yield the name of each step and a call that takes it; later steps rely on what earlier ones wrote."""

    def query(k=ROWS * 2, vector=None, table=("team", "items"), sort=True, **members):
        reply = do("query_table", *table, vector=vector or {"single_vector": []}, k=k, **members)
        found = pa.ipc.open_file(bytes(getattr(reply, "data", reply))).read_all()
        return found.sort_by("id") if sort else found

    def after(first, then=query):
        first()
        return then()

    def on(operation, **members):
        return lambda: do(operation, "team", "items", **members)

    def count(predicate=None):
        reply = on("count_table_rows", **({} if predicate is None else {"predicate": predicate}))()
        return getattr(reply, "count", reply)

    names = lambda *path: sorted(each.split("$")[-1] for each in do("list_tables", *path).tables)  # noqa: E731
    versions = lambda: sorted(each.version for each in on("list_table_versions")().versions)  # noqa: E731
    tags = lambda: {name: tag.version for name, tag in on("list_table_tags")().tags.items()}  # noqa: E731
    fields = lambda: [each["name"] if isinstance(each, dict) else each.name for each in on("describe_table", load_detailed_metadata=True)().var_schema.fields]  # noqa: E731

    yield "create a namespace", lambda: after(lambda: do("create_namespace", "team"), lambda: do("list_namespaces").namespaces)
    yield "create a namespace that exists", lambda: do("create_namespace", "team")
    yield "a namespace that does not exist", lambda: do("describe_namespace", "nobody")
    yield "create a table", lambda: on("create_table", rows=rows)().version
    yield "create a table that exists", on("create_table", rows=rows)
    yield "list tables", lambda: names("team")
    yield "a table exists", lambda: on("table_exists")() and None
    yield "a table that does not exist", lambda: do("table_exists", "team", "nothing")
    yield "columns", fields
    yield "count", count
    for predicate in ("id < 20", "kind = 'red' AND price > 5", "price IS NULL", "kind LIKE 'b%' OR id IN (1, 2)", "nothing = 1", "id <"):
        yield f"count {predicate}", lambda predicate=predicate: count(predicate)
        yield f"query {predicate}", lambda predicate=predicate: query(filter=predicate)
    yield "query columns", lambda: query(columns={"column_names": ["id", "price"]})
    yield "query with an alias", lambda: query(columns={"column_aliases": {"id": "id", "double": "price * 2"}})
    yield "limit and offset", lambda: query(k=5, offset=3).num_rows
    for metric in ("l2", "cosine", "dot"):
        yield f"vector search by {metric}", lambda metric=metric: query(5, near, sort=False, distance_type=metric, columns={"column_names": ["id", "_distance"]})
    yield "vector search under a filter", lambda: query(5, near, sort=False, filter="id > 10", prefilter=True, columns={"column_names": ["id", "_distance"]})
    yield "row ids", lambda: query(k=3, with_row_id=True, columns={"column_names": ["id"]}).column_names

    more = rows.slice(0, 3).set_column(0, "id", pa.array([100, 101, 102], pa.int64()))
    yield "insert", lambda: after(on("insert_into_table", rows=more))
    yield "insert an unknown column", on("insert_into_table", rows=pa.table({"id": [1], "colour": ["red"]}))
    yield "update with an expression", lambda: after(on("update_table", predicate="id >= 100", updates=[["price", "coalesce(price, 0) * 2 + 1"]]))
    yield "update a text", lambda: after(on("update_table", predicate="id = 101", updates=[["kind", "'it''s'"]]))
    yield "delete", lambda: after(on("delete_from_table", predicate="id = 102"))
    merged = rows.slice(1, 2).set_column(0, "id", pa.array([1, 200], pa.int64()))
    yield "merge", lambda: after(on("merge_insert_into_table", rows=merged, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True))
    yield "merge with a condition", lambda: after(on("merge_insert_into_table", rows=merged.set_column(1, "kind", [["new"] * 2]), on=["id"], when_matched_update_all=True, when_matched_update_all_filt="target.id = 200"))
    yield "merge on two columns", lambda: after(on("merge_insert_into_table", rows=merged, on=["id", "kind"], when_not_matched_insert_all=True), count)
    yield "merge and delete the others", lambda: after(on("merge_insert_into_table", rows=rows.slice(5, 1), on=["id"], when_not_matched_insert_all=True, when_not_matched_by_source_delete=True, when_not_matched_by_source_delete_filt="id > 150"))

    yield "versions", versions
    yield "query an older version", lambda: query(version=1)
    yield "create a tag", lambda: after(on("create_table_tag", tag="first", version=1), tags)
    yield "move a tag", lambda: after(on("update_table_tag", tag="first", version=2), tags)
    yield "the version of a tag", lambda: on("get_table_tag_version", tag="first")().version
    yield "delete a tag", lambda: after(on("delete_table_tag", tag="first"), tags)
    yield "restore", lambda: after(on("restore_table", version=1))
    yield "add a column", lambda: after(on("alter_table_add_columns", new_columns=[{"name": "double", "expression": "id * 2"}]))
    yield "rename a column", lambda: after(on("alter_table_alter_columns", alterations=[{"path": "double", "rename": "twice"}]), fields)
    yield "drop a column", lambda: after(on("alter_table_drop_columns", columns=["twice"]), fields)
    yield "statistics", lambda: on("get_table_stats")().num_rows
    yield "plan", lambda: "id" in str(on("explain_table_query_plan", query={"k": 3, "vector": {"single_vector": []}, "filter": "id < 5"})())

    yield "overwrite", lambda: after(lambda: do("create_table", "team", "items", rows=rows.slice(0, 2), mode="overwrite"))
    yield "drop a namespace with tables", lambda: do("drop_namespace", "team", behavior="Restrict")
    yield "drop the table", lambda: after(on("drop_table"), lambda: names("team"))
    yield "drop the namespace", lambda: after(lambda: do("drop_namespace", "team"), lambda: do("list_namespaces").namespaces)


url = os.environ["SHEAF_URL"]
local = partial(call, models.connect("dir", {"root": tempfile.mkdtemp()}))
wanted = [(name, outcome(take)) for name, take in steps(local)]
served = {
    "generated": partial(call_generated, generated.ApiClient(generated.Configuration(host=url), "x-lancedb-database", "generated")),
    "pylance": partial(call, models.connect("rest", {"uri": url, "header.x-lancedb-database": "pylance"})),
}
for client, do in served.items():
    for (name, take), (_, expected) in zip(steps(do), wanted, strict=True):
        compare(f"{client}: {name}", outcome(take), expected)
