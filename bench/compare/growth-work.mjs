/**
 * Runs one kind of work of `growth` with one engine in a separate process. Arguments: the work, the engine, its path,
 * and the size as JSON. Prints as JSON the times of the calls, and the bytes that the process read by `read` and
 * similar calls.
 */
import { readFileSync } from 'node:fs'
import { growthData, keyOf } from '../../dist/bench/growth-data.js'
import { seededRandom } from '../../dist/bench/random.js'
import { peakBytes } from '../peak-bytes.mjs'
import { engines } from './growth-engines.mjs'

const [name, engineName, path, json] = process.argv.slice(2)
const { rows, dim, calls } = JSON.parse(json)
const data = growthData(dim, calls + 1)

/** By name: the kinds of work. Each returns a value that is checked: ids of the nearest rows, or the number of rows. */
const works = {
  ingest: engine => engine.ingest(data.batches(rows)),
  'build IVF_PQ on the vector': engine => engine.buildVector(),
  'build BTREE on the key': engine => engine.buildKey(),
  'top 10': (engine, i) => engine.nearest(data.queries[i]),
  'top 10, refineFactor 10': (engine, i) => engine.nearest(data.queries[i], 10),
  'top 10, refineFactor 20': (engine, i) => engine.nearest(data.queries[i], 20),
  'row by key, all columns': async (engine, i) => (await engine.byKey(drawnKey(i))).length,
  'take 10 by offset, all columns': async (engine, i) => {
    const random = seededRandom(i)
    return (await engine.offsets(Array.from({ length: 10 }, () => Math.floor(random() * rows)))).length
  },
  'update one row by key': (engine, i) => engine.update(drawnKey(i), i),
  'append one row': (engine, i) => engine.append(data.rowAt(rows + i)),
}

const isOnce = name === 'ingest' || name.startsWith('build')
const times = []
const answers = []
const [begun, before] = [performance.now(), readBytes()]
const engine = await engines[engineName](path)
answers.push(await works[name](engine, 0))
const [firstMs, first] = [performance.now() - begun, readBytes()]
for (let i = 1; !isOnce && i <= calls; i++) {
  const started = performance.now()
  answers.push(await works[name](engine, i))
  times.push(performance.now() - started)
}
const bytes = isOnce ? first - before : (readBytes() - first) / calls
await engine.close()
const figures = {
  bytes,
  ...(!isOnce && { firstMs, firstBytes: first - before }),
  peakMegabytes: peakBytes() / 1e6,
}
const told = isOnce ? { times: [firstMs], figures, answers: [] } : { times, figures, answers }
process.stdout.write(JSON.stringify(told), () => process.exit(0))

function drawnKey(i) {
  return keyOf(Math.floor(seededRandom(i)() * rows))
}

/**
 * Return the number of bytes that the process has read, as counted by Linux. Reads from the page cache are included.
 */
function readBytes() {
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'latin1'))[1])
}
