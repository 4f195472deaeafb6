"""A pytest plugin that puts a Sheaf server behind LanceDB's own tests.

It replaces ``lancedb.connect`` and ``lancedb.connect_async`` before a test module can import them. SHEAF_MODE says by what:

database  a remote connection: the server holds the rows and answers every query
catalog   a REST namespace: the server is the catalog, the engine in the client reads and writes the files
local     nothing is replaced: what LanceDB's own engine passes

Every path that a test connects to is a database of its own on the server at SHEAF_URL. The outcome of each test goes to the
file SHEAF_RESULTS, one JSON object a line.
"""

import asyncio
import hashlib
import itertools
import json
import os
import sys
import time

import lancedb
import polars as pl
import pyarrow as pa
import pytest
from lancedb import namespace
from lancedb._blob import (
    blob_v2_projection_sources,
    replace_v2_blob_columns_with_bytes,
    replace_v2_blob_columns_with_bytes_sync,
)
from lancedb.query import AsyncQueryBase, LanceQueryBuilder
from lancedb.remote.db import LOOP
from lancedb.remote.table import RemoteTable
from lancedb.schema import schema_has_blob_field
from lancedb.table import AsyncTable
from lancedb.util import flatten_columns

MODE = os.environ["SHEAF_MODE"]
URL = os.environ.get("SHEAF_URL", "")
RESULTS = os.environ["SHEAF_RESULTS"]

INDEX_SECONDS = 30

connect_local = lancedb.connect
connect_local_async = lancedb.connect_async
connect_namespace = lancedb.connect_namespace
connect_namespace_async = lancedb.connect_namespace_async

memory = itertools.count()


def database_of(uri):
    """Name the database that stands for a path: the same path is the same database, each memory:// is a new one."""
    path = f"memory {next(memory)}" if str(uri).startswith("memory://") else os.path.abspath(str(uri))
    return "t" + hashlib.sha256(path.encode()).hexdigest()[:16]


def is_of_tests(uri):
    """Whether a test asks for a path or memory. What the client opens for itself, as for a copied permutation, stays local."""
    caller = sys._getframe(2).f_globals.get("__name__", "")
    is_of_client = caller.split(".")[0] == "lancedb"
    return not is_of_client and uri is not None and (str(uri).startswith("memory://") or "://" not in str(uri))


def rest_properties(database):
    return {"uri": URL, "header.x-lancedb-database": database}


def connect(uri=None, **options):
    if not is_of_tests(uri):
        return connect_local(uri, **options)
    database = database_of(uri)
    if MODE == "catalog":
        kept = {name: options[name] for name in ("read_consistency_interval", "storage_options", "session") if name in options}
        return connect_namespace("rest", rest_properties(database), **kept)
    kept = {name: options[name] for name in ("read_consistency_interval",) if name in options}
    return connect_local(f"db://{database}", api_key="key", host_override=URL, **kept)


async def connect_async(uri, **options):
    if not is_of_tests(uri):
        return await connect_local_async(uri, **options)
    database = database_of(uri)
    if MODE == "catalog":
        kept = {name: options[name] for name in ("read_consistency_interval", "storage_options", "session") if name in options}
        return connect_namespace_async("rest", rest_properties(database), **kept)
    kept = {name: options[name] for name in ("read_consistency_interval",) if name in options}
    return await connect_local_async(f"db://{database}", api_key="key", host_override=URL, **kept)


def rest_for_directory(connect_any):
    """A namespace in a directory becomes a REST namespace: the same root is the same database."""

    def connect(implementation, properties, **options):
        if implementation == "dir" and "root" in properties:
            return connect_any("rest", rest_properties(database_of(properties["root"])), **options)
        return connect_any(implementation, properties, **options)

    return connect


