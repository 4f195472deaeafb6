/**
 * Compares Sheaf and LanceDB with the table of `npm run bench -- growth`: time, bytes read, and memory of the same
 * work, each in a separate process.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { growthWork, linkFiles } from '../../dist/bench/growth-work.js'
import { hashOf, timesOf } from '../../dist/bench/harness.js'
import { recallOf } from '../../dist/bench/vector-data.js'
import { engines } from './growth-engines.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'

const script = fileURLToPath(new URL('growth-work.mjs', import.meta.url))
const made = ['ingest', 'build IVF_PQ on the vector', 'build BTREE on the key']
const nearest = ['top 10', 'top 10, refineFactor 10', 'top 10, refineFactor 20']
const reads = [...nearest, 'row by key, all columns', 'take 10 by offset, all columns']
const writes = ['update one row by key', 'append one row']

export const bench = {
  name: 'growth',
  question:
    'how much does a call read, and how long does it take, if the table is large? (bytes: as returned by read(); LanceDB has the refine factor 10; commits that are not synced may be lost at a power loss)',
  small: { rows: [5000], dim: 64, calls: 5 },
  full: { rows: (process.env.SHEAF_GROWTH_ROWS ?? '1000000').split(',').map(Number), dim: 128, calls: 100 },
  async run({ rows, ...size }) {
    return inScratch(async folder => {
      const cases = []
      for (const count of rows) {
        cases.push(...(await asked(join(folder, `${count}`), { rows: count, ...size })))
        rmSync(join(folder, `${count}`), { recursive: true })
      }
      return cases
    })
  },
}

async function asked(folder, size) {
  mkdirSync(folder)
  const truth = join(folder, 'nearest.json')
  await growthWork('true neighbours', '', { ...size, warmUp: 0, cacheBytes: 0, truth })
  const known = JSON.parse(readFileSync(truth, 'utf8')).all.map(ids => new Set(ids))
  const names = Object.keys(await able(engines))
  return [...made, ...reads, ...writes].map(work => {
    const entries = names.map(name => entryOf(work, name, join(folder, name), size, known))
    const held = entries.map(entry => {
      return { ...entry, relativeTime: entry.milliseconds.p50 / entries[0].milliseconds.p50 }
    })
    return { title: `${work}, ${size.rows} rows`, entries: held }
  })
}

/** Run one kind of work with one engine. Writes are done in a copy. */
function entryOf(work, name, path, size, known) {
  const copy = `${path}-copy`
  const isWrite = writes.includes(work)
  if (isWrite) linkFiles(path, copy)
  const args = [script, work, name, isWrite ? copy : path, JSON.stringify(size)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e9 })
  if (status !== 0)
    throw new Error(`the process of ${work} by ${name} exited with the status ${status}: ${stderr}`)
  if (existsSync(copy)) rmSync(copy, { recursive: true })
  const { times, figures, answers } = JSON.parse(stdout)
  return {
    name,
    milliseconds: timesOf(Float64Array.from(times)),
    relativeTime: 1,
    answer: hashOf(answers),
    figures: { ...figures, ...(nearest.includes(work) && { recall: recallOf(known, answers) }) },
  }
}
