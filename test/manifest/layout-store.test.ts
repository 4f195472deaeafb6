/**
 * Layouts of any version, found from bases, pages, memory or slots alone, are what folding every change one after the
 * other gives.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Slot } from '../../src/commit/slot.js'
import type { AddedDead, AddedFragment, Change } from '../../src/manifest/change.js'
import { History, type PageInfo } from '../../src/manifest/history.js'
import type { Fragment, Layout } from '../../src/manifest/layout.js'
import { baseKey, basesOf, decodeBase, layoutOfBase } from '../../src/manifest/layout-base.js'
import { LayoutStore } from '../../src/manifest/layout-store.js'
import { crc32, crcHex } from '../../src/primitives/checksum.js'
import { Memory } from '../../src/primitives/memory.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { CountingStore, CrashingStore, Dead } from '../support/stores.js'
import { HandLog } from './slots-of.js'

/** What a random commit does; numbers choose among what there is. */
interface Step {
  readonly table: number
  readonly kind: 'append' | 'delete' | 'overwrite' | 'restore' | 'schema'
  readonly choice: number
  readonly size: number
  /** The version becomes the start of those that follow. */
  readonly starts: boolean
  readonly place: 'slot' | 'entry' | 'op'
}

/** A table as the test knows it. */
interface TableModel {
  readonly uuid: string
  readonly location: string
  readonly layouts: Layout[]
  /** Versions whose base readers look for. */
  readonly starts: number[]
  start: number
}

function newTable(uuid: string): TableModel {
  return { uuid, location: `tables/${uuid}`, layouts: [], starts: [], start: 0 }
}

const fields = [1, 2, 3].map(id => ({ id, name: `f${id}`, type: { kind: 'bool' } as const, nullable: true }))

/** The next change of a table, and the layout after it, worked out without the code under test. */
function nextChange(table: TableModel, step: Omit<Step, 'table' | 'place'>, slot: number) {
  const before = table.layouts.at(-1)
  const v = table.layouts.length + 1
  const { row, frag, field } = before?.next ?? { row: 0, frag: 0, field: 0 }
  const fragments = before?.fragments ?? []
  const { choice, size } = step
  const kind = before === undefined ? 'create' : step.kind
  const add: AddedFragment[] = []
  const dead: AddedDead[] = []
  let drop: number[] = []
  let schema = before === undefined ? { id: 1, fields, metadata: { b: '1', a: 'ä\u2028"\\' } } : null
  let restored: Layout | undefined
  if (kind === 'create' || kind === 'append' || kind === 'overwrite') {
    for (let i = 0; i < (choice % 3) + 1; i++) {
      const rows = size + i
      const file = { file: `${slot}-${frag + i}`, bytes: 100 * rows, crc: 4_000_000_000 + i, fields: [1] }
      const blob = { blob: i, bytes: 8 * rows, fields: [2, 3] }
      const files = [[file, blob], [blob], [file]][(choice + i) % 3]!
      const zones = { 12: ['ä"\u2028', null, rows], 2: [-0.5, 1e300, 0] } as const
      const known = (choice + i) % 2 === 0 && { zones }
      add.push({ id: frag + i, rows, ids: { row0: row + 10 * i }, files, ...known })
    }
  }
  if (kind === 'overwrite') drop = fragments.map(f => f.id)
  if (kind === 'delete') {
    for (const [i, fragment] of fragments.entries()) {
      const alive = fragment.rows - fragment.dead.count
      if ((i + choice) % 2 === 0 && alive > 1)
        dead.push([fragment.id, { blob: i }, Math.min(size, alive - 1)])
      else if ((i + choice) % 5 === 0) drop.push(fragment.id)
    }
  }
  if (kind === 'restore') restored = table.layouts[choice % table.layouts.length]!
  if (kind === 'restore') schema = { ...restored!.schema, id: 100 + v } as never
  if (kind === 'schema') schema = { id: v, fields, metadata: { [`v${v}`]: '' } } as never
  const next = { row: row + 100, frag: frag + add.length, field: field + 1 }
  const change: Change = {
    op: 'change',
    t: table.uuid,
    v,
    base: v - 1,
    start: table.start,
    kind,
    ...(restored && { restore: { version: restored.version, fragments: restored.fragments.length } }),
    add,
    dead,
    drop,
    schema,
    next,
  }
  const parts = new Map(
    dead.map(([id, at, count]) => [id, { slot, blob: (at as { blob: number }).blob, count }]),
  )
  const kept = (restored?.fragments ?? fragments)
    .filter(fragment => !drop.includes(fragment.id))
    .map((fragment): Fragment => {
      const part = parts.get(fragment.id)
      if (part === undefined) return fragment
      const all = [...fragment.dead.parts, { slot: part.slot, blob: part.blob }]
      return { ...fragment, dead: { parts: all, count: fragment.dead.count + part.count } }
    })
  const added = add.map(({ files, ...rest }): Fragment => {
    const own = (schema ?? before!.schema).id
    const placed = files.map(file => ('blob' in file ? { ...file, slot, schema: own } : file))
    return { ...rest, ids: rest.ids as { row0: number }, files: placed, dead: { parts: [], count: 0 } }
  })
  const base = restored ?? before
  const older = base === undefined ? [] : schema === null ? base.earlier : [...base.earlier, base.schema]
  const inline = [...kept, ...added].flatMap(({ files }) =>
    files.flatMap(f => ('slot' in f ? [f.schema] : [])),
  )
  table.layouts.push({
    table: table.uuid,
    version: v,
    schema: schema ?? before!.schema,
    earlier: older.filter(({ id }) => inline.includes(id)),
    fragments: [...kept, ...added],
    indexes: [],
    next,
  })
  if (step.starts) {
    table.start = v
    table.starts.push(v)
  }
  return change
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  table: fc.nat(2),
  kind: fc.constantFrom('append', 'append', 'delete', 'overwrite', 'restore', 'restore', 'schema'),
  choice: fc.nat(30),
  size: fc.integer({ min: 1, max: 4 }),
  starts: fc.boolean(),
  place: fc.constantFrom('slot', 'slot', 'entry', 'op'),
})

