/**
 * Measures by how much the memory of a process grows when all its workers have searched a table, for the bench
 * `worker`. Arguments: the root, the number of workers, and the elements of a query, separated by commas. Prints as
 * JSON the growth, the time, and the id of the nearest row.
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
  // Send the calls at the same time, so that each worker gets one.
  const [rows] = await Promise.all(Array.from({ length: workers }, search))
  found = Number(rows[0].id)
}
const took = performance.now() - started
const grownMegabytes = (process.memoryUsage.rss() - before) / 1e6
await ns.close()
console.log(JSON.stringify({ took, grownMegabytes, found }))
