/** An expression that takes long holds neither the event loop nor its caller's signal. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Namespace, type Table } from '../../src/index.js'
import { failure } from '../support/failure.js'

const rows = 2000
let ns: Namespace
let table: Table

beforeAll(async () => {
  ns = await connect('memory://')
  const text = 'a text with many a in it, and again a. '.repeat(5)
  table = await ns.createTable(
    't',
    Array.from({ length: rows }, (_, id) => ({ id, text, made: '' })),
  )
})
afterAll(() => ns.close())

const slow = "substr(replace(replace(replace(text, 'a', 'aaaaa'), 'a', 'aaaaa'), 'a', 'aaa'), 1, 10)"

const update = (signal?: AbortSignal) =>
  ns.operations.updateTable({ id: ['t'], updates: [['made', slow]] }, { signal })

/** How often the event loop turns while something is under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const settled = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await new Promise(resolve => setImmediate(resolve))
    turns++
  }
  await settled
  return turns
}

test.each<[string, () => Promise<unknown>]>([
  ['an update', () => update()],
  ['a projection', () => table.query().select({ made: slow }).toArray()],
  ['a filter', () => table.countRows(`${slow} = 'x'`)],
  ['a computed column', () => table.addColumns({ computed: { expression: slow } as never })],
])('%s lets the event loop turn while it is evaluated', async (_, work) => {
  expect(await turnsDuring(work())).toBeGreaterThan(10)
})

test('an aborted update ends in the middle of its expression, and changes nothing', async () => {
  const version = await table.version()
  const gone = new AbortController()
  const reason = new Error('time is up')
  const updated = failure(update(gone.signal))
  let turns = 0
  let isOver = false
  updated.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await new Promise(resolve => setImmediate(resolve))
    if (++turns === 5) gone.abort(reason)
  }
  expect(await updated).toBe(reason)
  expect(turns).toBeLessThan(12)
  expect(await table.version()).toBe(version)
})
