/** Records of versions: what is found in memory and in pages is what the slots say, whoever wrote the pages. */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Slot } from '../../src/commit/slot.js'
import type { Change } from '../../src/manifest/change.js'
import { History, type PageInfo } from '../../src/manifest/history.js'
import type { VersionRecord } from '../../src/manifest/version.js'
import { systemClock } from '../../src/primitives/clock.js'
import { manifestName } from '../../src/protocol/manifest-name.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { emptyChange } from '../support/catalog.js'
import { SeededClock } from '../support/clock.js'
import { CountingStore, CrashingStore, Dead, FaultyStore } from '../support/stores.js'
import { firstTs, HandLog, type Op, txnOf } from './slots-of.js'

const change = (t: string, v: number, start = 0): Change => emptyChange(t, v, { start })

/** A history with slots to note, and what it must answer. */
async function rootOf(slots: readonly (readonly (readonly Op[])[])[]) {
  const store = new MemoryStore()
  const log = new HandLog(store)
  const written: Slot[] = []
  for (const entries of slots) written.push(await log.append(...entries))
  return { store, log, written }
}

/** As many slots as asked for, each the next version of table t. */
function appends(count: number): Op[][][] {
  return Array.from({ length: count }, (_, i) => [[change('t', i + 1)]])
}

/** The pages of some slots, each up to one of `ends`. */
async function pagesUpTo(store: MemoryStore, written: readonly Slot[], ends: readonly number[]) {
  const history = new History(store)
  for (const slot of written) history.note(slot)
  let pages: readonly PageInfo[] = []
  for (const to of ends) {
    pages = await history.writePage(to)
    history.seal(pages)
  }
  return pages
}

