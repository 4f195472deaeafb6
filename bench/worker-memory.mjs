/**
 * What a process grows by when all its workers have searched a table: what `worker` measures. Arguments: the root, how many workers,
 * and the elements of a query, with commas. Prints as JSON that, the time it took, and the id of the nearest row.
 */
import { connectWorker } from 'sheaf/worker'

const [root, count, elements] = process.argv.slice(2)
const workers = Number(count)
const query = Float32Array.from(elements.split(','), Number)

const ns = await connectWorker(root, { readOnly: true, workers })
const table = ns.table('many')
const search = () => table.search(query).select(['id']).limit(1).toArray()
await table.countRows()
const before = process.memoryUsage.rss()
const started = performance.now()
let found
for (let round = 0; round < 2; round++) {
  // Calls that come together are spread.
  const [rows] = await Promise.all(Array.from({ length: workers }, search))
  found = Number(rows[0].id)
}
const took = performance.now() - started
const grownMegabytes = (process.memoryUsage.rss() - before) / 1e6
await ns.close()
console.log(JSON.stringify({ took, grownMegabytes, found }))
