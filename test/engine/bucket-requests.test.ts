/** Roots in stores with the methods of object storage: how many calls they make, and that trimmed logs are followed. */
import { describe, expect, test, vi } from 'vitest'
import { connect } from '../../src/index.js'
import { BucketStore } from '../support/bucket-store.js'
import { failure } from '../support/failure.js'

const newest = '_ckpt/newest'
const aged = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } as const
const open = (store: BucketStore, maintenance: object = { compact: false }) =>
  connect('bucket', { store, maintenance })

/** Create a root with a checkpoint and a trimmed log. */
async function trimmedRoot(store: BucketStore) {
  const ns = await open(store, aged)
  const table = await ns.createTable('t', [{ id: 0 }])
  for (let id = 1; id < 7; id++) {
    await table.add([{ id }])
    await ns.optimize()
  }
  return { ns, table }
}

test('a root is opened by its newest checkpoint without a listing', async () => {
  const store = new BucketStore()
  const { ns } = await trimmedRoot(store)
  await ns.close()
  store.reset()
  const again = await open(store)
  expect(store.calls.get('list')).toBeUndefined()
  // `_ckpt/newest`, slot 0, the slot of the checkpoint and 8 slots after it; the test of the store reads its object.
  expect(store.calls.get('get')).toBeLessThanOrEqual(12)
  store.reset()
  expect(await again.table('t').countRows()).toBe(7)
  store.reset()
  expect(await again.table('t').countRows()).toBe(7)
  expect(store.calls).toEqual(new Map([['get', 1]]))
  await again.close()
})

test('a process that lags behind a trim goes on from a checkpoint, and commits after it', async () => {
  const store = new BucketStore()
  const late = await open(store)
  await late.createTable('other', [{ a: 1 }])
  const { ns, table } = await trimmedRoot(store)
  expect(await late.table('t').countRows()).toBe(7)
  expect(await store.get('_log/00000000000000000002')).toHaveLength(0)
  await late.table('t').add([{ id: 7 }])
  expect(await table.countRows()).toBe(8)
  expect((await ns.verify()).problems).toEqual([])
  await ns.close()
  await late.close()
})

describe('_ckpt/newest', () => {
  const spoil: Record<string, (bytes: Uint8Array) => Uint8Array> = {
    'is empty': () => new Uint8Array(0),
    'is not a hint': () => Buffer.from('{"f":1}\n'),
    'is of a newer format': bytes =>
      Buffer.from(Buffer.from(bytes).toString('latin1').replace('{"f":1', '{"f":2'), 'latin1'),
    'has a damaged copy': bytes => bytes.with(bytes.length - 20, 7),
    'ends too early': bytes => bytes.subarray(0, bytes.length - 3),
    'has no copies': bytes => bytes.subarray(0, bytes.indexOf(10) + 1),
    'names a file that is gone': bytes =>
      Buffer.from(
        `${Buffer.from(bytes.subarray(0, bytes.indexOf(10)))
          .toString()
          .replaceAll(/-[0-9a-f]{8}/g, '-00000000')}\n`,
      ),
  }
  test.each(Object.entries(spoil))('that %s costs only time', async (_, change) => {
    const store = new BucketStore()
    const { ns } = await trimmedRoot(store)
    await ns.close()
    const bytes = (await store.get(newest))!
    await store.replace(newest, change(bytes))
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(7)
    expect((await again.verify()).problems).toEqual([])
    await again.close()
  })

  test('that an earlier process wrote late leads to the newest checkpoint all the same', async () => {
    const store = new BucketStore()
    const { ns, table } = await trimmedRoot(store)
    const old = (await store.get(newest))!
    for (let id = 7; id < 14; id++) {
      await table.add([{ id }])
      await ns.optimize()
    }
    await ns.close()
    expect(await store.get(newest)).not.toEqual(old)
    await store.replace(newest, old)
    const again = await open(store)
    expect(await again.table('t').countRows()).toBe(14)
    await again.close()
  })

  test('that cannot be written is reported, and the checkpoint counts', async () => {
    const store = new BucketStore()
    const inner = store.replace
    const replace = vi.fn(async (key: string, bytes: Uint8Array) => {
      if (key === newest) throw new Error('refused')
      await inner(key, bytes)
    })
    Object.assign(store, { replace })
    const warnings: string[] = []
    const ns = await connect('bucket', {
      store,
      maintenance: aged,
      onWarning: text => void warnings.push(text),
    })
    await ns.createTable('t', [{ id: 0 }])
    await ns.optimize()
    await ns.close()
    expect(replace).toHaveBeenCalled()
    expect(warnings).toContainEqual(expect.stringContaining('could not be announced'))
    const again = await open(store)
    expect(again.stats().log.checkpoint).toBeGreaterThan(0)
    await again.close()
  })
})

test('the test of the store runs beside the opening, and writes wait for it', async () => {
  /** Accepts a second conditional write. */
  class Careless extends BucketStore {
    override async putIfAbsent(key: string, bytes: Uint8Array) {
      await this.inner.delete(key)
      return super.putIfAbsent(key, bytes)
    }
  }
  const refused = { code: 0, message: expect.stringContaining('cannot store a root') }
  expect(await failure(open(Object.assign(new Careless(), { name: 'bucket 1' })))).toMatchObject(refused)
  const store = new BucketStore()
  const { ns } = await trimmedRoot(store)
  await ns.close()
  const careless = Object.assign(new Careless(store.inner as never), { name: 'bucket 2' })
  const opened = await open(careless)
  expect(await opened.table('t').countRows()).toBe(7)
  expect(await failure(opened.table('t').add([{ id: 8 }]))).toMatchObject(refused)
  expect(await opened.table('t').countRows()).toBe(7)
  await opened.close()
})
