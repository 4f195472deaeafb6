/** Where slots were trimmed, packs, pages and stored layouts are all that is left: what is damaged of them is named. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import type { CatalogState } from '../../src/catalog/state.js'
import { slotKey } from '../../src/commit/blob-log.js'
import { Checkpoints } from '../../src/commit/checkpoints.js'
import { coveredBy } from '../../src/commit/packs.js'
import { connect, type Problem, verify } from '../../src/index.js'
import { type CheckpointExtra, extraOf, packsOf } from '../../src/maintenance/checkpoint-extra.js'
import { writeCheckpoint } from '../../src/maintenance/checkpointing.js'
import { decodePage } from '../../src/manifest/history-page.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { damaged as damagedIn, filesOf, flipped } from '../support/damage.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'
import { WrappedStore, withoutTails } from '../support/stores.js'

const freshRoot = temporaryRoots()
const root = freshRoot()
let sound = new Map<string, Buffer>()
/** What the newest checkpoint says of packs and pages. */
let extra: CheckpointExtra
let covered = 0
let checkpointed = 0
const soon = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }

const damaged = <T>(keys: Readonly<Record<string, Uint8Array | null>>, look: () => Promise<T>) =>
  damagedIn(root, sound, keys, look)

async function checkpointsIn(path: string): Promise<Checkpoints<CatalogState>> {
  const store = await FileStore.open(path, { create: false, readOnly: false })
  return new Checkpoints(store, catalogMachine, systemClock)
}

beforeAll(async () => {
  const ns = await connect(root, { store: await withoutTails(root), maintenance: soon })
  const large = await ns.createTable(
    'large',
    Array.from({ length: 9_000 }, (_, id) => ({ id, text: `text ${id % 7} ${'.'.repeat(9)}` })),
  )
  const many = await ns.createTable('many', [{ a: 0 }])
  for (let i = 1; i < 150; i++) {
    await many.add([{ a: i }])
    // Folded from the layout of version 64, as that of version 128 is, with which the newest one's fold begins.
    if ((await many.versions()).at(-1)!.version === 128) await many.tags.create('kept', 128)
    if (i % 50 === 0) await large.delete(`id = ${i}`)
    if (i % 12 === 0) await ns.optimize()
  }
  await ns.createTable('gone', [{ a: 1 }])
  await ns.operations.deregisterTable({ id: ['gone'] })
  await ns.close()
  sound = filesOf(root)
  const newest = (await (await checkpointsIn(root)).newest())!
  extra = extraOf(newest)
  covered = coveredBy(packsOf(newest))
  checkpointed = newest.slot
})

