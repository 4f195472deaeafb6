"""A small client for a Sheaf server, on pyarrow and httpx, with sources and sinks for Ray, Spark 4, Daft and Polars.

Copy this file into your project. Ray, PySpark, Daft and Polars are imported only by the functions that need them.

    docs = Table("http://127.0.0.1:2333", "docs")
    docs.create(pa.table({"id": [1, 2], "text": ["a", "b"]}))
    docs.to_arrow(filter="id > 1")
"""

import contextlib
import itertools
import uuid
from dataclasses import dataclass, field

import httpx
import pyarrow as pa

STREAM = "application/vnd.apache.arrow.stream"


class SheafError(Exception):
    """The server refused a call. The message is the server's; ``status`` is that of HTTP, ``code`` that of the protocol."""

    def __init__(self, status, body):
        self.status, self.code = status, body.get("code")
        super().__init__(body.get("detail") or body.get("error") or f"HTTP status {status}")


class Body:
    """Chunks of a reply as a file that pyarrow reads."""

    closed = False

    def __init__(self, chunks):
        self.chunks, self.rest = chunks, b""

    def read(self, size=-1):
        parts, have = [self.rest], len(self.rest)
        while size < 0 or have < size:
            chunk = next(self.chunks, None)
            if chunk is None:
                break
            parts.append(chunk)
            have += len(chunk)
        joined = b"".join(parts)
        end = len(joined) if size < 0 else size
        self.rest = joined[end:]
        return joined[:end]

    def readable(self):
        return True

    def close(self):
        self.closed = True


@dataclass(frozen=True)
class Table:
    """A table on a server. ``name`` joins namespaces and the table by ``$``. It holds no connection, so it can be pickled."""

    url: str
    name: str
    headers: dict = field(default_factory=dict)
    seconds: float = 300.0

    def _client(self):
        return httpx.Client(base_url=f"{self.url}/v1/table/{self.name}", headers=self.headers, timeout=self.seconds)

    def call(self, operation, body=None, **params):
        """POST a JSON request; give the JSON reply. Raises SheafError."""
        with self._client() as client:
            return _json(client.post(f"/{operation}", json=body or {}, params=params))

    def _send(self, operation, rows, **params):
        with self._client() as client:
            headers = {"content-type": STREAM}
            return _json(client.post(f"/{operation}", content=_stream(rows), headers=headers, params=params))

    def create(self, rows, mode="create"):
        """Create the table with rows; ``mode`` is create, exist_ok or overwrite."""
        return self._send("create", rows, mode=mode)

    def insert(self, rows, mode="append"):
        """Append rows, or replace all rows with ``mode="overwrite"``. Rows are a pyarrow table or record batches."""
        return self._send("insert", rows, mode=mode)

    def count(self, filter=None, version=None):
        body = {"predicate": filter, "version": version}
        return self.call("count_rows", {name: value for name, value in body.items() if value is not None})

    def version(self):
        """Number of the newest version. Give it to several scans to read the same rows in all of them."""
        return self.call("describe")["version"]

    @contextlib.contextmanager
    def _reply(self, operation, body):
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"accept": STREAM}
        with self._client() as client, client.stream("POST", f"/{operation}", json=body, headers=headers) as response:
            if response.status_code >= 300:
                response.read()
                _json(response)
            with pa.ipc.open_stream(Body(response.iter_bytes())) as reader:
                yield reader

    def _rows(self, columns, filter, limit, offset, version):
        limit = 2**31 - 1 if limit is None else limit
        body = {"vector": [], "columns": columns, "filter": filter, "k": limit, "offset": offset, "version": version}
        return self._reply("query", body)

    def schema(self, columns=None):
        with self._rows(columns, None, 0, None, None) as reader:
            return reader.schema

    def scan(self, columns=None, filter=None, limit=None, offset=None, version=None):
        """Yield record batches as they arrive. A reply that breaks off raises: it never looks complete."""
        with self._rows(columns, filter, limit, offset, version) as reader:
            yield from reader

    def to_arrow(self, columns=None, filter=None, limit=None, offset=None, version=None):
        """Read rows into one pyarrow table."""
        with self._rows(columns, filter, limit, offset, version) as reader:
            return reader.read_all()

    def slices(self, count=None, columns=None, filter=None):
        """Cut the rows of the newest version into at most ``count`` scans of about the same size, for several processes.

        The server keeps the version for as long as its slices are read, and for an hour after.
        """
        body = {"slices": count, "columns": columns, "filter": filter}
        reply = self.call("read_session/create", {name: value for name, value in body.items() if value is not None})
        return [Slice(self, each["token"], each["num_rows"]) for each in reply["slices"]]

    def search(self, vector, limit=10, columns=None, filter=None):
        """Give the rows whose vectors are nearest, with ``_distance``, as a pyarrow table."""
        body = {"vector": list(map(float, vector)), "k": limit, "columns": columns, "filter": filter}
        with self._client() as client:
            response = client.post("/query", json={k: v for k, v in body.items() if v is not None}, headers={"accept": STREAM})
        if response.status_code >= 300:
            _json(response)
        return pa.ipc.open_stream(response.content).read_all()

    def upload(self, mode="Append"):
        """Begin an upload: many processes add parts, and one commit makes all rows visible. ``mode`` is Append or Overwrite."""
        return Upload(self, self.call("multipart_write/create", {"mode": mode})["upload_id"])


