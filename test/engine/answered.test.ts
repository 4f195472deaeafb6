import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { connect } from '../../src/index.js'
import type { ArrowReply, Request, ServerCallOptions } from '../../src/protocol/calls.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

async function bytesOf({ chunks, rest }: ArrowReply): Promise<Buffer> {
  const all = [...chunks]
  if (rest !== undefined) for await (const chunk of rest) all.push(chunk)
  return Buffer.concat(all)
}

/** Some versions of a table of several fragments, with dead rows. */
async function someTable() {
  const ns = await connect('memory://')
  const rowsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const id = first + i
      return { id, name: id % 5 === 0 ? null : `n${id % 7}`, v: [id, id / 2, -id] }
    })
  const table = await ns.createTable('t', rowsFrom(0, 40), { vectorColumns: ['v'] })
  for (let i = 1; i < 5; i++) await table.add(rowsFrom(100 * i, 30 + i))
  await table.delete('id % 9 = 4')
  await table.update({ name: 'changed' }, 'id BETWEEN 105 AND 110')
  return ns
}

const query: fc.Arbitrary<Omit<Request<'queryTable'>, 'id'>> = fc
  .record({
    k: fc.constantFrom(0, 60, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    offset: fc.constantFrom(undefined, undefined, 0, 35, 60, 169),
    filter: fc.constantFrom(
      undefined,
      'id > 1000',
      'id % 3 <> 1',
      "name = 'changed'",
      'name IS NULL AND id > 120',
    ),
    version: fc.constantFrom(undefined, 1, 3, 7),
    differs_from: fc.constantFrom(undefined, undefined, undefined, 5),
    with_row_id: fc.constantFrom(undefined, true),
    columns: fc.constantFrom(
      undefined,
      { column_names: ['v', '_rowoffset'] },
      { column_aliases: { twice: 'id * 2', name: 'upper(name)' } },
    ),
  })
  .map(fields => {
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    return { vector: null, ...given } as Omit<Request<'queryTable'>, 'id'>
  })

test('A-076 a streamed answer has the bytes of the whole', async () => {
  const ns = await someTable()
  let inParts = 0
  const streamAfter = fc.constantFrom(0, 200, 2000)
  await fc.assert(
    fc.asyncProperty(query, streamAfter, async (fields, after) => {
      const request = { id: ['t'], ...fields }
      const whole = await ns.operations.queryTable(request)
      const options: ServerCallOptions = { streamAfter: after }
      const parts = await ns.operations.queryTable(request, options)
      if (parts.rest !== undefined) inParts++
      expect(whole.rest).toBeUndefined()
      expect(parts.version).toBe(whole.version)
      expect((await bytesOf(parts)).equals(await bytesOf(whole))).toBe(true)
    }),
  )
  expect(inParts).toBeGreaterThan(20)
  await ns.close()
})

const all: Request<'queryTable'> = { id: ['t'], vector: null, k: Number.MAX_SAFE_INTEGER }
const atOnce: ServerCallOptions = { streamAfter: 0 }

test('answers with dictionaries, groups or an order are not streamed, at any size', async () => {
  const ns = await connect('memory://')
  const type = { kind: 'dictionary', index: { kind: 'int', bits: 8, signed: true }, ordered: false } as const
  const schema = {
    fields: [{ name: 'word', type: { ...type, value: { kind: 'utf8', large: false } }, nullable: true }],
  } as const
  const table = await ns.createTable('t', [{ word: 'ash' }], { schema })
  await table.add([{ word: 'elm' }])
  const asked = [
    all,
    { ...all, order_by: [{ column_name: 'word', ascending: true }] },
    { ...all, distinct: true },
    { ...all, columns: { column_aliases: { n: 'count(*)' } } },
  ] as const
  for (const request of asked) {
    const [whole, other] = [
      await ns.operations.queryTable(request),
      await ns.operations.queryTable(request, atOnce),
    ]
    expect(other.rest).toBeUndefined()
    expect((await bytesOf(other)).equals(await bytesOf(whole))).toBe(true)
  }
  await ns.close()
})

/** Reads of data files can be counted and refused. */
class DataStore extends WrappedStore {
  reads = 0
  refuses = false

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
    if (key.includes('/data/') && call !== 'putStream') {
      this.reads++
      if (this.refuses) throw new SheafError(ErrorCode.ServiceUnavailable, 'the disk is gone')
    }
    return run()
  }
}

async function threeFiles() {
  const store = new DataStore(new MemoryStore())
  const ns = await connect('memory://', { store, cacheBytes: 0 })
  const rows = Array.from({ length: 500 }, (_, id) => ({ id, v: new Float32Array(64).fill(id) }))
  const table = await ns.createTable('t', rows)
  for (let i = 0; i < 2; i++) await table.add(rows)
  store.reads = 0
  return { ns, store }
}

test('the rest is read on demand', async () => {
  const { ns, store } = await threeFiles()
  const { rest } = await ns.operations.queryTable(all, atOnce)
  const before = store.reads
  expect(before).toBeGreaterThan(0)
  const chunks = rest![Symbol.asyncIterator]()
  // The batch that was found first; an empty chunk ends it.
  while ((await chunks.next()).value!.length > 0) expect(store.reads).toBe(before)
  await chunks.next()
  const after = store.reads
  expect(after).toBeGreaterThan(before)
  await chunks.return!()
  expect(store.reads).toBe(after)
  await ns.close()
})

test('a rest that cannot be read, or is closed by its reader, says so', async () => {
  const { ns, store } = await threeFiles()
  const controller = new AbortController()
  const given = await ns.operations.queryTable(all, {
    ...atOnce,
    signal: controller.signal,
  } as ServerCallOptions)
  const failing = await ns.operations.queryTable(all, atOnce)
  controller.abort(new Error('enough'))
  await expect(bytesOf(given)).rejects.toThrow('enough')
  store.refuses = true
  await expect(bytesOf(failing)).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
  await expect(ns.operations.queryTable(all, atOnce)).rejects.toMatchObject({
    code: ErrorCode.ServiceUnavailable,
  })
  await ns.close()
})
