/** The program of an insert thread. The thread claims batches of rows and inserts them, until all rows are claimed. */
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../errors.js'
import { attachArena } from '../../kernels/arena.js'
import { Graph } from '../../kernels/graph.js'
import { type InsertTask, Tally } from './insert-threads.js'

/**
 * Number of rows that a thread claims together. Inserting them takes only some tens of milliseconds, so all threads
 * finish at about the same time.
 */
const rowsTogether = 64

assert(parentPort !== null, 'this module runs in a worker thread')
const { memory, shape, places, shared, rows, starts, efConstruction, tally, thread } =
  workerData as InsertTask
const graph = new Graph(attachArena(memory), shape, places, false, shared)
Atomics.store(tally, Tally.begun + thread, 1)
for (let partition = 0; ; ) {
  const from = Atomics.add(tally, Tally.taken, rowsTogether)
  if (from >= rows.length) break
  const to = Math.min(from + rowsTogether, rows.length)
  for (let at = from; at < to; ) {
    while (starts[partition + 1]! <= at) partition++
    const end = Math.min(to, starts[partition + 1]!)
    graph.insertBeside(rows.subarray(at, end), partition, efConstruction)
    at = end
  }
  Atomics.add(tally, Tally.inserted, to - from)
  parentPort.postMessage(null)
}
