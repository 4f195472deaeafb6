/** Whatever is damaged in a root is named, nothing else is, and what the log can make again is made again. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { Namespace } from '../../src/client/namespace.js'
import { Checkpoints } from '../../src/commit/checkpoints.js'
import { decodeSlot, encodeSlot } from '../../src/commit/slot.js'
import { bindOperations } from '../../src/engine/handlers.js'
import { OpenedRoot } from '../../src/engine/opened-root.js'
import { verifyOpen } from '../../src/engine/verify.js'
import { connect, type Problem, verify } from '../../src/index.js'
import type { Change } from '../../src/manifest/change.js'
import { baseKey, decodeBase, encodeBase, layoutOfBase } from '../../src/manifest/layout-base.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { damaged as damagedIn, filesOf, flipped } from '../support/damage.js'
import { failure } from '../support/failure.js'
import { manifestOf, stage } from '../support/lance.js'
import { temporaryRoots } from '../support/roots.js'
import { withoutTails } from '../support/stores.js'

const freshRoot = temporaryRoots()
const root = freshRoot()
/** Every file of the root, and its bytes. */
const sound = new Map<string, Buffer>()

const kinds: readonly (readonly [RegExp, Problem['kind']])[] = [
  [/^_log\//, 'slot'],
  [/^_ckpt\//, 'checkpoint'],
  [/^_hist\//, 'page'],
  [/\/data\/|\/rows\//, 'data'],
  [/^own\/.*_versions\//, 'manifest'],
  [/_versions\//, 'layout'],
]
const kindOf = (key: string) => kinds.find(([pattern]) => pattern.test(key))![1]

beforeAll(async () => {
  const store = await withoutTails(root)
  const ns = await connect(root, { store, maintenance: { compact: false } })
  const large = await ns.createTable(
    'large',
    Array.from({ length: 70_000 }, (_, id) => ({ id, text: `text ${id % 7}` })),
  )
  // Ids and offsets that are too many for a slot.
  await large.update({ text: 'even' }, 'id % 2 = 0')
  await large.delete('id < 5')
  const many = await ns.createTable('many', [{ a: 0 }])
  for (let i = 1; i < 70; i++) await many.add([{ a: i }])
  await many.restore(3)
  await ns.createView('view', { source: 'many', where: 'a > 1' })
  const { location } = await ns.operations.declareTable({ id: ['lance'], location: 'own/lance' })
  for (const version of [1, 2]) {
    const { manifest_path } = await stage(store, location, version)
    await ns.operations.createTableVersion({ id: ['lance'], version, manifest_path })
  }
  await ns.createTable('gone', [{ a: 1 }])
  await ns.operations.deregisterTable({ id: ['gone'] })
  await ns.optimize()
  await many.add([{ a: 100 }])
  await ns.close()
  for (const [key, bytes] of filesOf(root)) sound.set(key, bytes)
})

const damaged = <T>(keys: Readonly<Record<string, Uint8Array | null>>, look: () => Promise<T>) =>
  damagedIn(root, sound, keys, look)

test('a sound root has no problems, and everything was checked', async () => {
  const seen: string[] = []
  const { ok, problems, unreferenced, checked } = await verify(root, {
    onProgress: ({ phase }) => seen.push(phase),
  })
  expect([ok, problems, unreferenced]).toEqual([true, [], []])
  const bytes = [...sound.values()].reduce((sum, { length }) => sum + length, 0)
  const found = new Set([...sound.keys()].map(kindOf))
  expect([...found].sort()).toEqual(['checkpoint', 'data', 'layout', 'manifest', 'page', 'slot'])
  expect(checked).toMatchObject({ tables: 5, bytes })
  expect(checked.slots + checked.files).toBe(sound.size)
  expect([...new Set(seen)]).toEqual(['log', 'history', 'tables'])
})

test.each(readdirSync('test/golden').filter(name => name.startsWith('format-')))(
  'the golden root %s is sound',
  async name => {
    expect((await verify(`test/golden/${name}/root`)).problems).toEqual([])
  },
)

test('a version that a Lance engine wrote, and that is not recorded yet, is reported', async () => {
  const key = 'own/lance/_versions/18446744073709551612.manifest'
  const { problems, unreferenced } = await damaged({ [key]: manifestOf('foreign') }, () => verify(root))
  expect(problems).toMatchObject([
    { kind: 'manifest', path: key, what: expect.stringContaining('version 3') },
  ])
  expect(unreferenced).toEqual([])
})

/** The last slot may be missing: then nothing says that it ever was. */
const withoutLastSlot = () => [...sound.keys()].filter(key => key !== lastSlot()).sort()
const lastSlot = () =>
  [...sound.keys()]
    .filter(key => key.startsWith('_log/'))
    .sort()
    .at(-1)!
/** Files that are made when they are needed. */
const mayBeMissing = (key: string) => kindOf(key) === 'checkpoint' || kindOf(key) === 'layout'
const isOld = (key: string) => kindOf(key) === 'manifest' && key.endsWith('18446744073709551614.manifest')

describe('one file is damaged:', () => {
  const oneOfEach = (...more: string[]) => {
    const keys = withoutLastSlot()
    const slots = keys.filter(key => kindOf(key) === 'slot')
    const others = keys.filter(key => kindOf(key) !== 'slot')
    return [...others, slots[0]!, slots[1]!, slots[Math.floor(slots.length / 2)]!, slots.at(-1)!, ...more]
  }

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['a bit flipped in the middle', bytes => flipped(bytes, bytes.length >>> 1)],
    ['cut short', bytes => bytes.subarray(0, bytes.length - 7)],
  ])('%s', async (_, damage) => {
    for (const key of oneOfEach(lastSlot())) {
      const { ok, problems } = await damaged({ [key]: damage(sound.get(key)!) }, () => verify(root))
      expect([key, ok]).toEqual([key, false])
      expect(problems.filter(problem => problem.path === key)).toMatchObject([
        { kind: kindOf(key), path: key, what: expect.any(String) },
      ])
      if (kindOf(key) !== 'slot') expect(problems).toHaveLength(1)
    }
  })

  test('missing', async () => {
    for (const key of oneOfEach()) {
      const { problems } = await damaged({ [key]: null }, () => verify(root))
      const expected = mayBeMissing(key) || isOld(key) ? [] : [key]
      expect(problems.filter(({ path }) => path === key).map(({ path }) => path)).toEqual(expected)
      if (expected.length === 0) expect(problems).toEqual([])
    }
  })

  test('any bit', async () => {
    const place = fc.tuple(fc.constantFrom(...withoutLastSlot()), fc.nat())
    await fc.assert(
      fc.asyncProperty(place, async ([key, at]) => {
        const bytes = sound.get(key)!
        const { problems } = await damaged({ [key]: flipped(bytes, at % bytes.length) }, () => verify(root))
        expect(problems.map(({ path }) => path)).toContain(key)
      }),
      { numRuns: 12 },
    )
  })
})

describe('bytes under no checksum:', () => {
  const column = Array.from({ length: 20_000 }, (_, id) => id)
  const files = new Map<string, Buffer>()
  const path = freshRoot()

  beforeAll(async () => {
    const ns = await connect(path, { maintenance: { compact: false } })
    const table = await ns.createTable(
      't',
      column.map(id => ({ id, word: `word ${id % 9}`, vector: new Float32Array([id, id % 3, 1]) })),
    )
    await table.createIndex('id', { type: 'BTREE' })
    await table.createIndex('word', { type: 'FTS' })
    await table.createIndex('vector', { type: 'IVF_PQ', partitions: 4, subVectors: 1 })
    for (const index of ['id_idx', 'word_idx', 'vector_idx']) await table.waitForIndex(index)
    await ns.close()
    for (const [key, bytes] of filesOf(path)) if (/\/(data|indexes)\//.test(key)) files.set(key, bytes)
  })

  test('the head, and the zeros behind each column or section, of every data and index file', async () => {
    expect(files.size).toBe(4)
    for (const [key, bytes] of files) {
      const magic = bytes.subarray(-8).toString('latin1')
      const zeros = zerosIn(bytes)
      expect([magic, zeros.length > 2]).toEqual([expect.stringMatching(/ARROW1$|SHEAFIVF/), true])
      for (const at of [0, 3, 9, 70, ...zeros]) {
        const { ok, problems } = await damagedIn(path, files, { [key]: flipped(bytes, at) }, () =>
          verify(path),
        )
        expect([key, at, ok]).toEqual([key, at, false])
        expect(problems.map(problem => problem.path)).toContain(key)
      }
    }
  })

  /** Some places at which a file is filled up with zeros to a multiple of 64. */
  function zerosIn(bytes: Buffer): readonly number[] {
    const places: number[] = []
    for (let at = 63; at < bytes.length && places.length < 3; at += 64) {
      if (bytes[at] === 0 && bytes.readUInt32LE(at - 3) === 0) places.push(at)
    }
    return places
  }
})

describe('unreferenced files', () => {
  test('are listed, not problems; heartbeats and temporary files are not listed', async () => {
    const foreign = ['notes.txt', 'tables/mine', '_hist/notes', '_ckpt/notes']
    const passing = ['_tmp/x', '_pins/x-1', '_jobs/x-1-1']
    for (const folder of ['_tmp', '_pins', '_jobs']) mkdirSync(join(root, folder), { recursive: true })
    const added = Object.fromEntries([...foreign, ...passing].map(key => [key, Buffer.from('x')]))
    const { ok, problems, unreferenced } = await damaged(added, () => verify(root))
    expect([ok, problems]).toEqual([true, []])
    expect(unreferenced).toEqual(foreign.sort())
  })
})

test('a stored manifest in the place of another is named, and rebuilt', async () => {
  const layouts = [...sound.keys()].filter(key => kindOf(key) === 'layout')
  const ns = await connect(root, { maintenance: { compact: false } })
  await ns.close()
  const [one] = layouts
  const other = one!.replace(/[^/]*$/, name =>
    name.replace(/\d(?=\.manifest$)/, digit => String((Number(digit) + 1) % 10)),
  )
  const swapped = { [other]: sound.get(one!)! }
  const { problems } = await damaged(swapped, () => verify(root))
  expect(problems).toMatchObject([{ kind: 'layout', path: other, repairable: true }])
})

test('a folder in the place of a page is not reported as repaired', async () => {
  const page = [...sound.keys()].find(key => kindOf(key) === 'page')!
  await damaged({ [page]: null }, async () => {
    mkdirSync(join(root, page))
    try {
      const { ok, problems, repaired } = await verify(root, { repair: true })
      expect([ok, repaired]).toEqual([false, []])
      expect(problems).toMatchObject([{ kind: 'page', path: page, repairable: false }])
    } finally {
      rmSync(join(root, page), { recursive: true })
    }
  })
})

test('files derived from the log are rebuilt; the log and data stay untouched', async () => {
  const keys = [...sound.keys()].filter(key => ['checkpoint', 'page', 'layout'].includes(kindOf(key)))
  expect(keys.length).toBeGreaterThanOrEqual(3)
  const broken = Object.fromEntries(keys.map(key => [key, flipped(sound.get(key)!, 20)]))
  const isPage = (key: string) => kindOf(key) === 'page'
  // Without a checkpoint nobody knows the pages, so those are for a second look.
  const pages = Object.fromEntries(Object.entries(broken).filter(([key]) => isPage(key)))
  for (const damage of [pages, broken]) {
    await damaged({ ...damage, '_ckpt/none': null }, async () => {
      const first = await verify(root)
      expect(first.problems.every(({ repairable }) => repairable)).toBe(true)
      const { ok, problems, repaired } = await verify(root, { repair: true })
      expect([ok, problems]).toEqual([true, []])
      expect(repaired).toEqual(first.problems)
      expect(await verify(root)).toMatchObject({ ok: true, problems: [] })
      const ns = await connect(root, { readOnly: true, onWarning: message => expect.fail(message) })
      expect(await (await ns.openTable('many')).countRows()).toBe(4)
      await ns.close()
    })
    for (const name of readdirSync(join(root, '_ckpt'))) {
      if (!sound.has(`_ckpt/${name}`)) rmSync(join(root, '_ckpt', name))
    }
  }
  const data = [...sound.keys()].filter(key => kindOf(key) === 'data').map(key => [key, Buffer.alloc(9)])
  await damaged(Object.fromEntries(data), async () => {
    const { problems, repaired } = await verify(root, { repair: true })
    expect([problems.length, repaired]).toEqual([data.length, []])
    for (const [key] of data) expect(readFileSync(join(root, key as string))).toHaveLength(9)
  })
})

test('intact slots that do not follow each other are reported', async () => {
  const key = lastSlot()
  const number = Number(key.slice('_log/'.length))
  const { header } = decodeSlot(sound.get(key)!, number, catalogMachine.features)
  const entries = header.entries.map(entry => JSON.stringify(entry))
  const blobs = header.blobs.map((_, i) =>
    decodeSlot(sound.get(key)!, number, catalogMachine.features).blob(i),
  )
  for (const [more, what] of [
    [{ prev: '00000000' }, /does not follow/],
    [{ ts: 7 }, /time/],
  ] as const) {
    const { bytes } = encodeSlot({ ...header, ...more }, entries, blobs)
    const { problems } = await damaged({ [key]: bytes }, () => verify(root))
    expect(problems).toMatchObject([{ kind: 'slot', path: key, what: expect.stringMatching(what) }])
  }
  const foreign = await damaged({ '_log/copy of 7': Buffer.from('x') }, () => verify(root))
  expect(foreign.problems).toMatchObject([{ kind: 'slot', path: '_log/copy of 7' }])
})

test('an intact checkpoint and stored manifest with wrong content are reported', async () => {
  const store = await FileStore.open(root, { create: false, readOnly: false })
  const checkpoints = new Checkpoints(store, catalogMachine, systemClock)
  const { extra, ...fold } = (await checkpoints.newest())!
  const [name] = readdirSync(join(root, '_ckpt'))
  const key = `_ckpt/${name}`
  const state = { ...fold.state, drops: fold.state.drops.set('tables/x', { uuid: 'x', slot: 1, ts: 1 }) }
  await damaged({ [key]: null }, async () => {
    await checkpoints.write({ ...fold, state }, extra)
    const { problems } = await verify(root)
    expect(problems).toMatchObject([{ kind: 'checkpoint', repairable: true }])
    expect(problems[0]!.what).toMatch(/its state has the checksum/)
    rmSync(join(root, problems[0]!.path))
  })
  const base = [...sound.keys()].find(each => kindOf(each) === 'layout')!
  const [, location] = /^(.*)\/_versions/.exec(base)!
  const pacer = new Pacer()
  const part = await decodeBase(sound.get(base)!, location!.slice('tables/'.length), 64, base, pacer)
  expect(base).toBe(baseKey(location!, 64))
  const layout = layoutOfBase(part, null, base)
  const other = await encodeBase({ ...layout, fragments: layout.fragments.slice(1) }, null, pacer)
  const { problems } = await damaged({ [base]: other }, () => verify(root))
  expect(problems).toMatchObject([{ kind: 'layout', path: base, repairable: true }])
})

describe('numbers that do not add up:', () => {
  const settings = {
    location: 'memory://',
    create: true,
    readOnly: false,
    cacheBytes: 1e6,
    clock: systemClock,
    warn: (message: string) => expect.fail(message),
    keep: resolveMaintenance({}),
    report: () => {},
  }
  const file = { blob: 0, bytes: 0, fields: [0] }
  const offset = (row: number) => Buffer.from(Uint32Array.of(row).buffer)

  test.each<[string, object, (blob: Uint8Array) => Uint8Array[], RegExp]>([
    ['a row dies twice', { dead: [[0, { blob: 0 }, 1]] }, () => [offset(1)], /deleted twice/],
    ['more die than are told', { dead: [[0, { blob: 0 }, 0]] }, () => [offset(2)], /deleted rows/],
    ['a row beyond the last one dies', { dead: [[0, { blob: 0 }, 1]] }, () => [offset(9)], /beyond/],
    [
      'two rows have one id',
      { add: [{ id: 1, rows: 3, ids: { row0: 2 }, files: [file] }] },
      blob => [blob],
      /two live rows have the id 2/,
    ],
    [
      'a row has an id that is not given',
      { add: [{ id: 1, rows: 3, ids: { row0: 8 }, files: [file] }] },
      blob => [blob],
      /row id 10/,
    ],
    [
      'a fragment is not as long as its rows',
      { add: [{ id: 1, rows: 2, ids: { row0: 3 }, files: [file] }] },
      blob => [blob],
      /3 rows, but must have 2/,
    ],
  ])('%s', async (_, change, blobsOf, what) => {
    const engine = await OpenedRoot.open(new MemoryStore('memory://'), settings)
    const ns = new Namespace(bindOperations(engine), () => engine.close())
    const table = await ns.createTable('t', [{ a: 1 }, { a: 2 }, { a: 3 }])
    await table.delete('a = 2')
    const [uuid, head] = [...engine.root.state.tables][0]!
    const rows = (await engine.versions.slots.get(1)).blob(0)
    await engine.root.commit(() => ({
      ops: [
        {
          op: 'change',
          t: uuid,
          v: 3,
          base: 2,
          start: 0,
          kind: 'append',
          add: [],
          dead: [],
          drop: [],
          schema: null,
          next: { ...head.next, row: 6, frag: 2 },
          ...change,
        } as Change,
      ],
      blobs: blobsOf(rows),
    }))
    const { problems } = await verifyOpen(engine, {})
    expect(problems.length).toBeGreaterThan(0)
    for (const problem of problems) expect(problem).toMatchObject({ kind: 'rows', repairable: false })
    expect(problems.map(problem => problem.what).join()).toMatch(what)
    await ns.close()
  })
})

test('while others write; read-only; until the signal', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ a: 1 }])
  let isOver = false
  const writing = (async () => {
    for (let i = 0; !isOver; i++) {
      await table.add([{ a: i }])
      if (i % 7 === 0) await table.delete('a % 2 = 0')
    }
  })()
  for (let i = 0; i < 5; i++) expect((await ns.verify()).problems).toEqual([])
  isOver = true
  await writing
  await ns.close()

  const reader = await connect(root, { readOnly: true })
  expect(await reader.verify()).toMatchObject({ ok: true })
  expect(await failure(reader.verify({ repair: true }))).toMatchObject({ code: 15 })
  expect(await failure(reader.verify({ signal: AbortSignal.abort(new Error('enough')) }))).toMatchObject({
    message: 'enough',
  })
  const stop = new AbortController()
  const onProgress = () => stop.abort(new Error('enough'))
  await expect(reader.verify({ signal: stop.signal, onProgress })).rejects.toThrow('enough')
  await reader.close()
  expect(await failure(verify(join(root, 'no')))).toMatchObject({ code: 1 })
})
