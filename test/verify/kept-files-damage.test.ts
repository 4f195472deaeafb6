/** Files beside the log that are damaged, lost or of another root: they are passed over and named, or named with the way out. */
import { describe, expect, test } from 'vitest'
import { type ConnectOptions, connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { requestOf, stage } from '../support/lance.js'
import { keysIn } from '../support/stores.js'

const now = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } as const
const forEver = {
  ...now,
  keepVersionsMs: Number.POSITIVE_INFINITY,
  keepLogMs: Number.POSITIVE_INFINITY,
} as const

interface RootOptions {
  readonly seed?: number
  readonly rows?: number
  readonly maintenance?: ConnectOptions['maintenance']
}

/** A root with a row for each commit, and a checkpoint after each twenty. */
async function root({ seed = 1, rows = 70, maintenance = forEver }: RootOptions = {}) {
  const clock = new SeededClock(seed)
  const store = new MemoryStore('memory://', clock)
  const warnings: string[] = []
  const open = (readOnly = false) =>
    connect('memory://', {
      clock,
      store,
      maintenance,
      readOnly,
      onWarning: message => warnings.push(message),
    })
  const ns = await open()
  const table = await ns.createTable('t', [{ a: 0 }])
  for (let a = 1; a < rows; a++) {
    await table.add([{ a }])
    clock.advance(20_000)
    if (a % 20 === 0) await ns.optimize()
  }
  await ns.close()
  return { store, clock, warnings, open }
}

async function damage(store: MemoryStore, key: string): Promise<void> {
  const bytes = (await store.get(key))!.slice()
  bytes[Math.floor(bytes.length / 2)]! ^= 1
  await store.delete(key)
  await store.put(key, bytes)
}

describe('a checkpoint of another root', () => {
  async function withForeign(maintenance = forEver as ConnectOptions['maintenance']) {
    const own = await root({ maintenance })
    const other = await root({ seed: 2, rows: 130 })
    const foreign = (await keysIn(other.store, '_ckpt/'))[0]!
    for (const key of await keysIn(own.store, '_ckpt/')) {
      if (maintenance === forEver) await own.store.delete(key)
    }
    await own.store.put(foreign, (await other.store.get(foreign))!)
    return { ...own, foreign }
  }

  test.each([
    ['a whole log', forEver],
    ['checkpoints of its own', now],
  ])('is passed over by name in a root with %s', async (_, maintenance) => {
    const { open, warnings, foreign } = await withForeign(maintenance)
    const ns = await open()
    expect(await (await ns.openTable('t')).countRows()).toBe(70)
    expect(warnings).toContain(
      `${foreign} cannot be used: the root is opened from an older checkpoint, or from its log`,
    )
    await ns.close()
  })

  test('is the only problem of the root, and repair deletes it', async () => {
    const { open, foreign } = await withForeign()
    const ns = await open()
    const problem = {
      kind: 'checkpoint',
      path: foreign,
      what: expect.stringContaining('belongs to the root'),
    }
    expect((await ns.verify()).problems).toMatchObject([problem])
    expect((await ns.verify({ repair: true })).repaired).toMatchObject([problem])
    expect((await ns.verify()).ok).toBe(true)
    await ns.close()
  })
})

describe('a trimmed root reports which checkpoints are unusable:', () => {
  test('damaged ones by name', async () => {
    const { store, open } = await root({ maintenance: now })
    const keys = await keysIn(store, '_ckpt/')
    for (const key of keys) await damage(store, key)
    const named = new RegExp(`slot 1 is missing.*${keys[0]} is .*; ${keys[1]} is `)
    await expect(open()).rejects.toMatchObject({
      code: 18,
      message: expect.stringMatching(named),
      hint: expect.stringContaining('_ckpt/'),
    })
  })

  test('that none exists', async () => {
    const { store, open } = await root({ maintenance: now })
    for (const key of await keysIn(store, '_ckpt/')) await store.delete(key)
    await expect(open()).rejects.toThrow(/slot 1 is missing.*_ckpt\/ has no checkpoint$/)
  })
})

describe('rebuilt data is reported once:', () => {
  test.each([
    ['a page of the history', '_hist/', '.page'],
    ['a stored layout', 'tables/', '.manifest'],
  ])('%s', async (_, folder, ending) => {
    const { store, open, warnings } = await root()
    const keys = (await keysIn(store, folder)).filter(key => key.endsWith(ending))
    for (const key of keys) await damage(store, key)
    const ns = await open(true)
    const table = await ns.openTable('t')
    expect((await table.versions()).length).toBeGreaterThan(70)
    expect(await table.countRows()).toBe(70)
    expect(await (await table.checkout(66)).countRows()).toBeGreaterThan(60)
    const told = warnings.filter(message => message.includes('is damaged'))
    const all = keys.map(key => `${key} is damaged: its content is rebuilt from the log`)
    expect(all).toEqual(expect.arrayContaining(told))
    expect(told.length).toBeGreaterThan(0)
    expect(new Set(told).size).toBe(told.length)
    await ns.close()
  })
})

test('the newest manifest of a Lance table is missed by name, older ones are not', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { clock, store })
  const { operations } = ns
  const { location } = await operations.declareTable({ id: ['l'] })
  const finals: string[] = []
  for (const version of [1, 2]) {
    const staged = await stage(store, location!, version)
    finals.push(staged.final)
    await operations.createTableVersion({ id: ['l'], ...requestOf(staged) })
  }
  const list = () => operations.listTableVersions({ id: ['l'] })
  await store.delete(finals[0]!)
  expect((await list()).versions.map(({ version }) => version)).toEqual([2])
  await expect(operations.describeTableVersion({ id: ['l'], version: 1 })).rejects.toMatchObject({ code: 11 })
  await store.delete(finals[1]!)
  const missing = {
    code: 18,
    message: expect.stringContaining(finals[1]!),
    hint: expect.stringContaining('backup'),
  }
  await expect(list()).rejects.toMatchObject(missing)
  await expect(operations.describeTableVersion({ id: ['l'], version: 2 })).rejects.toMatchObject(missing)
  await ns.close()
})

test('the newest manifest of a Lance table without its final name is reported if it cannot be named', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { clock, store })
  const { location } = await ns.operations.declareTable({ id: ['l'] })
  const staged = await stage(store, location!, 1)
  await ns.operations.createTableVersion({ id: ['l'], ...requestOf(staged) })
  await store.delete(staged.final)
  await store.put(staged.key, staged.bytes)
  const reader = await connect('memory://', { clock, store, readOnly: true })
  const listing = reader.operations.listTableVersions({ id: ['l'] })
  await expect(listing).rejects.toMatchObject({
    code: 17,
    message: expect.stringContaining('no final name yet'),
  })
  await Promise.all([ns.close(), reader.close()])
})
