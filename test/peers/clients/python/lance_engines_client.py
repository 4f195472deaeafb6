"""Engines that write Lance tables beside the catalog: lance-ray, daft-lance, and a writer of one's own.

None asks the server before it puts a manifest into the folder of the table. The server adopts what they wrote, so that every
version is listed, rows are counted once, and the next writer goes on behind them.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import daft
import daft_lance
import lance
import lance_namespace as models
import lance_ray
import pyarrow as pa
import ray
from report import check
from sheaf import Table

url = os.environ["SHEAF_URL"]
properties = {"uri": url, "header.x-lancedb-database": "engines"}
catalog = models.connect("rest", properties)
asked = {"namespace_impl": "rest", "namespace_properties": properties}
ROWS = 4000


def rows(first, count):
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "half": [i / 2 for i in range(first, first + count)]})


def open_table(name):
    return lance.dataset(namespace_client=catalog, table_id=[name])


def listed(name):
    """The versions that the catalog tells, ascending, and how many rows and different ids the newest has."""
    told = catalog.list_table_versions(models.ListTableVersionsRequest(id=[name]))
    ids = open_table(name).to_table(columns=["id"])["id"]
    return sorted(each.version for each in told.versions), len(ids), len(set(ids.to_pylist()))


ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)


def ray_writes(mode, first, count):
    data = ray.data.from_arrow(rows(first, count)).repartition(4)
    lance_ray.write_lance(data, table_id=["ray"], mode=mode, **asked)
    return listed("ray")


check("lance-ray creates", lambda: ray_writes("create", 0, ROWS), [[1], ROWS, ROWS])
check("lance-ray appends", lambda: ray_writes("append", ROWS, 400), [[1, 2], ROWS + 400, ROWS + 400])
check("lance-ray reads", lambda: lance_ray.read_lance(table_id=["ray"], columns=["half"], **asked).sum("half"), sum(range(ROWS + 400)) / 2)
check("pylance appends behind it", lambda: (lance.write_dataset(rows(5000, 10), namespace_client=catalog, table_id=["ray"], mode="append"), listed("ray"))[1], [[1, 2, 3], ROWS + 410, ROWS + 410])
check("lance-ray adds a column", lambda: (lance_ray.add_columns(table_id=["ray"], transform={"double": "id * 2"}, **asked), open_table("ray").to_table(filter="double <> id * 2").num_rows)[1], 0)
check("lance-ray compacts", lambda: (lance_ray.compact_files(table_id=["ray"], **asked), listed("ray")[1:])[1], [ROWS + 410, ROWS + 410])
check("lance-ray overwrites", lambda: ray_writes("overwrite", 0, 100)[1:], [100, 100])


def four_at_once():
    """Four Ray workers append with lance-ray at the same time, each rows of its own."""

    @ray.remote
    def append(worker):
        part = rows(10_000 + 1000 * worker, 250)
        for attempt in range(20):
            try:
                lance.write_dataset(part, namespace_client=models.connect("rest", properties), table_id=["ray"], mode="append")
                return attempt
            except Exception as error:
                if "conflict" not in str(error).lower():
                    raise
        raise RuntimeError("lost 20 times")

    before = len(listed("ray")[0])
    ray.get([append.remote(worker) for worker in range(4)])
    versions, count, different = listed("ray")
    return len(versions) - before, count, different


check("four Ray workers append at the same time", four_at_once, [4, 1100, 1100])
ray.shutdown()

daft_asked = {"table_id": ["daft"], **asked}


def daft_writes(mode, first, count, **options):
    daft_lance.write_lance(daft.from_arrow(rows(first, count)), mode=mode, **daft_asked, **options)
    return listed("daft")


check("daft-lance creates", lambda: daft_writes("create", 0, ROWS), [[1], ROWS, ROWS])
check("daft-lance appends", lambda: daft_writes("append", ROWS, 400), [[1, 2], ROWS + 400, ROWS + 400])
check("daft-lance reads", lambda: daft_lance.read_lance(**daft_asked).where("id < 100").sum("half").to_pydict(), {"half": [sum(range(100)) / 2]})
check("daft-lance overwrites some rows", lambda: daft_writes("insert_overwrite", 0, 10, overwrite_where="id < 100")[1:], [ROWS + 310, ROWS + 310])
check("daft-lance compacts", lambda: (daft_lance.compact_files(**daft_asked), listed("daft")[1:])[1], [ROWS + 310, ROWS + 310])
check("daft-lance overwrites", lambda: daft_writes("overwrite", 0, 50)[1:], [50, 50])


def own_writer():
    """Fragments are written first, and committed to the folder of the table without a word to the catalog."""
    lance.write_dataset(rows(0, 10), namespace_client=catalog, table_id=["own"], mode="create")
    location = catalog.describe_table(models.DescribeTableRequest(id=["own"])).location

    def commit(first):
        fragments = lance.fragment.write_fragments(rows(first, 5), location, mode="append")
        lance.LanceDataset.commit(location, lance.LanceOperation.Append(fragments), read_version=1)

    for first in (10, 20, 30):
        commit(first)
    lance.write_dataset(rows(100, 1), namespace_client=catalog, table_id=["own"], mode="append")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(commit, (200, 300, 400, 500)))
    return listed("own")


check("versions of a writer that never asks the catalog", own_writer, [list(range(1, 10)), 46, 46])


def engine_and_catalog():
    """Appends through the catalog and beside it at the same time: every row is there once."""

    def append(worker):
        for i in range(5):
            part = rows(1000 * (worker + 1) + 10 * i, 3)
            for _ in range(50):
                try:
                    if worker % 2 == 0:
                        lance.write_dataset(part, namespace_client=models.connect("rest", properties), table_id=["own"], mode="append")
                    else:
                        location = catalog.describe_table(models.DescribeTableRequest(id=["own"])).location
                        fragments = lance.fragment.write_fragments(part, location, mode="append")
                        lance.LanceDataset.commit(location, lance.LanceOperation.Append(fragments), read_version=1)
                    break
                except Exception as error:
                    if "conflict" not in str(error).lower():
                        raise
            else:
                raise RuntimeError("lost 50 times")

    versions = len(listed("own")[0])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    told, count, different = listed("own")
    return len(told) - versions, count, different


check("writers that ask the catalog and writers that do not, at the same time", engine_and_catalog, [20, 106, 106])