const kinds: readonly (readonly [RegExp, Problem['kind']])[] = [
  [/^_log\//, 'slot'],
  [/^_ckpt\//, 'checkpoint'],
  [/\.slots$/, 'pack'],
  [/\.page$/, 'page'],
  [/\/data\/|\/rows\//, 'data'],
  [/_versions\//, 'layout'],
]
const kindOf = (key: string) => kinds.find(([pattern]) => pattern.test(key))![1]
const slotOf = (key: string) => Number(key.slice('_log/'.length))
/** Others took its place; it stays for a while for who looks for it. */
const isReplaced = (key: string) => {
  const names = [...extra.pages, ...extra.packs!].map(({ name }) => `_hist/${name}`)
  return key.startsWith('_hist/') && !names.includes(key)
}

test('a trimmed root is sound, and has everything that can be damaged', async () => {
  const { ok, problems, checked } = await verify(root)
  expect([ok, problems]).toEqual([true, []])
  const slots = [...sound.keys()].filter(key => kindOf(key) === 'slot').map(slotOf)
  // Most are gone; some stay that the newest checkpoint makes dispensable, the one before it not yet.
  expect(slots.length).toBeLessThan(covered)
  expect(slots.some(slot => slot > 0 && slot <= covered)).toBe(true)
  expect(checked.slots).toBe(slots.length)
  expect(checked.slots + checked.files).toBe(sound.size)
  expect([...sound.keys()].some(isReplaced)).toBe(true)
  expect(new Set([...sound.keys()].map(kindOf))).toEqual(new Set(kinds.map(([, kind]) => kind)))
  expect(extra.replaced!.some(([name]) => name.endsWith('.page'))).toBe(true)
})

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['a bit flipped in the middle', bytes => flipped(bytes, bytes.length >>> 1)],
  ['cut short', bytes => bytes.subarray(0, bytes.length - 7)],
])('of each file: %s', async (_, damage) => {
  for (const [key, bytes] of sound) {
    const { problems } = await damaged({ [key]: damage(bytes) }, () => verify(root))
    expect([key, problems.filter(({ path }) => path === key)]).toMatchObject([key, [{ kind: kindOf(key) }]])
  }
})

test('each file missing', async () => {
  const last = Math.max(...[...sound.keys()].filter(key => kindOf(key) === 'slot').map(slotOf))
  const isHarmless = (key: string) =>
    isReplaced(key) ||
    // The other one, and what follows it in the log, say the same.
    kindOf(key) === 'checkpoint' ||
    // Packs stand for it.
    (kindOf(key) === 'slot' && slotOf(key) > 0 && slotOf(key) <= covered) ||
    // Nothing says that it ever was.
    (kindOf(key) === 'slot' && slotOf(key) === last && last > checkpointed) ||
    // Made again from that of version 64 when it is needed.
    (kindOf(key) === 'layout' && key.endsWith(`${2n ** 64n - 1n - 128n}.manifest`))
  for (const key of sound.keys()) {
    const { problems } = await damaged({ [key]: null }, () => verify(root))
    const paths = problems.map(({ path }) => path)
    if (isHarmless(key)) expect([key, paths]).toEqual([key, []])
    else expect([key, paths]).toEqual([key, expect.arrayContaining([key])])
  }
})

test('files whose slots are gone are not rebuilt, and all others are', async () => {
  const layout = (version: bigint) =>
    [...sound.keys()].find(key => key.endsWith(`${2n ** 64n - 1n - version}.manifest`))!
  const page = `_hist/${extra.pages[0]!.name}`
  const checkpoint = [...sound.keys()].find(key => kindOf(key) === 'checkpoint')!
  for (const lost of [layout(64n), page]) {
    const broken = [lost, checkpoint].map(key => [key, flipped(sound.get(key)!, 20)] as const)
    await damaged(Object.fromEntries(broken), async () => {
      const { ok, problems, repaired } = await verify(root, { repair: true })
      expect(ok).toBe(false)
      expect(problems.filter(({ path }) => path === lost)).toMatchObject([
        { repairable: false, what: expect.stringContaining('were trimmed') },
      ])
      // Without its record a version is not found.
      if (lost !== page) expect(problems).toHaveLength(1)
      expect(repaired).toMatchObject([{ path: checkpoint }])
    })
  }
  await damaged({ [layout(128n)]: flipped(sound.get(layout(128n))!, 20) }, async () => {
    expect(await verify(root, { repair: true })).toMatchObject({
      ok: true,
      repaired: [{ path: layout(128n) }],
    })
    expect(filesOf(root)).toEqual(sound)
  })
})

test('without any checkpoint a trimmed root is lost, which is reported once', async () => {
  const none = Object.fromEntries(
    [...sound.keys()].filter(key => key.startsWith('_ckpt/')).map(key => [key, null]),
  )
  await damaged(none, async () => {
    const { problems } = await verify(root, { repair: true })
    expect(problems).toMatchObject([{ kind: 'checkpoint', path: '_ckpt/', repairable: false }])
    expect(problems[0]!.what).toMatch(/the log begins with slot \d+, and no checkpoint .* cannot be opened/)
    expect(await failure(connect(root))).toMatchObject({ code: 18 })
  })
})

test('a merged page leaves out records of a dropped table while their slots are still in the log', async () => {
  const path = freshRoot()
  // Packed at once, and trimmed a day later.
  const ns = await connect(path, { maintenance: { keepLogMs: 0 } })
  const dropped = await ns.createTable('dropped', [{ a: 0 }])
  const kept = await ns.createTable('kept', [{ a: 0 }])
  for (let i = 1; i < 40; i++) {
    await (i < 12 ? dropped : kept).add([{ a: i }])
    if (i === 12) await ns.dropTable('dropped')
    if (i % 4 === 0) await ns.optimize()
  }
  await ns.close()
  const files = filesOf(path)
  const { pages } = extraOf((await (await checkpointsIn(path)).newest())!)
  const tables = new Set<string>()
  for (const { name, bytes, ...page } of pages) {
    if (bytes === 0) continue
    for (const [table] of decodePage(files.get(`_hist/${name}`)!, { name, bytes, ...page })) tables.add(table)
  }
  expect([tables.size, files.has(slotKey(1))]).toEqual([1, true])
  expect(await verify(path)).toMatchObject({ ok: true, problems: [] })
})

test('a rebuilt checkpoint names the packs, and is reported', async () => {
  const path = freshRoot()
  // Packed at once, and trimmed a day later.
  const ns = await connect(path, { maintenance: { keepLogMs: 0 } })
  const table = await ns.createTable('t', [{ a: 0 }])
  for (let i = 1; i < 9; i++) {
    await table.add([{ a: i }])
    await ns.optimize()
  }
  await ns.close()
  const checkpoints = await checkpointsIn(path)
  const before = (await checkpoints.newest())!
  expect(packsOf(before).length).toBeGreaterThan(0)
  for (const { key } of await checkpoints.keys()) rmSync(join(path, key))
  const drops = before.state.drops.set('tables/x', { uuid: 'x', slot: 1, ts: 1 })
  await writeCheckpoint(checkpoints, { ...before, state: { ...before.state, drops } }, extraOf(before), null)
  const { ok, repaired } = await verify(path, { repair: true })
  expect([ok, repaired]).toMatchObject([true, [{ kind: 'checkpoint' }]])
  const after = (await checkpoints.newest())!
  expect(packsOf(after)).toEqual(packsOf(before))
  const [name] = readdirSync(join(path, '_ckpt'))
  expect(JSON.parse(filesOf(path).get(`_ckpt/${name}`)!.toString().split('\n')[0]!).need).toContain('packs')
  expect(await verify(path)).toMatchObject({ ok: true, problems: [] })
  const again = await connect(path, { onWarning: message => expect.fail(message) })
  expect(await (await again.openTable('t')).countRows()).toBe(9)
  await again.close()
})

/** Something happens before the listings of the log, the first few times. */
class ListedStore extends WrappedStore {
  left = 0
  readonly #happens: () => Promise<unknown>

  constructor(inner: BlobStore, happens: () => Promise<unknown>) {
    super(inner)
    this.#happens = happens
  }

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
    if (call === 'list' && key === '_log/' && this.left-- > 0) await this.#happens()
    return run()
  }
}

test('while others commit, trim and collect garbage', async () => {
  const store = new MemoryStore('memory://')
  const other = await connect('memory://', { store, maintenance: soon })
  const table = await other.createTable('t', [{ a: 0, b: 'first' }])
  let rounds = 0
  const live = async () => {
    for (let i = 0; i < 3; i++) {
      await table.add(Array.from({ length: 3_000 }, (_, a) => ({ a, b: `row ${a} of ${rounds}` })))
      await table.add([{ a: ++rounds, b: 'alone' }])
      await other.optimize()
    }
  }
  await live()
  const listed = new ListedStore(store, live)
  const ns = await connect('memory://', { store: listed })
  for (let i = 0; i < 3; i++) {
    listed.left = 2
    expect(await ns.verify()).toMatchObject({ ok: true, problems: [], checked: { tables: 1 } })
    // It began again twice, each time with what was then the newest slot.
    expect(listed.left).toBeLessThan(0)
  }
  let isOver = false
  const living = (async () => {
    while (!isOver) await live()
  })()
  for (let i = 0; i < 10; i++) expect((await ns.verify()).problems).toEqual([])
  isOver = true
  await living
  await Promise.all([ns.close(), other.close()])
})
