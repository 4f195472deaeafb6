"""Ray, Daft and Spark 4 through the example module: sources, and sinks that commit once."""

import os
import sys

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
table.create(rows)

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
check("Ray reads", lambda: read_ray(table, ["half"]).sum("half"), total)
check("Ray reads under a filter", lambda: read_ray(table, filter="id < 100").count(), 100)


def ray_writes():
    before = table.version()
    write_ray(ray.data.range(400, override_num_blocks=4).map_batches(lambda batch: {"id": batch["id"] + ROWS, "kind": ["ray"] * len(batch["id"]), "half": batch["id"] * 0.5}), table)
    return table.count(), table.version() - before


check("Ray writes from four workers in one commit", ray_writes, [ROWS + 400, 1])
ray.shutdown()

check("Daft reads", lambda: read_daft(table).where("kind != 'ray'").sum("half").to_pydict(), {"half": [total]})
check("Daft reads a column and a limit", lambda: read_daft(table).select("id").limit(5).count_rows(), 5)

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
register_spark(spark)
options = {"url": url, "table": "engines"}
frame = spark.read.format("sheaf").options(**options).load()
check("Spark reads", lambda: frame.where("kind <> 'ray'").agg(functions.sum("half")).collect()[0][0], total)
check("Spark pushes filters down", lambda: frame.where("id >= 10 AND id < 30 AND kind = 'k3'").count(), len([i for i in range(10, 30) if i % 7 == 3]))


def spark_writes():
    before = table.version()
    more = spark.range(50_000, 50_300, numPartitions=3).selectExpr("id", "'spark' AS kind", "CAST(id AS double) AS half")
    more.write.format("sheaf").options(**options).mode("append").save()
    return table.count("kind = 'spark'"), table.version() - before


check("Spark writes three partitions in one commit", spark_writes, [300, 1])
spark.stop()
