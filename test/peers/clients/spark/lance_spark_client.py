"""Spark SQL with lance-spark: the server is the catalog, Spark's engine writes the files. Two sessions write one table."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "python"))
from pyspark.sql import SparkSession
from report import check

url = os.environ["SHEAF_URL"]
jars = ",".join(map(str, (Path(__file__).parent / "target" / "jars").glob("*.jar")))
os.environ["PYSPARK_PYTHON"] = sys.executable
table = "lance.shop.items"
SESSIONS = 2
INSERTS = 8


def session():
    """Start Spark with the catalog `lance`, which is the database `spark` of the server."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", jars)
    builder = builder.config("spark.driver.extraClassPath", jars.replace(",", os.pathsep)).config("spark.sql.shuffle.partitions", "2")
    lance = {
        "": "org.lance.spark.LanceNamespaceSparkCatalog",
        ".impl": "rest",
        ".uri": url,
        ".header.x-lancedb-database": "spark",
    }
    for name, value in lance.items():
        builder = builder.config(f"spark.sql.catalog.lance{name}", value)
    builder = builder.config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


spark = session()


def run(statement):
    return [tuple(row) for row in spark.sql(statement).collect()]


if len(sys.argv) > 1:
    first = int(sys.argv[1])
    for i in range(INSERTS):
        run(f"INSERT INTO {table} SELECT id, 'many', 1.0 FROM range({first + 10 * i}, {first + 10 * i + 10})")
    spark.stop()
    sys.exit()

check("CREATE NAMESPACE", lambda: run("CREATE NAMESPACE lance.shop"), [])
check("CREATE TABLE", lambda: run(f"CREATE TABLE {table} (id BIGINT, kind STRING, half DOUBLE)"), [])
check("an empty table", lambda: run(f"SELECT count(*) FROM {table}"), [(0,)])
check("INSERT", lambda: (run(f"INSERT INTO {table} SELECT id, concat('k', id % 7), id / 2 FROM range(1000)"), run(f"SELECT count(*), sum(half) FROM {table}"))[1], [(1000, 249750.0)])
check("INSERT again", lambda: (run(f"INSERT INTO {table} VALUES (1000, 'new', 0.5)"), run(f"SELECT count(*) FROM {table}"))[1], [(1001,)])
check("SELECT under a filter", lambda: run(f"SELECT id, kind FROM {table} WHERE id > 997 ORDER BY id"), [(998, "k4"), (999, "k5"), (1000, "new")])
check("GROUP BY", lambda: run(f"SELECT kind, count(*) FROM {table} WHERE kind IN ('k0', 'new') GROUP BY kind ORDER BY kind"), [("k0", 143), ("new", 1)])
check("UPDATE", lambda: (run(f"UPDATE {table} SET kind = 'old' WHERE id < 10"), run(f"SELECT count(*) FROM {table} WHERE kind = 'old'"))[1], [(10,)])
check("DELETE", lambda: (run(f"DELETE FROM {table} WHERE kind = 'old'"), run(f"SELECT count(*) FROM {table}"))[1], [(991,)])
check("OPTIMIZE", lambda: (run(f"OPTIMIZE {table}"), run(f"SELECT count(*) FROM {table}"))[1], [(991,)])
check("INSERT behind OPTIMIZE", lambda: (run(f"INSERT INTO {table} VALUES (2000, 'new', 0.5)"), run(f"SELECT count(*) FROM {table}"))[1], [(992,)])
check("SHOW TABLES", lambda: [row[1] for row in run("SHOW TABLES IN lance.shop")], ["items"])
check("DROP TABLE", lambda: (run("CREATE TABLE lance.shop.other (id INT)"), run("DROP TABLE lance.shop.other PURGE"), [row[1] for row in run("SHOW TABLES IN lance.shop")])[2], ["items"])


def two_sessions():
    """Sessions in processes of their own insert into one table at the same time."""
    inserting = [subprocess.Popen([sys.executable, __file__, str(100_000 * (i + 1))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(SESSIONS)]
    ended = [each.wait() for each in inserting]
    spark.catalog.refreshTable(table)
    return ended, run(f"SELECT count(*), count(DISTINCT id) FROM {table} WHERE kind = 'many'")


rows = 10 * INSERTS * SESSIONS
check("two sessions insert at the same time", two_sessions, [[0] * SESSIONS, [(rows, rows)]])
spark.stop()
