/** Threads that build segments of lists build the same segment as the calling thread. */
import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { fillFloats, seededRandom } from '../../../bench/random.js'
import { planLists, storedLists } from '../../../src/indexes/vector/build-lists.js'
import type { VectorInput } from '../../../src/indexes/vector/input.js'
import type { VectorSpec } from '../../../src/indexes/vector/kind.js'
import { openListWorkers } from '../../../src/indexes/vector/list-threads.js'
import { readLists } from '../../../src/indexes/vector/stored-lists.js'
import { surveyed } from '../../../src/indexes/vector/survey.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { built, shipped } from '../../adapters/built.js'
import { collected, opened } from '../../support/section-files.js'

const real = pathToFileURL(built('src/indexes/vector/list-worker.ts'))
const missing = new URL('./no-such-worker.js', import.meta.url)
const code = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
/** A thread that says it is ready, and what `text` does when it is called. */
const ready = (text: string) =>
  code(`import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => { ${text} })
    parentPort.postMessage('ready')`)

const dim = 24

/** Rows some of which have no vector, and some no place in the space. */
function inputOf(rows: number, first = 0): VectorInput {
  const values = fillFloats(new Float32Array(rows * dim), seededRandom(first + 3))
  values.fill(3e38, 5 * dim, 6 * dim)
  const present = Bitset.full(rows)
  present.remove(17)
  return {
    first,
    rows,
    dim,
    kind: 'f32',
    async *pieces() {
      const step = 4096
      for (let from = 0; from < rows; from += step) {
        const count = Math.min(step, rows - from)
        yield {
          first: first + from,
          rows: count,
          values: values.subarray(from * dim, (from + count) * dim),
          present: present.slice(from, from + count),
        }
      }
    },
  }
}

/** The file of a segment, and of the same with more rows. */
async function builtBy(threads: number, file: URL, spec: VectorSpec, signal?: AbortSignal) {
  const pacer = new Pacer(signal)
  const workers = await openListWorkers(threads, pacer, file)
  try {
    const survey = await surveyed(spec, inputOf(6000), pacer, () => {})
    const plan = await planLists(survey, workers, pacer)
    const whole = await collected(
      await storedLists({ plan, input: inputOf(6000), base: null, survey }, workers, pacer, () => () => {}),
    )
    const base = await readLists(opened(whole.bytes, whole.crc))
    const more = inputOf(1000, 6000)
    const longer = await collected(
      await storedLists({ plan: base.plan, input: more, base, survey: null }, workers, pacer, () => () => {}),
    )
    return { count: workers.count, whole: whole.bytes, longer: longer.bytes }
  } finally {
    await workers.close()
  }
}

const parameters = { partitions: 30, subVectors: 6 }

test.each([
  ['IVF_FLAT', 'l2', {}],
  ['IVF_SQ', 'dot', {}],
  ['IVF_PQ', 'cosine', {}],
  ['IVF_PQ', 'l2', { bits: 4 }],
  ['IVF_RQ', 'l2', {}],
] as const)('%s by %s is the same by threads and without', async (kind, metric, more) => {
  const spec = { kind, metric, parameters: { ...parameters, ...more } }
  const alone = await builtBy(1, real, spec)
  expect(alone.count).toBe(1)
  const several = await builtBy(3, real, spec)
  expect(several.count).toBe(3)
  expect(several.whole.equals(alone.whole)).toBe(true)
  expect(several.longer.equals(alone.longer)).toBe(true)
})

test('where no thread can be started, the calling thread does the work', async () => {
  const spec = { kind: 'IVF_PQ', metric: 'l2', parameters } as const
  const alone = await builtBy(1, real, spec)
  const without = await builtBy(2, missing, spec)
  expect(without.count).toBe(1)
  expect(without.whole.equals(alone.whole)).toBe(true)
})

test.each([
  ['throws', `throw new Error('out of luck')`, 'died: out of luck'],
  ['exits', 'process.exit(3)', 'died: exit code 3'],
])('a thread that %s fails the build', async (_, text, message) => {
  const spec = { kind: 'IVF_PQ', metric: 'l2', parameters } as const
  await expect(builtBy(2, ready(text), spec)).rejects.toMatchObject({
    code: 17,
    message: expect.stringContaining(message),
  })
})

test('a build can be aborted while its threads work', async () => {
  const reason = new Error('enough')
  const spec = { kind: 'IVF_PQ', metric: 'l2', parameters } as const
  const giveUp = new AbortController()
  const deaf = ready('for (;;) {}')
  const building = builtBy(2, deaf, spec, giveUp.signal)
  setTimeout(() => giveUp.abort(reason), 300)
  await expect(building).rejects.toBe(reason)
  await expect(builtBy(2, real, spec, AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('the shipped package builds large segments with threads, and its process ends by itself', () => {
  const script = `
    import { connect } from ${JSON.stringify(pathToFileURL(shipped('index')).href)}
    let online = 0
    process.on('worker', worker => worker.on('online', () => online++))
    const ns = await connect('memory://', { buildThreads: 2 })
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ i, v: [Math.sin(i), Math.cos(i * 7)] }))
    const table = await ns.createTable('t', rows, { vectorColumns: ['v'] })
    await table.createIndex('v', { type: 'IVF_PQ', waitTimeoutMs: 60_000 })
    const found = await table.search(rows[77].v).limit(1).toArray()
    console.log(online, found[0].i)
  `
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(out.trim()).toBe('2 77')
})