/** Everything a root is made of, growing slot by slot. */
class Root {
  readonly store = new MemoryStore()
  readonly log = new HandLog(this.store)
  readonly written: Slot[] = []
  readonly tables = ['b5e8', 'b5', 'c'].map(newTable)
  pages: readonly PageInfo[] = []
  #entries: Change[][] = []

  async add(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.place === 'slot') await this.flush()
      if (step.place !== 'op' || this.#entries.length === 0) this.#entries.push([])
      this.#entries.at(-1)!.push(nextChange(this.tables[step.table]!, step, this.log.head + 1))
    }
  }

  async flush(): Promise<void> {
    if (this.#entries.length === 0) return
    this.written.push(await this.log.append(...this.#entries))
    this.#entries = []
  }

  /** What a process sees that opens now; `store`: through which it reads and writes. */
  open(store = this.store as CountingStore | MemoryStore | CrashingStore, readOnly = false) {
    const history = new History(store, this.pages, this.log.slots())
    for (const slot of this.written.slice(history.sealed)) history.note(slot)
    return {
      history,
      layouts: new LayoutStore(new HandLog(store).slots(), history, store, {
        readOnly,
        memory: new Memory(1 << 28),
      }),
    }
  }
}

/** One table with a version per slot. */
async function rootOf(kinds: readonly Step['kind'][], starts: readonly number[] = []) {
  const root = new Root()
  await root.add(
    kinds.map((kind, i) => ({
      table: 0,
      kind,
      choice: i,
      size: 2,
      starts: starts.includes(i + 1),
      place: 'slot',
    })),
  )
  await root.flush()
  return { root, table: root.tables[0]! }
}

const appends = (count: number): Step['kind'][] => Array(count).fill('append')

type Action =
  | { readonly do: 'commit'; readonly step: Step }
  | { readonly do: 'read' | 'base' | 'lose' | 'break'; readonly table: number; readonly choice: number }
  | { readonly do: 'page'; readonly back: number }
  | { readonly do: 'open'; readonly readOnly: boolean }

const one = <T>(value: T): fc.Arbitrary<T> => fc.constant(value)
const commit = fc.record({ do: one('commit' as const), step: stepArbitrary })
const touch = (kind: 'read' | 'base' | 'lose' | 'break') =>
  fc.record({ do: one(kind), table: fc.nat(2), choice: fc.nat(100) })
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: commit },
  { weight: 2, arbitrary: touch('read') },
  { weight: 3, arbitrary: touch('base') },
  { weight: 1, arbitrary: touch('lose') },
  { weight: 1, arbitrary: touch('break') },
  { weight: 1, arbitrary: fc.record({ do: one('page' as const), back: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ do: one('open' as const), readOnly: fc.boolean() }) },
)

