/**
 * One kind of work of `growth` by one engine in a process of its own. Arguments: the work, the engine, its path, and as JSON the size. Prints as
 * JSON times of its calls, and of each the bytes that the process was given by `read` and its like.
 */
import { readFileSync } from 'node:fs'
import { growthData, keyOf } from '../../dist/bench/growth-data.js'
import { seededRandom } from '../../dist/bench/random.js'
import { peakBytes } from '../peak-bytes.mjs'
import { engines } from './growth-engines.mjs'

const [name, engineName, path, json] = process.argv.slice(2)
const { rows, dim, calls } = JSON.parse(json)
const data = growthData(dim, calls + 1)

/** Each gives what is checked: ids of the nearest, or how many rows it found or changed. */
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

/** Linux counts them, whatever of them came from its page cache. */
function readBytes() {
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'latin1'))[1])
}