@dataclass(frozen=True)
class Slice:
    """One scan of several that read a version together."""

    table: Table
    token: str
    rows: int  # at most: those of a filter are fewer

    def scan(self):
        """Yield record batches as they arrive."""
        with self.table._reply("read_session/read", {"token": self.token}) as reader:
            yield from reader


@dataclass(frozen=True)
class Upload:
    """An upload that has begun. Pickle it to hand it to other processes."""

    table: Table
    id: str

    def add(self, rows, part=None):
        """Add a part; a part of the same name is replaced, so a task that runs twice does not double its rows."""
        part = part or str(uuid.uuid4())
        self.table._send("insert", rows, upload_id=self.id, upload_part_id=part)
        return part

    def commit(self, parts=None):
        """Make the rows of all parts, or of some, visible in one version; with an empty list give up. Committing again changes nothing."""
        body = {"upload_id": self.id, **({} if parts is None else {"parts": parts})}
        return self.abort() if parts == [] else self.table.call("multipart_write/complete", body)

    def abort(self):
        return self.table.call("multipart_write/abort", {"upload_id": self.id})


def _json(response):
    try:
        body = response.json()
    except ValueError:
        body = {}
    if response.status_code >= 300:
        raise SheafError(response.status_code, body if isinstance(body, dict) else {})
    return body


def _stream(rows):
    """Rows as an Arrow stream, a record batch at a time: nothing holds the whole body."""
    rows = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    batches = iter(rows.to_batches() if isinstance(rows, pa.Table) else rows)
    first = next(batches, None)
    if first is None and not hasattr(rows, "schema"):
        raise ValueError("there is no record batch that could tell the columns; give a pyarrow table, which has columns without rows")
    sink = _Chunks()
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), rows.schema if hasattr(rows, "schema") else first.schema) as writer:
        while first is not None:
            writer.write_batch(first)
            yield from sink.take()
            first = next(batches, None)
    yield from sink.take()


class _Chunks:
    closed = False

    def __init__(self):
        self.chunks = []

    def write(self, chunk):
        self.chunks.append(bytes(chunk))

    def take(self):
        taken, self.chunks = self.chunks, []
        return taken

    def flush(self):
        pass

    def writable(self):
        return True


def read_polars(table):
    """A lazy frame of Polars. Columns and the limit of a query are read by the server; Polars filters by itself."""
    import polars as pl
    from polars.io.plugins import register_io_source

    def batches(columns, predicate, limit, _batch_size):
        for batch in table.scan(columns, limit=limit if predicate is None else None):
            frame = pl.from_arrow(batch)
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(batches, schema=pl.from_arrow(table.schema().empty_table()).schema)


def read_ray(table, columns=None, filter=None, parallelism=4):
    """A Ray dataset of the newest version, read by ``parallelism`` tasks."""
    import ray.data
    from ray.data.block import BlockMetadata

    class Source(ray.data.Datasource):
        def estimate_inmemory_data_size(self):
            return None

        def get_read_tasks(self, parallelism, per_task_row_limit=None, data_context=None):
            tasks = []
            for each in table.slices(parallelism, columns, filter):
                metadata = BlockMetadata(num_rows=each.rows if filter is None else None, size_bytes=None, input_files=None, exec_stats=None)
                read = lambda each=each: (pa.Table.from_batches([batch]) for batch in each.scan())  # noqa: E731
                tasks.append(ray.data.ReadTask(read, metadata, schema=table.schema(columns)))
            return tasks

    return ray.data.read_datasource(Source(), override_num_blocks=parallelism)


