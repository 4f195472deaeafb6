"""Ray, Daft and Spark 4 through the example module: sources, and sinks that commit once."""

import os
import subprocess
import sys

import httpx
import pyarrow as pa
import ray
from pyspark.sql import SparkSession, functions
from report import check
from sheaf import Table, read_daft, read_ray, register_spark, write_ray

ROWS = 20_000
os.environ["PYSPARK_PYTHON"] = sys.executable
url = os.environ["SHEAF_URL"]
rows = pa.table({"id": range(ROWS), "kind": [f"k{i % 7}" for i in range(ROWS)], "half": [i / 2 for i in range(ROWS)]})
total = sum(range(ROWS)) / 2
table = Table(url, "engines")


def spark_session():
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register_spark(spark)
    return spark


def append_with_spark(spark, name, first):
    """Append 300 rows from three partitions."""
    more = spark.range(first, first + 300, numPartitions=3).selectExpr("id", "'spark' AS kind", "CAST(id AS double) AS half")
    more.write.format("sheaf").options(url=url, table=name).mode("append").save()


def append_with_ray(to, first):
    """Append 400 rows from four workers."""
    data = ray.data.range(400, override_num_blocks=4)
    write_ray(data.map_batches(lambda batch: {"id": batch["id"] + first, "kind": ["ray"] * len(batch["id"]), "half": batch["id"] * 0.5}), to)


if len(sys.argv) > 1:
    spark = spark_session()
    append_with_spark(spark, "shared", int(sys.argv[1]))
    spark.stop()
    sys.exit()

table.create(rows)

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
check("Ray reads", lambda: read_ray(table, ["half"]).sum("half"), total)
check("Ray reads under a filter", lambda: read_ray(table, filter="id < 100").count(), 100)


def ray_writes():
    before = table.version()
    append_with_ray(table, ROWS)
    return table.count(), table.version() - before


def all_at_once():
    """Two Spark sessions and four Ray workers write one table at the same time."""
    shared = Table(url, "shared")
    shared.create(rows.slice(0, 1))
    sessions = [subprocess.Popen([sys.executable, __file__, str(100_000 * (i + 1))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(2)]
    append_with_ray(shared, ROWS)
    ended = [session.wait() for session in sessions]
    ids = shared.to_arrow(columns=["id"])["id"].to_pylist()
    # The server compacts by itself meanwhile: that is a version, too.
    versions = httpx.post(f"{url}/v1/table/shared/version/list", json={}).json()["versions"]
    jobs = [each["metadata"]["operation"] for each in versions if each["metadata"]["operation"] != "compaction"]
    return ended, len(ids), len(set(ids)), len(jobs) - 1


check("Ray writes from four workers in one commit", ray_writes, [ROWS + 400, 1])
check("two Spark sessions and four Ray workers write at the same time, one commit each job", all_at_once, [[0, 0], 1001, 1001, 3])
ray.shutdown()

check("Daft reads", lambda: read_daft(table).where("kind != 'ray'").sum("half").to_pydict(), {"half": [total]})
check("Daft reads a column and a limit", lambda: read_daft(table).select("id").limit(5).count_rows(), 5)

spark = spark_session()
options = {"url": url, "table": "engines"}
frame = spark.read.format("sheaf").options(**options).load()
check("Spark reads", lambda: frame.where("kind <> 'ray'").agg(functions.sum("half")).collect()[0][0], total)
check("Spark pushes filters down", lambda: frame.where("id >= 10 AND id < 30 AND kind = 'k3'").count(), len([i for i in range(10, 30) if i % 7 == 3]))


def spark_writes():
    before = table.version()
    append_with_spark(spark, "engines", 50_000)
    return table.count("kind = 'spark'"), table.version() - before


check("Spark writes three partitions in one commit", spark_writes, [300, 1])
spark.stop()
