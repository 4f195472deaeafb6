/** One of several threads that search one graph in shared memory, for the bench `query-shared`. */
import { parentPort, workerData } from 'node:worker_threads'
import { attachArena } from '../dist/src/kernels/arena.js'
import { Graph } from '../dist/src/kernels/graph.js'

const { memory, shape, places, shared, entry, queries, ef } = workerData
const graph = new Graph(attachArena(memory), shape, places, false, shared)
parentPort.on('message', rounds => {
  const count = queries.length / shape.stride
  let found = 0
  const begun = performance.now()
  for (let round = 0; round < rounds; round++) {
    for (let q = 0; q < count; q++) {
      graph.query.set(queries.subarray(q * shape.stride, (q + 1) * shape.stride))
      found += graph.walk([entry], ef, 10, false).found
    }
  }
  parentPort.postMessage({ found, took: performance.now() - begun })
})
parentPort.postMessage('ready')