def help_remote_tables():
    """Let tests reach the server where the client refuses on its own, or does not wait.

    A remote table has no to_arrow, to_pandas and to_polars: a query of all rows gives them. The client reads the bytes of blobs
    with Lance's scanner, from the files of the table: here a query gives the rows, and fetch_blobs the bytes; ranges of
    them are read through fetch_blob_files. It has no optimize: the server does that by itself, and this one waits for it. Its
    create_index returns before the index is there: this one waits, because tests look at it at once.
    """
    RemoteTable.to_arrow = lambda table: LOOP.run(table._table.to_arrow())
    RemoteTable.to_polars = lambda table: pl.from_arrow(table.to_arrow()).lazy()

    def to_pandas(table, blob_mode="lazy", **options):
        return LOOP.run(table._table.to_pandas(blob_mode=blob_mode, **options))

    RemoteTable.to_pandas = to_pandas

    original_to_pandas = AsyncTable.to_pandas

    async def to_pandas_async(table, blob_mode="lazy", **options):
        if blob_mode == "bytes" and schema_has_blob_field(await table.schema()):
            return await table.query().to_pandas(blob_mode=blob_mode, **options)
        return await original_to_pandas(table, blob_mode=blob_mode, **options)

    AsyncTable.to_pandas = to_pandas_async

    original_scan = LanceQueryBuilder._plain_scan_to_pandas

    def scan_with_blobs(query, blob_mode, flatten=None, **options):
        if blob_mode != "bytes":
            return original_scan(query, blob_mode, flatten=flatten, **options)
        sources = blob_v2_projection_sources(query._table.schema, query.to_query_object().columns)
        rows = type(query).to_arrow(query)
        rows = replace_v2_blob_columns_with_bytes_sync(rows, sources, query._table.fetch_blobs)
        return flatten_columns(rows, flatten).to_pandas(**options)

    LanceQueryBuilder._plain_scan_to_pandas = scan_with_blobs

    original_scan_async = AsyncQueryBase._plain_scan_to_pandas

    async def scan_with_blobs_async(query, blob_mode, flatten=None, **options):
        if blob_mode != "bytes":
            return await original_scan_async(query, blob_mode, flatten=flatten, **options)
        sources = blob_v2_projection_sources(await query._table.schema(), query.to_query_object().columns)
        rows = await type(query).to_arrow(query)
        rows = await replace_v2_blob_columns_with_bytes(rows, sources, query._table.fetch_blobs)
        return flatten_columns(rows, flatten).to_pandas(**options)

    AsyncQueryBase._plain_scan_to_pandas = scan_with_blobs_async

    async def fetch_blob_ranges(table, column, requests):
        files = await table.fetch_blob_files(column, [row_id for row_id, _, _ in requests]) if requests else []
        ranges = [
            None if file is None else file.read_range(offset, length)
            for file, (_, offset, length) in zip(files, requests)
        ]
        return pa.array(ranges, pa.large_binary())

    AsyncTable.fetch_blob_ranges = fetch_blob_ranges
    RemoteTable.fetch_blob_ranges = lambda table, *asked: LOOP.run(table._table.fetch_blob_ranges(*asked))

    async def all_rows_are_indexed(table):
        end = time.monotonic() + INDEX_SECONDS
        while time.monotonic() < end:
            stats = [await table.index_stats(index.name) for index in await table.list_indices()]
            if all(each is None or not each.num_unindexed_rows for each in stats):
                return
            await asyncio.sleep(0.02)

    original_optimize = AsyncTable.optimize

    async def optimize(table, **options):
        try:
            return await original_optimize(table, **options)
        except (NotImplementedError, RuntimeError) as error:
            if "not supported" not in str(error) and "not yet supported" not in str(error):
                raise
        await all_rows_are_indexed(table)

    AsyncTable.optimize = optimize

    original_create_index = AsyncTable.create_index

    async def create_index(table, column, **options):
        await original_create_index(table, column, **options)
        await all_rows_are_indexed(table)

    AsyncTable.create_index = create_index


if MODE != "local":
    lancedb.connect = connect
    lancedb.connect_async = connect_async
if MODE == "database":
    help_remote_tables()
if MODE == "catalog":
    for module in (lancedb, namespace):
        module.connect_namespace = rest_for_directory(connect_namespace)
        module.connect_namespace_async = rest_for_directory(connect_namespace_async)


def pytest_configure(config):
    for marker in ("slow", "s3_test"):
        config.addinivalue_line("markers", f"{marker}: LanceDB's own mark")


outcomes = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        outcomes[item.nodeid] = "failed", f"{call.excinfo.typename}: {call.excinfo.value}"
    elif report.skipped and item.nodeid not in outcomes:
        outcomes[item.nodeid] = "skipped", ""
    elif report.when == "call":
        outcomes[item.nodeid] = "passed", ""
    if report.when == "teardown":
        outcome, message = outcomes[item.nodeid]
        with open(RESULTS, "a") as file:
            file.write(json.dumps({"test": item.nodeid, "outcome": outcome, "message": message[:2000]}) + "\n")