def write_ray(dataset, table, mode="Append"):
    """Write a Ray dataset: each task adds a part, and the driver commits once. A job that fails leaves no rows."""
    from ray.data import Datasink
    from ray.data.block import BlockAccessor

    upload = table.upload(mode)

    class Sink(Datasink):
        def write(self, blocks, ctx):
            tables = [BlockAccessor.for_block(block).to_arrow() for block in blocks]
            tables = [each for each in tables if each.num_rows > 0]
            return upload.add(pa.concat_tables(tables), part=f"task-{ctx.task_idx}") if tables else None

        def on_write_complete(self, write_result):
            upload.commit([part for part in write_result.write_returns if part is not None])

        def on_write_failed(self, error):
            upload.abort()

    dataset.write_datasink(Sink())


def read_daft(table, parallelism=4):
    """A Daft data frame of the newest version; the columns that a query needs and its limit are read by the server."""
    import daft
    from daft.io.source import DataSource, DataSourceTask
    from daft.recordbatch import RecordBatch

    arrow = table.schema()

    class Task(DataSourceTask):
        def __init__(self, slice, schema):
            self.slice, self.read_schema = slice, schema

        @property
        def schema(self):
            return self.read_schema

        async def read(self):
            for batch in self.slice.scan():
                yield RecordBatch.from_arrow_record_batches([batch], batch.schema)

    class Source(DataSource):
        name = "sheaf"
        schema = daft.Schema.from_pyarrow_schema(arrow)

        async def get_tasks(self, pushdowns):
            names = pushdowns.columns if pushdowns.filters is None else None
            kept = arrow if names is None else pa.schema([arrow.field(name) for name in names])
            for each in table.slices(parallelism, names):
                yield Task(each, daft.Schema.from_pyarrow_schema(kept))

    return Source().read()


def register_spark(spark):
    """Register the format "sheaf": ``spark.read.format("sheaf").option("url", ...).option("table", ...).load()``.

    Filters that SQL of both sides means the same by are read by the server. A write is one commit, whatever its partitions.
    """
    from pyspark.sql import datasource as ds
    from pyspark.sql.pandas.types import from_arrow_schema

    def open_table(options):
        return Table(options["url"], options["table"])

    def literal(value):
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)

    def condition(each):
        signs = {ds.EqualTo: "=", ds.GreaterThan: ">", ds.GreaterThanOrEqual: ">=", ds.LessThan: "<", ds.LessThanOrEqual: "<="}
        column = ".".join(f"`{name}`" for name in each.attribute) if hasattr(each, "attribute") else None
        if isinstance(each, ds.IsNotNull):
            return f"{column} IS NOT NULL"
        if type(each) in signs and literal(each.value) is not None:
            return f"{column} {signs[type(each)]} {literal(each.value)}"
        return None

    class Partition(ds.InputPartition):
        def __init__(self, slice):
            self.slice = slice

    class Reader(ds.DataSourceReader):
        def __init__(self, options, schema):
            self.table, self.columns, self.filter = open_table(options), schema.names, None
            self.count = int(options.get("slices", "4"))

        def pushFilters(self, filters):
            taken = [condition(each) for each in filters]
            self.filter = " AND ".join(each for each in taken if each is not None) or None
            return [each for each, text in zip(filters, taken, strict=True) if text is None]

        def partitions(self):
            return [Partition(each) for each in self.table.slices(self.count, self.columns, self.filter)]

        def read(self, partition):
            if partition is None or not hasattr(partition, "slice"):
                return iter(())
            return partition.slice.scan()

    @dataclass
    class Part(ds.WriterCommitMessage):
        name: str | None

    class Writer(ds.DataSourceArrowWriter):
        def __init__(self, options, overwrite):
            self.upload = open_table(options).upload("Overwrite" if overwrite else "Append")

        def write(self, iterator):
            first = next(iterator, None)
            if first is None:
                return Part(None)
            return Part(self.upload.add(itertools.chain([first], iterator)))

        def commit(self, messages):
            self.upload.commit([each.name for each in messages if each is not None and each.name is not None])

        def abort(self, messages):
            self.upload.abort()

    class Source(ds.DataSource):
        @classmethod
        def name(cls):
            return "sheaf"

        def schema(self):
            return from_arrow_schema(open_table(self.options).schema())

        def reader(self, schema):
            return Reader(self.options, schema)

        def writer(self, schema, overwrite):
            return Writer(self.options, overwrite)

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(Source)