describe('records', () => {
  test('are those of changes, versions and registered tables', async () => {
    const manifest = {
      path: 'elsewhere',
      scheme: 'V1',
      size: 5,
      crc: 7,
      etag: 'e',
      meta: { a: 'ä\n' },
    } as const
    const { store, written } = await rootOf([
      [[{ op: 'namespace' }]],
      [[change('t', 1), change('u', 1)], [change('t', 2)]],
      [[{ op: 'version', t: 'p', v: 7, kind: 'pointer', manifest }]],
      [
        [{ op: 'namespace' }],
        [
          {
            op: 'register',
            t: 'r',
            id: ['r'],
            location: 'lake/r',
            props: {},
            scheme: 'V2',
            versions: [
              [3, 100],
              [9, 200],
            ],
          },
        ],
      ],
    ])
    const at = (slot: number, entry: number) => ({ slot, entry, ts: firstTs + slot, txn: txnOf(slot, entry) })
    const found = (version: number, size: number): VersionRecord => {
      const path = `lake/r/_versions/${manifestName(version, 'V2')}`
      return { version, ...at(4, 1), kind: 'register', manifest: { path, scheme: 'V2', size, meta: {} } }
    }
    const noted = new History(store)
    for (const slot of written) noted.note(slot)
    for (const history of [noted, new History(store, await pagesUpTo(store, written, [4]))]) {
      expect(await history.range('t', 1, 2)).toEqual([
        { version: 1, ...at(2, 0), kind: 'create', start: 0 },
        { version: 2, ...at(2, 1), kind: 'append', start: 0 },
      ])
      expect(await history.find('u', 1)).toEqual({ version: 1, ...at(2, 0), kind: 'create', start: 0 })
      expect(await history.find('p', 7)).toEqual({ version: 7, ...at(3, 0), kind: 'pointer', manifest })
      expect(await history.range('r', 1, 100)).toEqual([found(3, 100), found(9, 200)])
      expect(await history.find('r', 4)).toBeNull()
      expect(await history.find('nobody', 1)).toBeNull()
    }
  })

  test('are the same for any pages, any process and any order of reads', async () => {
    const step = fc.record({
      table: fc.constantFrom('a', 'b', '\u{1f33e}', 'b5e8a1d0-0000-4000-8000-000000000001', 'b5'),
      skip: fc.integer({ min: 1, max: 3 }),
      /** Where it goes: the same entry as the one before, a new entry, a new slot. */
      place: fc.constantFrom('entry', 'slot', 'slot', 'op'),
      page: fc.integer({ min: 0, max: 9 }),
      fresh: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async steps => {
        const store = new MemoryStore()
        const log = new HandLog(store)
        const model = new Map<string, VersionRecord[]>()
        let history = new History(store)
        let pages: readonly PageInfo[] = []
        const written: Slot[] = []
        let entries: Op[][] = []
        const flush = async () => {
          for (const [entry, ops] of entries.entries()) {
            for (const op of ops as Extract<Op, { op: 'version' }>[]) {
              const { v: version, kind, manifest } = op
              const slot = log.head + 1
              const at = { slot, entry, ts: firstTs + slot, txn: txnOf(slot, entry) }
              model.set(op.t, [...(model.get(op.t) ?? []), { version, ...at, kind, manifest }])
            }
          }
          const slot = await log.append(...entries)
          entries = []
          written.push(slot)
          history.note(slot)
        }
        const marks = new Map<string, number>()
        for (const { table, skip, place, page, fresh } of steps) {
          const v = (marks.get(table) ?? 0) + skip
          marks.set(table, v)
          const manifest = { path: `p${v}`, scheme: 'V1', meta: {} } as const
          if (place === 'slot' && entries.length > 0) await flush()
          if (place === 'entry' || entries.length === 0) entries.push([])
          entries.at(-1)!.push({ op: 'version', t: table, v, kind: 'pointer', manifest })
          if (page > 1) continue
          const to = Math.max(history.sealed, log.head - page)
          pages = await history.writePage(to)
          if (!fresh) history.seal(pages)
          else {
            history = new History(store, pages)
            for (const slot of written.slice(to)) history.note(slot)
          }
          expect(history.sealed).toBe(to)
          expect(pages.map(({ from }) => from)).toEqual(
            [0, ...pages.map(p => p.to)].slice(0, -1).map(n => n + 1),
          )
        }
        if (entries.length > 0) await flush()
        for (const [table, records] of model) {
          const last = records.at(-1)!.version
          for (let v = 0; v <= last + 1; v++) {
            expect(await history.find(table, v)).toEqual(records.find(r => r.version === v) ?? null)
          }
          for (let v = 0; v <= last + 1; v += 3) {
            expect(await history.range(table, v, last)).toEqual(records.filter(r => r.version >= v))
            expect(await history.range(table, 0, v)).toEqual(records.filter(r => r.version <= v))
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  test('are added slot by slot, each once', async () => {
    const { store, written } = await rootOf(appends(3))
    const history = new History(store)
    history.note(written[0]!)
    expect(() => history.note(written[0]!)).toThrow('slot 1 cannot be noted: the last noted slot is 1')
    expect(() => history.note(written[2]!)).toThrow('slot 3 cannot be noted: the last noted slot is 1')
    await expect(history.writePage(2)).rejects.toMatchObject({ code: 18 })
  })
})

describe('pages', () => {
  test('are the same bytes under the same name, by any writer', async () => {
    const { store, written } = await rootOf(appends(20))
    const other = new MemoryStore()
    const [one, two] = [new History(store), new History(store)]
    const third = new History(other)
    for (const slot of written) {
      one.note(slot)
      two.note(slot)
      third.note(slot)
      if (slot.header.slot === 12) {
        expect(await one.writePage(12)).toEqual(await third.writePage(12))
      }
    }
    const [pages, again] = await Promise.all([one.writePage(12), two.writePage(12)])
    expect(again).toEqual(pages)
    const key = `_hist/${pages[0]!.name}`
    expect(key).toMatch(/^_hist\/00000000000000000001-00000000000000000012-[0-9a-f]{8}\.page$/)
    expect(await store.get(key)).toEqual(await other.get(key))
    expect((await store.get(key))!.length).toBe(pages[0]!.bytes)
    expect(await new History(store, pages).range('t', 1, 20)).toEqual(await one.range('t', 1, 12))
  })

  test('of slots without versions are entries without a file, one for consecutive ones', async () => {
    const nothing: Op[][] = [[{ op: 'namespace' }]]
    const { store, written } = await rootOf([nothing, nothing, ...appends(2), nothing])
    const history = new History(store)
    const ends: (readonly PageInfo[])[] = []
    for (const slot of written) {
      history.note(slot)
      const pages = await history.writePage(slot.header.slot)
      history.seal(pages)
      ends.push(pages)
    }
    expect(ends[0]).toMatchObject([{ from: 1, to: 1, bytes: 0 }])
    expect(ends[1]).toMatchObject([{ from: 1, to: 2, bytes: 0 }])
    // Those that are no larger than all after them are one.
    expect(ends[4]).toMatchObject([
      { from: 1, to: 4 },
      { from: 5, to: 5, bytes: 0 },
    ])
    const files: string[] = []
    for await (const { key } of store.list('_hist/')) files.push(key)
    expect(files).toContain(`_hist/${ends[4]![0]!.name}`)
    expect((await new History(store, ends[4]).range('t', 1, 2)).map(r => r.slot)).toEqual([3, 4])
    expect(await history.writePage(5)).toBe(ends[4])
  })

  test('written while others are noted and sealed have the right records', async () => {
    const { store, written } = await rootOf(appends(30))
    const history = new History(store)
    for (const slot of written.slice(0, 20)) history.note(slot)
    const first = history.writePage(10)
    const second = history.writePage(20)
    for (const slot of written.slice(20)) history.note(slot)
    history.seal(await second)
    history.seal(await history.writePage(25))
    const [short] = await first
    expect((await new History(store, [short!]).range('t', 1, 99)).length).toBe(10)
    const records = await history.range('t', 1, 99)
    expect(records.map(r => r.version)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
  })

  test.each([1, 2, 3])('have no record that is noted in pause %i of their writing, or later', async begin => {
    const { store, written } = await rootOf(appends(9))
    const history = new History(store)
    const slots = written.values()
    const note = () => {
      const { value } = slots.next()
      if (value !== undefined) history.note(value)
    }
    note()
    note()
    let elapsed = 0
    let pauses = 0
    const clock = vi.spyOn(systemClock, 'elapsed').mockImplementation(() => (elapsed += 1000))
    const pause = vi.spyOn(systemClock, 'yield').mockImplementation(async () => {
      if (++pauses >= begin) note()
    })
    let pages: readonly PageInfo[]
    try {
      pages = await history.writePage(2)
    } finally {
      clock.mockRestore()
      pause.mockRestore()
    }
    expect(pages).toEqual(await pagesUpTo(store, written.slice(0, 2), [2]))
  })

  test('are read in one piece each, only once, and only if they have the versions', async () => {
    const { store, log, written } = await rootOf(appends(3000))
    const counting = new CountingStore(store)
    const pages = await pagesUpTo(store, written, [2900, 3000])
    const history = new History(counting, pages, log.slots())
    expect(await history.range('t', 500, 2990)).toHaveLength(2491)
    expect(counting.calls).toEqual(new Map([['getRange', 4]]))
    counting.reset()
    expect(await history.range('t', 500, 2990)).toHaveLength(2491)
    expect(await history.range('t', 600, 2950)).toHaveLength(2351)
    expect(counting.calls.size).toBe(0)
    expect(await history.find('t', 2800)).toMatchObject({ version: 2800 })
    expect(counting.calls).toEqual(new Map([['getRange', 1]]))
    expect(counting.bytesRead).toBeLessThan(80_000)
    counting.reset()
    expect(await new History(counting, pages).find('t', 2999)).toMatchObject({ version: 2999 })
    expect(counting.calls).toEqual(new Map([['getRange', 2]]))
  })

  test('of many tables and big records are found in', async () => {
    const tables = Array.from({ length: 1500 }, (_, i) => `table-${(i * 7919) % 1500}`)
    const meta = { note: 'x'.repeat(50_000) }
    const version = (t: string, v: number): Op => {
      return { op: 'version', t, v, kind: 'lance', manifest: { path: '', scheme: 'V1', meta } }
    }
    const { store, written } = await rootOf([
      tables.map(t => [change(t, 1)]),
      ...Array.from({ length: 9 }, (_, i) => [[version('wide', i + 1)]]),
    ])
    const pages = await pagesUpTo(store, written, [10])
    const history = new History(store, pages)
    for (const table of tables)
      expect(await history.find(table, 1)).toMatchObject({ slot: 1, kind: 'create' })
    for (const table of ['', 'table', 'table-', 'table-1500', 'zzz'])
      expect(await history.find(table, 1)).toBeNull()
    const wide = await history.range('wide', 3, 5)
    expect(wide.map(r => [r.version, r.manifest?.meta])).toEqual([3, 4, 5].map(v => [v, meta]))
  })

  test('can be aborted, reading and writing', async () => {
    const { store, written } = await rootOf(appends(10))
    const pages = await pagesUpTo(store, written, [10])
    const reason = new Error('enough')
    const history = new History(store, pages)
    await expect(history.find('t', 1, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(await history.find('t', 1)).toMatchObject({ version: 1 })
    const late = new AbortController()
    const pending = new History(store, pages).range('t', 1, 5, late.signal)
    late.abort(reason)
    await expect(pending).rejects.toBe(reason)
    const writer = new History(new MemoryStore())
    for (const slot of written) writer.note(slot)
    await expect(writer.writePage(10, AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('a crash while one is written changes nothing', async () => {
    const { store, log, written } = await rootOf(appends(10))
    for (const lastLands of [false, true]) {
      const crashing = new CrashingStore(store, 0, lastLands)
      const history = new History(crashing)
      for (const slot of written) history.note(slot)
      await expect(history.writePage(10)).rejects.toBeInstanceOf(Dead)
      expect(await history.range('t', 1, 10)).toHaveLength(10)
      expect(history.sealed).toBe(0)
      const next = new History(store, [], log.slots())
      for (const slot of written) next.note(slot)
      next.seal(await next.writePage(10))
      expect(await next.range('t', 1, 10)).toEqual(await history.range('t', 1, 10))
    }
  })
})

describe('a page that is not what was written', () => {
  const slots: Op[][][] = [
    [[change('t', 1), change('u', 1)]],
    [[change('t', 2)]],
    [[change('t', 3)], [change('u', 2)]],
    [[change('t', 4)]],
  ]

  async function damagedRoot(damage: (bytes: Uint8Array) => Uint8Array | null) {
    const { store, log, written } = await rootOf(slots)
    const pages = await pagesUpTo(store, written, [3, 4])
    const key = `_hist/${pages[0]!.name}`
    const bytes = (await store.get(key))!
    await store.delete(key)
    const changed = damage(bytes)
    if (changed !== null) await store.put(key, changed)
    return { store, log, written, pages, key, size: bytes.length }
  }

  /** Answers rightly out of the slots, and without them rightly or not at all. */
  async function check(damage: (bytes: Uint8Array) => Uint8Array | null, mayAnswer: boolean): Promise<void> {
    const { store, log, written, pages, key } = await damagedRoot(damage)
    const whole = new History(store)
    for (const slot of written) whole.note(slot)
    const alone = new History(store, pages)
    const helped = new History(store, pages, log.slots())
    for (const [table, last] of [
      ['t', 4],
      ['u', 2],
    ] as const) {
      const expected = await whole.range(table, 1, last)
      for (let twice = 0; twice < 2; twice++) expect(await helped.range(table, 1, last)).toEqual(expected)
      const answer = await alone.range(table, 1, last).catch(error => {
        expect(error).toMatchObject({ code: 18, message: expect.stringContaining(key) })
        return null
      })
      if (answer !== null) expect(answer).toEqual(expected)
      if (!mayAnswer) expect(answer).toBeNull()
    }
    expect(await alone.find('t', 4)).toEqual(await whole.find('t', 4))
  }

  test('with any changed byte is replaced by the slots', async () => {
    const { size } = await damagedRoot(bytes => bytes)
    for (let at = 0; at < size; at++) {
      // Damage in a block is noticed by who reads that block.
      await check(bytes => bytes.with(at, bytes[at]! ^ (1 << (at % 8))), true)
    }
  })

  test('cut short, too long, empty, missing, or another page', async () => {
    const { size, store, pages } = await damagedRoot(bytes => bytes)
    for (let length = 0; length < size; length += 7) await check(bytes => bytes.slice(0, length), false)
    await check(() => null, false)
    const other = (await store.get(`_hist/${pages[1]!.name}`))!
    await check(() => other, false)
    const renamed = { t: 'x', u: 'y' } as Record<string, string>
    const foreign = await rootOf(
      slots.map(entries =>
        entries.map(ops => ops.map(op => ({ ...op, t: renamed[(op as Change).t] }) as Op)),
      ),
    )
    const [page] = await pagesUpTo(foreign.store, foreign.written, [3, 4])
    const alike = (await foreign.store.get(`_hist/${page!.name}`))!
    expect(alike).toHaveLength(size)
    await check(() => alike, false)
    await check(bytes => bytes.map(() => 0), false)
    await check(bytes => Uint8Array.of(...bytes, 0), true)
  })

  test('and unreadable only now is replaced by the slots until it can be read', async () => {
    const { store, log, pages } = await damagedRoot(bytes => bytes)
    const counting = new CountingStore(store)
    const faulty = new FaultyStore(counting, new SeededClock(1), { refuse: 1 })
    const history = new History(faulty, pages, log.slots())
    expect(await history.range('t', 1, 4)).toHaveLength(4)
    await expect(new History(faulty, pages).find('t', 1)).rejects.toMatchObject({ code: 17 })
    expect(counting.calls.size).toBe(0)
    faulty.faults = {}
    expect(await history.range('t', 1, 4)).toHaveLength(4)
    expect(counting.calls.get('getRange')).toBeGreaterThan(0)
  })

  test('is an error that names it if its slots are gone too', async () => {
    const { store, log, pages, key } = await damagedRoot(() => null)
    await store.delete(`_log/${'2'.padStart(20, '0')}`)
    const history = new History(store, pages, log.slots())
    await expect(history.find('t', 1)).rejects.toMatchObject({ code: 18, message: `${key} is missing` })
  })
})

describe('a page of 100,000 records', () => {
  test('is written, listed from and searched without holding the event loop for long', async () => {
    const { store, written } = await rootOf([
      Array.from({ length: 100_000 }, (_, i): Op[] => [change('t', i + 1, i)]),
    ])
    const history = new History(store)
    for (const slot of written) history.note(slot)
    const longestTurn = watchLoop()
    const pages = await history.writePage(1)
    const fresh = new History(store, pages)
    const records = await fresh.range('t', 40_001, 50_000)
    expect(records).toHaveLength(10_000)
    expect(records[123]).toMatchObject({ version: 40_124, entry: 40_123, start: 40_123 })
    // All at once would take several hundred.
    expect(longestTurn()).toBeLessThan(100)
  })
})

/** Until called: the most time the process spent computing between two turns of the event loop, in milliseconds. */
function watchLoop(): () => number {
  let most = 0
  let last = process.cpuUsage()
  let running = true
  const turn = () => {
    const { user, system } = process.cpuUsage(last)
    most = Math.max(most, (user + system) / 1000)
    last = process.cpuUsage()
    if (running) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    running = false
    return most
  }
}
