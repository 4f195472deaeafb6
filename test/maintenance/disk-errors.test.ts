/** A disk that fails in the middle of all maintenance there is to do: nothing is lost, and the next run finishes. */
import { expect, test } from 'vitest'
import { connect, ErrorCode, type Namespace, SheafError } from '../../src/index.js'
import { Ambiguous, type BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { keysIn, WrappedStore } from '../support/stores.js'

const maintenance = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }
const rows = 20

/** Fails one call, before or after it took effect. */
class FailingStore extends WrappedStore {
  left: number
  readonly #lands: boolean

  constructor(inner: BlobStore, survives: number, lands: boolean) {
    super(inner)
    this.left = survives
    this.#lands = lands
  }

  protected async around<T>(call: string, conditional: boolean, run: () => Promise<T>, key: string) {
    if (this.left-- !== 0) return run()
    if (this.#lands) await run()
    if (conditional && this.#lands) throw new Ambiguous(`EIO: ${call} ${key}`)
    throw new SheafError(ErrorCode.ServiceUnavailable, `EIO: ${call} ${key}`)
  }
}

/** A root with much to do: fragments, deleted rows, an index that lacks rows, old versions, a dropped table. */
async function untidy(): Promise<MemoryStore> {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { clock, store, maintenance: { compact: false } })
  const table = await ns.createTable('t', [{ id: 0 }])
  await table.createIndex('id', { type: 'BTREE' })
  await table.waitForIndex('id_idx')
  for (let id = 1; id < rows; id++) await table.add([{ id }])
  await table.delete('id = 7')
  await ns.createTable('gone', [{ id: 1 }])
  await ns.dropTable('gone')
  await ns.optimize()
  await table.add([{ id: rows }])
  await ns.close()
  return store
}

async function copyOf(store: MemoryStore, clock: SeededClock): Promise<MemoryStore> {
  const copy = new MemoryStore('memory://', clock)
  for (const key of await keysIn(store, '')) await copy.put(key, (await store.get(key))!)
  return copy
}

async function check(ns: Namespace, wholly = true): Promise<void> {
  const table = await ns.openTable('t')
  expect(await table.countRows()).toBe(rows)
  expect(await table.countRows('id = 13')).toBe(1)
  if (wholly) expect((await ns.verify()).problems).toEqual([])
}

test.each([
  ['before', false],
  ['after', true],
])(
  'an error %s any call of optimize takes effect',
  async (_, lands) => {
    const made = await untidy()
    let failed = 0
    for (let survives = 0, isOver = false; !isOver; survives++) {
      const clock = new SeededClock(survives)
      const store = await copyOf(made, clock)
      const failing = new FailingStore(store, -1, lands)
      const ns = await connect('memory://', { clock, store: failing, maintenance, onWarning: () => {} })
      await ns.operations.listTables({ id: [] })
      failing.left = survives
      const outcome = await ns.optimize().catch((error: unknown) => error)
      isOver = failing.left >= 0
      if (outcome instanceof Error) {
        failed++
        expect(outcome).toBeInstanceOf(SheafError)
      }
      failing.left = -1
      await check(ns, false)
      await ns.optimize()
      await ns.close()
      const fresh = await connect('memory://', { clock, store, maintenance })
      await check(fresh)
      expect(await fresh.optimize()).toEqual({ held: [] })
      await fresh.close()
    }
    expect(failed).toBeGreaterThan(20)
  },
  120_000,
)