async function replaced(store: MemoryStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key)
  await store.put(key, bytes)
}

/** What is wrong with `text` in place of a base's body, under a checksum that is right. */
function signed(text: string): Uint8Array {
  return Buffer.from(`${text}${crcHex(crc32(Buffer.from(text)))}\n`)
}

describe('manifests of versions', () => {
  test('are the replay of all changes, from any stored manifests, pages and memory', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 80 }), async actions => {
        const root = new Root()
        let process = root.open()
        let noted = 0
        for (const action of actions) {
          if (action.do === 'commit') {
            await root.add([action.step])
            continue
          }
          await root.flush()
          for (const slot of root.written.slice(noted)) process.history.note(slot)
          noted = root.written.length
          if (action.do === 'open') process = root.open(root.store, action.readOnly)
          else if (action.do === 'page') {
            root.pages = await process.history.writePage(
              Math.max(process.history.sealed, noted - action.back),
            )
            process.history.seal(root.pages)
          } else {
            const table = root.tables[action.table]!
            const versions = action.do === 'read' ? table.layouts.map(l => l.version) : table.starts
            if (versions.length === 0) continue
            const version = versions[action.choice % versions.length]!
            const key = baseKey(table.location, version)
            if (action.do === 'base') await process.layouts.writeBase(table, version)
            if (action.do === 'lose') await root.store.delete(key)
            if (action.do === 'break') await replaced(root.store, key, Uint8Array.of(action.choice))
            expect(await process.layouts.at(table, version)).toEqual(table.layouts[version - 1])
          }
        }
        await root.flush()
        for (const readOnly of [true, false]) {
          for (const table of root.tables) {
            const fresh = root.open(root.store, readOnly)
            for (let v = table.layouts.length; v > 0; v -= 2) {
              expect(await fresh.layouts.at(table, v)).toEqual(table.layouts[v - 1])
            }
            for (const layout of table.layouts) {
              expect(await root.open(root.store, readOnly).layouts.at(table, layout.version)).toEqual(layout)
            }
          }
        }
      }),
      { numRuns: 150 },
    )
  })

  test('of 600 appends in one slot are each found', async () => {
    const root = new Root()
    const step = { table: 0, kind: 'append', choice: 0, size: 1, starts: false } as const
    await root.add(Array.from({ length: 600 }, (_, i) => ({ ...step, place: i % 2 === 0 ? 'entry' : 'op' })))
    await root.flush()
    expect(root.written).toHaveLength(1)
    const table = root.tables[0]!
    const { layouts } = root.open()
    for (const v of [600, 1, 299, 300, 599]) expect(await layouts.at(table, v)).toEqual(table.layouts[v - 1])
  })

  test('are found from stored differences, and a lost one is written again', async () => {
    const kinds = Array.from({ length: 21 * 64 + 5 }, (_, i): Step['kind'] => {
      return i % 50 === 49 ? 'delete' : i % 333 === 332 ? 'restore' : 'append'
    })
    const starts = Array.from({ length: 21 }, (_, i) => 64 * (i + 1))
    const { root, table } = await rootOf(kinds, starts)
    const { layouts } = root.open()
    for (const version of starts) await layouts.writeBase(table, version)
    const last = kinds.length
    const store = new CountingStore(root.store)
    expect(await root.open(store).layouts.at(table, last)).toEqual(table.layouts[last - 1])
    // Three stored manifests, and the slots of the five changes after them.
    expect(store.reads).toBe(3 + 5)
    for (const lost of basesOf(21 * 64)) {
      const key = baseKey(table.location, lost)
      const bytes = await root.store.get(key)
      await root.store.delete(key)
      expect(await root.open().layouts.at(table, last)).toEqual(table.layouts[last - 1])
      expect(await root.store.get(key)).toEqual(bytes)
      await replaced(root.store, key, bytes!.subarray(0, -20))
      await root.open().layouts.ensureBase(table, 21 * 64)
      expect(await root.store.get(key)).toEqual(bytes)
    }
  })

  test('are found without the history if the state has the slots of the changes', async () => {
    const { root, table } = await rootOf([...appends(70), 'delete', 'append'], [64])
    const { layouts } = root.open()
    await layouts.writeBase(table, 64)
    const noHistory = new History(root.store, [], root.log.slots())
    const fresh = () =>
      new LayoutStore(root.log.slots(), noHistory, root.store, {
        readOnly: true,
        memory: new Memory(1 << 28),
      })
    const slots = root.written.map(({ header }) => header.slot)
    const head = { uuid: table.uuid, location: table.location, start: 64, mark: 72, changes: slots.slice(64) }
    for (const version of [72, 70, 65]) {
      expect(await fresh().at(head, version)).toEqual(table.layouts[version - 1])
    }
    await expect(fresh().at({ ...head, changes: [] }, 72)).rejects.toThrow('removed from the history')
    expect(await fresh().at(head, 64)).toEqual(table.layouts[63])
  })

  test('through restores of restores are found without deep recursion', async () => {
    const { root, table } = await rootOf(appends(1))
    for (let i = 0; i < 3000; i++) {
      await root.add([{ table: 0, kind: 'restore', choice: i, size: 1, starts: i % 64 === 0, place: 'slot' }])
    }
    await root.flush()
    const store = new CountingStore(root.store)
    const { layouts } = root.open(store)
    expect(await layouts.at(table, 3001)).toEqual(table.layouts[3000])
  })

  test('begin with the restored version, with any changes in between', async () => {
    const { root, table } = await rootOf(appends(50))
    await root.add([{ table: 0, kind: 'restore', choice: 4, size: 1, starts: false, place: 'slot' }])
    await root.flush()
    const store = new CountingStore(root.store)
    expect(await root.open(store).layouts.at(table, 51)).toEqual(table.layouts[50])
    // Slots 51 and 1 to 5.
    expect(store.calls).toEqual(new Map([['get', 6]]))
  })

  test('of the newest version cost one slot once the previous one is known', async () => {
    const { root, table } = await rootOf(appends(30))
    const store = new CountingStore(root.store)
    const { layouts } = root.open(store)
    await layouts.at(table, 29)
    store.reset()
    const [a, b] = await Promise.all([layouts.at(table, 30), layouts.at(table, 30)])
    expect(a).toBe(b)
    expect(await layouts.at(table, 30)).toBe(a)
    expect(a.fragments[0]).toBe((await layouts.at(table, 29)).fragments[0])
    expect(store.calls).toEqual(new Map([['get', 1]]))
  })

  test('can be aborted by one waiting caller, and the others get them', async () => {
    const { root, table } = await rootOf(appends(30))
    const { layouts } = root.open()
    const reason = new Error('enough')
    const leaving = new AbortController()
    const first = layouts.at(table, 30, leaving.signal)
    const second = layouts.at(table, 30)
    const third = layouts.at(table, 30, leaving.signal)
    leaving.abort(reason)
    await expect(first).rejects.toBe(reason)
    await expect(third).rejects.toBe(reason)
    expect(await second).toEqual(table.layouts[29])
    await expect(layouts.at(table, 30, leaving.signal)).rejects.toBe(reason)
  })

  test('of versions that never existed break an invariant', async () => {
    const { root, table } = await rootOf(appends(2))
    await expect(root.open().layouts.at(table, 3)).rejects.toMatchObject({ code: 18 })
    await expect(root.open().layouts.at({ ...table, uuid: 'other' }, 1)).rejects.toMatchObject({ code: 18 })
  })

  test('are evicted, oldest first, when they take too much memory', async () => {
    const files = [{ blob: 0, bytes: 8, fields: [1] }]
    const root = new Root()
    const fragments = Array.from({ length: 50_000 }, (_, id) => ({ id, rows: 1, ids: { row0: id }, files }))
    const change = (v: number, add: readonly AddedFragment[]): Change => ({
      ...nextChange(newTable('t'), { kind: 'append', choice: 0, size: 1, starts: false }, 1),
      ...{ t: 'wide', v, base: v - 1, add },
    })
    root.written.push(await root.log.append([change(1, fragments)]))
    for (let v = 2; v <= 6; v++) root.written.push(await root.log.append([change(v, [])]))
    const store = new CountingStore(root.store)
    const { layouts } = root.open(store)
    const table = { uuid: 'wide', location: 'tables/wide' }
    for (let v = 1; v <= 6; v++) await layouts.at(table, v)
    const newest = await layouts.at(table, 6)
    expect(await layouts.at(table, 6)).toBe(newest)
    const first = await layouts.at(table, 1)
    expect(first.fragments[0]).not.toBe(newest.fragments[0])
    expect(first.fragments).toHaveLength(50_000)
  })
})

describe('stored manifests', () => {
  test('are where the replay begins, and only later slots are read', async () => {
    const { root, table } = await rootOf(appends(40), [10, 20, 30])
    const store = new CountingStore(root.store)
    await root.open(store).layouts.writeBase(table, 30)
    store.reset()
    expect(await root.open(store).layouts.at(table, 37)).toEqual(table.layouts[36])
    // The base, slots 31 to 37.
    expect(store.calls).toEqual(new Map([['get', 8]]))
    store.reset()
    // The newest version has a base itself.
    expect(await root.open(store).layouts.at(table, 30)).toEqual(table.layouts[29])
    expect(store.calls).toEqual(new Map([['get', 1]]))
    store.reset()
    await root.store.delete(baseKey(table.location, 10))
    await root.store.delete(baseKey(table.location, 20))
    const { uuid, location } = table
    expect(await root.open(store).layouts.at({ uuid, location }, 30)).toEqual(table.layouts[29])
    // No base of 20, none of 10: slots 1 to 30. Then there is one of 20.
    expect(store.calls).toEqual(
      new Map([
        ['get', 32],
        ['putIfAbsent', 1],
      ]),
    )
    store.reset()
    expect(await root.open(store).layouts.at(table, 25)).toEqual(table.layouts[24])
    expect(store.calls).toEqual(new Map([['get', 6]]))
  })

  test('have the same bytes from any writer and any replay', async () => {
    const kinds: Step['kind'][] = [
      'append',
      'delete',
      'restore',
      'append',
      'delete',
      'schema',
      'delete',
      'append',
    ]
    const { root, table } = await rootOf(kinds, [3, 6])
    const key = baseKey(table.location, 8)
    expect(key).toBe('tables/b5e8/_versions/18446744073709551607.manifest')
    await root.open().layouts.writeBase(table, 8)
    const fromNothing = (await root.store.get(key))!
    await root.open().layouts.writeBase(table, 6)
    await root.store.delete(key)
    await root.open().layouts.writeBase(table, 8)
    expect(await root.store.get(key)).toEqual(fromNothing)
    const { layouts } = root.open()
    for (const { version } of table.layouts) await layouts.at(table, version)
    await root.store.delete(key)
    await Promise.all([layouts.writeBase(table, 8), root.open().layouts.writeBase(table, 8)])
    expect(await root.store.get(key)).toEqual(fromNothing)
    const lines = Buffer.from(fromNothing).toString().split('\n')
    const parsed = JSON.parse(lines.slice(0, -2).join('\n'))
    const decoded = await decodeBase(fromNothing, table.uuid, 8, key, new Pacer())
    expect(layoutOfBase(decoded, null, key).fragments).toEqual(table.layouts[7]!.fragments)
    expect(lines).toHaveLength(parsed.frags.length + 4)
  })

  test('with a missing or changed byte are skipped and written again', async () => {
    const { root, table } = await rootOf(['append', 'delete', 'append', 'append'], [3])
    const key = baseKey(table.location, 3)
    await root.open().layouts.writeBase(table, 3)
    const whole = (await root.store.get(key))!
    const begin = '{"f":1,'.length
    const damages = Array.from(whole, (byte, at) => whole.with(at, byte ^ (1 << (at % 8)))).slice(begin)
    for (let length = begin; length < whole.length; length += 5) damages.push(whole.slice(0, length))
    damages.push(new Uint8Array(0))
    for (const damaged of damages) {
      await replaced(root.store, key, damaged)
      expect(await root.open(root.store, true).layouts.at(table, 4)).toEqual(table.layouts[3])
      expect(Buffer.compare((await root.store.get(key))!, damaged)).toBe(0)
      expect(await root.open().layouts.at(table, 4)).toEqual(table.layouts[3])
      expect(Buffer.compare((await root.store.get(key))!, whole)).toBe(0)
    }
  })

  test('of another shape, version or table are skipped, with any checksum', async () => {
    const { root, table } = await rootOf(['append', 'append'], [1])
    const key = baseKey(table.location, 1)
    await root.open().layouts.writeBase(table, 1)
    const text = Buffer.from((await root.store.get(key))!)
      .toString()
      .slice(0, -9)
    const bad: readonly (readonly [string, string])[] = [
      ['"v":1', '"v":2'],
      ['"t":"b5e8"', '"t":"b5e9"'],
      ['"rows":', '"rows":-'],
      ['"row0":0', '"row0":0.5'],
      ['"ids":{', '"ids":[{'],
      ['"ids":{"row0":0}', '"ids":null'],
      ['"parts":[]', '"parts":{}'],
      ['"count":0', '"count":"0"'],
      ['"parts":[]', '"parts":[{"slot":1}]'],
      ['"files":[', '"files":[7,'],
      ['"zones":{', '"zones":0,"x":{'],
      ['"fields":[1]', '"fields":["1"]'],
      ['"schema":{', '"schema":{"id":null},"x":{'],
      ['"next":{"row"', '"next":{"rows"'],
      ['"frags":[', '"frags":7'],
      ['{"f":1,', '{"f":1,,'],
      ['\n]}\n', '\n'],
    ]
    for (const [part, other] of bad) {
      const wrong = signed(text.replace(part, other))
      expect(wrong).not.toEqual(signed(text))
      await replaced(root.store, key, wrong)
      expect(await root.open().layouts.at(table, 2), other).toEqual(table.layouts[1])
      expect(Buffer.from((await root.store.get(key))!), other).toEqual(signed(text))
    }
  })

  test('of a newer Sheaf, and files of other programs, are skipped and left alone', async () => {
    const { root, table } = await rootOf(['append', 'append'], [1])
    const key = baseKey(table.location, 1)
    await root.open().layouts.writeBase(table, 1)
    const text = Buffer.from((await root.store.get(key))!)
      .toString()
      .slice(0, -9)
    const others = [
      signed(text.replace('"f":1', '"f":2')),
      signed(text.replace('"need":[]', '"need":["moon"]')),
      Uint8Array.of(7, 0, 0, 0, ...Buffer.from('a manifest of somebody elseLANC')),
      Uint8Array.of(0x7b),
    ]
    for (const other of others) {
      await replaced(root.store, key, other)
      const { layouts } = root.open()
      expect(await layouts.at(table, 2)).toEqual(table.layouts[1])
      await layouts.writeBase(table, 1)
      expect(Buffer.compare((await root.store.get(key))!, other)).toBe(0)
    }
  })

  test('are never written to a root that is read-only', async () => {
    const { root, table } = await rootOf(appends(3), [1, 2])
    const store = new CountingStore(root.store)
    const { layouts } = root.open(store, true)
    await layouts.writeBase(table, 2)
    expect(await layouts.at(table, 3)).toEqual(table.layouts[2])
    expect([...store.calls.keys()]).toEqual(['get'])
  })

  test('may be lost in a crash at any moment', async () => {
    const { root, table } = await rootOf(['append', 'append', 'delete', 'append', 'append'], [2, 4])
    for (let survives = 0, dead = true; dead; survives++) {
      for (const lastLands of [false, true]) {
        for (const version of [2, 4]) await root.store.delete(baseKey(table.location, version))
        const store = new CrashingStore(root.store, survives, lastLands)
        const { layouts } = root.open(store)
        const work = async () => {
          await layouts.writeBase(table, 4)
          return layouts.at(table, 5)
        }
        const outcome = await work().catch(error => error)
        dead = store.dead
        if (dead) expect(outcome instanceof Dead || outcome.version === 5).toBe(true)
        for (let v = 1; v <= 5; v++) {
          expect(await root.open(root.store, true).layouts.at(table, v)).toEqual(table.layouts[v - 1])
        }
        await root.open().layouts.writeBase(table, 4)
        expect(await root.open().layouts.at(table, 5)).toEqual(table.layouts[4])
      }
    }
  })
})
