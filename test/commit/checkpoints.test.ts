import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import {
  type CheckpointPart,
  Checkpoints,
  type FoundCheckpoint,
  nameOf,
} from '../../src/commit/checkpoints.js'
import { Committer, type CommitterOptions, type OpenOptions } from '../../src/commit/committer.js'
import type { Fold, Machine } from '../../src/commit/machine.js'
import { unsupported } from '../../src/errors.js'
import { crc32, crcHex } from '../../src/primitives/checksum.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { CountingStore, CrashingStore, Dead } from '../support/stores.js'
import { longestGap } from './longest-gap.js'
import { add, type Tally, tally } from './tally.js'

const base = mkdtempSync(join(tmpdir(), 'sheaf-checkpoints-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const clock = new SeededClock(1)
const options: CommitterOptions = { clock, create: true, readOnly: false }
const genesis = { root: 'root', format: 1 } as const
const foldOf = (slot: number, state: Tally = { sum: slot, notes: [] }): Fold<Tally> => {
  return { genesis, slot, crc: 0xabc, ts: 1000 + slot, state }
}

/** Checkpoints of a store, and what was reported of damaged ones. */
function checkpointsOf(store: BlobStore, machine: Machine<Tally> = tally) {
  const damaged: string[] = []
  const checkpoints = new Checkpoints(store, machine, clock, (key, error) => {
    expect(error.code).toBe(18)
    expect(error.message).toContain(key)
    damaged.push(error.message.slice(key.length + 1))
  })
  return { checkpoints, damaged }
}

async function keysOf(store: BlobStore, prefix = '_ckpt/'): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

async function replace(store: BlobStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key)
  await store.put(key, bytes)
}

function nameAt(slot: number): string {
  return `${String(2n ** 64n - 1n - BigInt(slot)).padStart(20, '0')}-00000000.json`
}

/** A checkpoint with these lines and right checksums, as another Sheaf might write it. */
async function forge(store: BlobStore, slot: number, header: string, ...state: string[]): Promise<string> {
  const body = Buffer.from([header, ...state].map(line => `${line}\n`).join(''))
  const crc = crcHex(crc32(body))
  const key = `_ckpt/${String(2n ** 64n - 1n - BigInt(slot)).padStart(20, '0')}-${crc}.json`
  await store.put(key, Buffer.concat([body, Buffer.from(`${crc}\n`)]))
  return key
}

describe('a checkpoint', () => {
  test('is lines of text under a name that sorts the newest first', async () => {
    const store = new MemoryStore()
    const { checkpoints } = checkpointsOf(store)
    await checkpoints.write(foldOf(7, { sum: 3, notes: ['ä', 'b'] }), { pages: [1] })
    await checkpoints.write(foldOf(4711), null)
    const [newer, older] = await keysOf(store)
    expect(newer).toMatch(/^_ckpt\/18446744073709546904-[0-9a-f]{8}\.json$/)
    const text = Buffer.from((await store.get(older!))!).toString()
    const state = '{"sum":3,"count":2}\n"ä"\n"b"\n'
    expect(text).toBe(
      '{"f":1,"need":[],"slot":7,"prev":"00000abc","ts":1007,"genesis":{"root":"root","format":1},' +
        `"extra":{"pages":[1]}}\n${state}${older!.slice(-13, -5)}\n`,
    )
    expect(crcHex(crc32(Buffer.from(text).subarray(0, -9)))).toBe(older!.slice(-13, -5))
  })

  test('is read back as it was written', async () => {
    const store = new MemoryStore()
    const { checkpoints, damaged } = checkpointsOf(store)
    const large = { sum: -5, notes: ['a', 'é\n', '€'.repeat(1_000_000), '𝄞', ''] }
    for (const state of [large, { sum: 0, notes: [] }]) {
      const fold = foldOf(state.notes.length === 0 ? 9 : 8, state)
      const { key, bytes } = await checkpoints.write(fold, { pages: ['x'] })
      const more = { key, extra: { pages: ['x'] }, bytes, parts: [], states: [{ slot: fold.slot, state }] }
      expect(await checkpoints.newest()).toEqual({ ...fold, ...more })
      expect((await store.stat((await keysOf(store))[0]!))!.size).toBe(bytes)
    }
    expect(damaged).toEqual([])
  })

  test('of an equal state at the same slot has the same bytes, by any writer', async () => {
    const [one, two] = [new MemoryStore(), new MemoryStore()]
    for (const store of [one, two]) {
      const notes = Array.from({ length: 50_000 }, (_, i) => `note ${i}`)
      await new Checkpoints(store, tally, systemClock).write(foldOf(7, { sum: 1, notes }), [1, 2])
    }
    const [key] = await keysOf(one)
    expect(await keysOf(two)).toEqual([key])
    expect(Buffer.compare((await two.get(key!))!, (await one.get(key!))!)).toBe(0)
  })

  test('written by two at the same time is written once, and both succeed', async () => {
    for (const store of [
      new MemoryStore(),
      await FileStore.open(mkdtempSync(join(base, 'two-')), { create: false, readOnly: false }),
    ]) {
      const { checkpoints } = checkpointsOf(store)
      const sizes = await Promise.all([1, 2, 3].map(() => checkpoints.write(foldOf(7), null)))
      expect(new Set(sizes.map(({ bytes }) => bytes)).size).toBe(1)
      expect(await keysOf(store)).toHaveLength(1)
      expect((await checkpoints.newest())?.slot).toBe(7)
    }
  })

  test('can be aborted while it is written or read', async () => {
    const store = new MemoryStore()
    const { checkpoints } = checkpointsOf(store)
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(checkpoints.write(foldOf(7), null, [], null, signal)).rejects.toThrow('enough')
    expect(await keysOf(store)).toEqual([])
    await checkpoints.write(foldOf(7), null)
    await expect(checkpoints.newest(signal)).rejects.toThrow('enough')
    await expect(checkpoints.prune(new Set(), 8, new Set(), signal)).rejects.toThrow('enough')
  })
})

describe('a checkpoint of changes', () => {
  const stateOf = (slot: number): Tally => {
    return { sum: slot, notes: Array.from({ length: slot }, (_, i) => `note ${i}`) }
  }

  /** Write the checkpoints of these slots, each with the changes since the one before. */
  async function chain(store: BlobStore, slots: readonly number[]) {
    const { checkpoints, damaged } = checkpointsOf(store)
    const parts: CheckpointPart[] = []
    for (const [i, slot] of slots.entries()) {
      const before = slots[i - 1]
      const predecessor =
        before === undefined ? null : { before: { slot: before, state: stateOf(before) }, parts: [...parts] }
      const note = await checkpoints.write(foldOf(slot, stateOf(slot)), { slot }, [], predecessor)
      parts.push({ name: nameOf(note.key), bytes: note.bytes })
    }
    return { checkpoints, damaged, parts }
  }

  test('is read with its parts, and its bytes are those of the changes', async () => {
    const store = new CountingStore(new MemoryStore())
    const { checkpoints, parts } = await chain(store, [100, 103, 109])
    expect(parts[0]!.bytes).toBeGreaterThan(1000)
    expect(parts[1]!.bytes).toBeLessThan(300)
    store.reset()
    const newest = (await checkpoints.newest())!
    expect(store.calls).toEqual(
      new Map([
        ['list', 1],
        ['get', 3],
      ]),
    )
    expect(newest).toMatchObject({
      slot: 109,
      state: stateOf(109),
      parts: parts.slice(0, 2),
      extra: { slot: 109 },
    })
    expect(newest.states).toEqual([100, 103, 109].map(slot => ({ slot, state: stateOf(slot) })))
    expect(await checkpoints.newestNote()).toMatchObject({ slot: 109, parts: parts.slice(0, 2) })
    const text = Buffer.from((await store.get(newest.key))!).toString()
    expect(text).toContain(`"since":103,"parts":[{"name":"${parts[0]!.name}","bytes":${parts[0]!.bytes}},`)
    expect(text.split('\n').slice(1, -2)).toEqual([
      '{"sum":109,"count":109}',
      ...stateOf(109)
        .notes.slice(103)
        .map(note => JSON.stringify(note)),
    ])
  })

  test.each([0, 1, 2])('falls back to an older one if part %i is lost or damaged', async lost => {
    const store = new MemoryStore()
    const { checkpoints: other } = checkpointsOf(store)
    const spare = await other.write(foldOf(50), null)
    const { checkpoints, damaged, parts } = await chain(store, [100, 103, 109])
    const key = `_ckpt/${parts[lost]!.name}`
    const bytes = (await store.get(key))!
    await replace(store, key, bytes.with(60, bytes[60]! ^ 1))
    expect((await checkpoints.newest())?.slot).toBe([50, 100, 103][lost])
    expect(damaged).toHaveLength(3 - lost)
    await store.delete(key)
    damaged.length = 0
    expect((await checkpoints.newest())?.slot).toBe([50, 100, 103][lost])
    expect(damaged).toHaveLength(2 - lost)
    for (const message of damaged) expect(message).toContain(`${key}, which it is based on, is missing`)
    const found: FoundCheckpoint<Tally>[] = []
    for await (const each of checkpoints.each()) found.push(each)
    expect(found.filter(({ lacks }) => lacks === key)).toHaveLength(2 - lost)
    expect(found.at(-1)).toMatchObject({ key: spare.key, error: null, lacks: null })
  })

  test('whose parts do not follow each other is not accepted', async () => {
    const store = new MemoryStore()
    const { checkpoints, parts, damaged } = await chain(store, [100, 103, 109])
    const before = { slot: 109, state: stateOf(109) }
    await checkpoints.write(foldOf(120, stateOf(120)), null, [], { before, parts: [parts[0]!, parts[2]!] })
    expect((await checkpoints.newest())?.slot).toBe(109)
    expect(damaged).toEqual([expect.stringContaining('does not fit')])
  })
})

describe('the newest checkpoint', () => {
  test('is none where there is none', async () => {
    const { checkpoints } = checkpointsOf(new MemoryStore())
    expect(await checkpoints.newest()).toBeNull()
    expect(await checkpoints.keys()).toEqual([])
    await checkpoints.prune(new Set(), 8)
  })

  test('is that of the largest slot, and only asked for after a given one', async () => {
    const { checkpoints } = checkpointsOf(new MemoryStore())
    for (const slot of [0, 9, 10, 100, 99]) await checkpoints.write(foldOf(slot), null)
    expect((await checkpoints.newest())?.slot).toBe(100)
    expect((await checkpoints.newest(undefined, 99))?.slot).toBe(100)
    expect(await checkpoints.newest(undefined, 100)).toBeNull()
  })

  test('is known by its name alone, without a read', async () => {
    const store = new CountingStore(new MemoryStore())
    const { checkpoints } = checkpointsOf(store)
    await checkpoints.write(foldOf(9), null)
    await checkpoints.write(foldOf(10), null)
    store.reset()
    expect((await checkpoints.keys())[0]!.slot).toBe(10)
    expect(store.calls).toEqual(new Map([['list', 1]]))
  })

  test.each([
    ['without its last byte', (bytes: Uint8Array) => bytes.subarray(0, -1), 'is torn'],
    ['cut in the middle', (bytes: Uint8Array) => bytes.subarray(0, bytes.length / 2), 'is torn'],
    ['cut after a line', (bytes: Uint8Array) => bytes.subarray(0, bytes.indexOf(10) + 1), 'is torn'],
    ['that is empty', () => new Uint8Array(0), 'is torn'],
    ['with one bit changed', (bytes: Uint8Array) => bytes.with(100, bytes[100]! ^ 1), 'is damaged'],
  ])('%s is passed over for the next older, and reported', async (_, damage, message) => {
    const store = new MemoryStore()
    const { checkpoints, damaged } = checkpointsOf(store)
    for (const slot of [5, 6, 7]) await checkpoints.write(foldOf(slot), null)
    const [newest, second, third] = await keysOf(store)
    await replace(store, newest!, damage((await store.get(newest!))!))
    expect((await checkpoints.newest())?.slot).toBe(6)
    expect(damaged).toEqual([expect.stringContaining(message)])
    expect(await checkpoints.newest(undefined, 6)).toBeNull()
    for (const key of [second!, third!]) await replace(store, key, Uint8Array.of(1))
    expect(await checkpoints.newest()).toBeNull()
    expect(damaged).toHaveLength(5)
  })

  test('with any byte changed is not accepted as intact', async () => {
    const store = new MemoryStore()
    const { checkpoints } = checkpointsOf(store)
    await checkpoints.write(foldOf(7, { sum: 1, notes: ['a'] }), null)
    const [key] = await keysOf(store)
    const bytes = (await store.get(key!))!
    for (let at = 0; at < bytes.length; at++) {
      await replace(store, key!, bytes.with(at, bytes[at]! ^ 0x20))
      expect(await checkpoints.newest(), `byte ${at}`).toBeNull()
    }
  })

  test('with a right checksum and invalid contents is skipped', async () => {
    const store = new MemoryStore()
    const { checkpoints, damaged } = checkpointsOf(store)
    const header = { f: 1, need: [], slot: 9, prev: '00000abc', ts: 1, genesis, extra: null }
    const changed = (change: object) => JSON.stringify({ ...header, ...change })
    await checkpoints.write(foldOf(3), null)
    const whole = '{"sum":1,"count":0}'
    const forgeries = [
      ['{', whole],
      ['[]', whole],
      ['null', whole],
      [changed({ f: 'x' }), whole],
      [changed({ need: 1 }), whole],
      [changed({ slot: 8 }), whole],
      [changed({ slot: '9' }), whole],
      [changed({ prev: 12 }), whole],
      [changed({ ts: -1 }), whole],
      [changed({ genesis: null }), whole],
      [changed({ extra: undefined }), whole],
      [changed({ parts: [{ name: 'x', bytes: 1 }], since: 3 }), whole],
      [changed({ parts: [{ name: nameAt(3) }], since: 3 }), whole],
      [changed({ parts: [{ name: nameAt(3), bytes: 1 }], since: 4 }), whole],
      [changed({ parts: [{ name: nameAt(3), bytes: 1 }] }), whole],
      [changed({ parts: [{ name: nameAt(9), bytes: 1 }], since: 9 }), whole],
      [changed({ since: 3 }), whole],
      [changed({}), '{"sum":1,"count":1}'],
      [changed({}), 'no JSON'],
      [changed({})],
    ] as const
    for (const [first, ...state] of forgeries) await forge(store, 9, first, ...state)
    expect((await checkpoints.newest())?.slot).toBe(3)
    expect(damaged).toHaveLength(forgeries.length)
    await forge(store, 9, changed({}), whole)
    expect((await checkpoints.newest())?.slot).toBe(9)
  })

  test('of a newer Sheaf is refused, not skipped', async () => {
    for (const change of [{ f: 2 }, { need: ['moon'] }, { genesis: { root: 'root', format: 2 } }]) {
      const store = new MemoryStore()
      const { checkpoints } = checkpointsOf(store)
      await checkpoints.write(foldOf(3), null)
      const header = { f: 1, need: ['tally'], slot: 9, prev: '00000abc', ts: 1, genesis, state: '', extra: 1 }
      await forge(store, 9, JSON.stringify({ ...header, ...change }), '{"sum":1,"count":0}')
      const error = { code: 0, message: expect.stringContaining('newer Sheaf') }
      await expect(checkpoints.newest()).rejects.toMatchObject(error)
      expect(await checkpoints.newest(undefined, 9)).toBeNull()
    }
  })

  test('with items that only a newer Sheaf knows is refused', async () => {
    const store = new MemoryStore()
    await checkpointsOf(store).checkpoints.write(foldOf(3), null)
    const older: Machine<Tally> = {
      ...tally,
      load: () => ({
        add: () => {
          throw unsupported('a moon')
        },
        end: () => ({ sum: 0, notes: [] }),
      }),
    }
    await expect(checkpointsOf(store, older).checkpoints.newest()).rejects.toMatchObject({ code: 0 })
  })

  test('is found only among files with a checkpoint name', async () => {
    const store = new MemoryStore()
    const { checkpoints, damaged } = checkpointsOf(store)
    await checkpoints.write(foldOf(7), null)
    const [key] = await keysOf(store)
    const strange = ['.DS_Store', 'x', `${key!.slice(6)} (conflict)`, '99999999999999999999-00000000.json']
    for (const name of strange) await store.put(`_ckpt/${name}`, Uint8Array.of(1))
    expect((await checkpoints.keys())[0]!.slot).toBe(7)
    expect((await checkpoints.newest())?.slot).toBe(7)
    await checkpoints.write(foldOf(8), null)
    await checkpoints.write(foldOf(9), null)
    await checkpoints.prune(new Set(), 9)
    expect(await keysOf(store)).toHaveLength(1 + strange.length)
    expect(damaged).toEqual([])
  })

  test('pruned during the search is replaced by newer ones', async () => {
    const inner = new MemoryStore()
    const { checkpoints } = checkpointsOf(inner)
    await checkpoints.write(foldOf(7), null)
    class Pruned extends CountingStore {
      override async get(key: string, signal?: AbortSignal) {
        if (this.calls.get('get') === undefined) {
          await checkpoints.write(foldOf(8), null)
          await checkpoints.write(foldOf(9), null)
          await checkpoints.prune(new Set(), 8)
        }
        return super.get(key, signal)
      }
    }
    const reader = checkpointsOf(new Pruned(inner))
    expect((await reader.checkpoints.newest())?.slot).toBe(9)
    expect(reader.damaged).toEqual([])
  })

  test('that is listed but missing is not used', async () => {
    const store = new MemoryStore()
    await checkpointsOf(store).checkpoints.write(foldOf(7), null)
    class Lying extends CountingStore {
      override async get() {
        return null
      }
    }
    expect(await checkpointsOf(new Lying(store)).checkpoints.newest()).toBeNull()
  })
})

test('pruning deletes the checkpoints before a slot that are not kept, once the kept ones exist', async () => {
  const store = new MemoryStore()
  const { checkpoints } = checkpointsOf(store)
  for (const slot of [1, 2, 3, 4, 5]) await checkpoints.write(foldOf(slot), null)
  await checkpoints.write(foldOf(3), 'another')
  const slots = async () =>
    (await keysOf(store)).map(key => Number(2n ** 64n - 1n - BigInt(key.slice(6, 26))))
  const names = (await keysOf(store)).map(key => key.slice(6))
  const kept = names.filter((_, i) => i === 1 || i === 2)
  await checkpoints.prune(new Set([...kept, `${'9'.repeat(20)}-00000000.json`]), 5)
  expect(await slots()).toEqual([5, 4, 3, 3, 2, 1])
  await checkpoints.prune(new Set(kept), 5)
  expect(await slots()).toEqual([5, 4, 3])
  expect((await keysOf(store)).map(key => key.slice(6))).toEqual([names[0], ...kept])
})

/** A root of `slots` slots, with checkpoints of some. */
async function rootOf(slots: number, checkpointed: readonly number[] = []) {
  const store = new MemoryStore()
  const { checkpoints } = checkpointsOf(store)
  const committer = await Committer.open(new BlobLog(store), tally, options)
  for (let slot = 1; slot <= slots; slot++) {
    await committer.commit(add(slot, `${slot}`))
    if (checkpointed.includes(slot)) await checkpoints.write(committer.fold, null)
  }
  return { store, checkpoints, committer }
}

/** Opens a root as one does: from the newest checkpoint. */
async function openFrom(store: BlobStore, over: Partial<OpenOptions<Tally>> = {}) {
  const newest = await checkpointsOf(store).checkpoints.newest()
  return Committer.open(new BlobLog(store), tally, { ...options, base: newest ?? undefined, ...over })
}

const keyOf = (slot: number): string => `_log/${String(slot).padStart(20, '0')}`

describe('opening from a checkpoint', () => {
  test('gives what replaying the whole log gives, and goes on from there', async () => {
    const slots = fc.integer({ min: 0, max: 40 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 40 }),
        slots,
        async (groups, at) => {
          const store = new MemoryStore()
          const { checkpoints } = checkpointsOf(store)
          const writer = await Committer.open(new BlobLog(store), tally, options)
          if (at === 0) await checkpoints.write(writer.fold, null)
          for (const [i, callers] of groups.entries()) {
            await Promise.all(Array.from({ length: callers }, (_, c) => writer.commit(add(c, `${i}.${c}`))))
            if (i + 1 === at) await checkpoints.write(writer.fold, null)
          }
          const applied: number[] = []
          const whole = await Committer.open(new BlobLog(store), tally, options)
          const opened = await openFrom(store, { onApplied: slot => applied.push(slot.header.slot) })
          expect(opened.fold).toEqual(whole.fold)
          expect(opened.fold).toEqual(writer.fold)
          const base = (await checkpoints.newest())?.slot ?? 0
          expect(applied).toEqual(groups.map((_, i) => i + 1).slice(base))
          await opened.commit(add(1, 'after'))
          expect((await whole.refresh()).notes.at(-1)).toBe('after')
        },
      ),
      { numRuns: 40 },
    )
  })

  test('reads only the first slot before it', async () => {
    const { store } = await rootOf(50, [40])
    const counting = new CountingStore(store)
    const base = (await checkpointsOf(store).checkpoints.newest()) ?? undefined
    await Committer.open(new BlobLog(counting), tally, { ...options, base })
    expect(counting.calls.get('get')).toBe(1 + 1 + 10)
  })

  test('falls back to the one before it, or to the first slot, when it is damaged', async () => {
    const { store, committer } = await rootOf(10, [4, 8])
    for (const key of await keysOf(store)) {
      await replace(store, key, Uint8Array.of(1))
      expect((await openFrom(store)).fold).toEqual(committer.fold)
    }
  })

  test('ahead of the log is refused', async () => {
    const { store } = await rootOf(10, [8])
    for (const slot of [8, 9, 10]) await store.delete(keyOf(slot))
    const message = expect.stringMatching(
      /^the checkpoint of slot 8 \(_ckpt\/\S+\.json\) does not belong to this log: that slot is missing, and the log ends with slot 7$/,
    )
    const hint = expect.stringContaining('backup')
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message, hint })
  })

  test('whose slots were rewritten is refused', async () => {
    const { store } = await rootOf(10, [8])
    for (const slot of [8, 9, 10]) await store.delete(keyOf(slot))
    const other = await Committer.open(new BlobLog(store), tally, options)
    for (const slot of [8, 9, 10]) await other.commit(add(slot, 'again'))
    const message = expect.stringMatching(
      /^the checkpoint of slot 8 \(\S+\) does not belong to this log: the checksum of that slot is [0-9a-f]{8}, not [0-9a-f]{8}$/,
    )
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('of another root is refused', async () => {
    const { store } = await rootOf(10)
    const other = await rootOf(10, [8])
    for (const key of await keysOf(other.store)) await store.put(key, (await other.store.get(key))!)
    const message = expect.stringMatching(/ does not belong to this log: it belongs to another root$/)
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('without a log is refused, and no new root is created', async () => {
    const { store } = await rootOf(3, [2])
    for (const slot of [0, 1, 2, 3]) await store.delete(keyOf(slot))
    const message = expect.stringMatching(/ does not belong to this log: the log has no slot 0$/)
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message })
    expect(await keysOf(store, '_log/')).toEqual([])
  })

  test('whose slot is damaged is refused by its number', async () => {
    const { store } = await rootOf(10, [8])
    await replace(store, keyOf(8), Uint8Array.of(1))
    const message = expect.stringMatching(/^slot 8 is torn/)
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message })
  })

  test.each([9, 10, 11])('finds slot %i after it missing', async gap => {
    const { store } = await rootOf(12, [8])
    await store.delete(keyOf(gap))
    const message = `slot ${gap} is missing, although slot ${gap === 9 ? '10' : gap + 1} exists`
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('finds a wide gap after it', async () => {
    const { store } = await rootOf(12, [8])
    for (const slot of [9, 10, 11]) await store.delete(keyOf(slot))
    const message = 'slot 9 is missing, although slot 12 exists'
    await expect(openFrom(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('is possible read-only', async () => {
    const { store, committer } = await rootOf(10, [8])
    const reader = await openFrom(store, { readOnly: true, create: false })
    expect(reader.fold).toEqual(committer.fold)
  })
})

test('a process that dies anywhere while it writes and prunes checkpoints leaves the same state', async () => {
  let crashes = 0
  for (const lastLands of [false, true]) {
    for (let survives = 0; ; survives++) {
      const { store, committer } = await rootOf(6, [2, 3, 4])
      const crashing = new CrashingStore(store, survives, lastLands)
      const { checkpoints } = checkpointsOf(crashing)
      try {
        await checkpoints.write(committer.fold, null)
        await checkpoints.prune(new Set(), 4)
      } catch (error) {
        expect(error).toBeInstanceOf(Dead)
      }
      const { checkpoints: survivors, damaged } = checkpointsOf(store)
      expect((await survivors.newest())!.slot).toBeGreaterThanOrEqual(4)
      expect((await openFrom(store)).fold).toEqual(committer.fold)
      expect(damaged).toEqual([])
      await survivors.prune(new Set(), 4)
      expect((await keysOf(store)).length).toBeLessThanOrEqual(2)
      if (!crashing.dead) break
      crashes++
    }
  }
  expect(crashes).toBeGreaterThanOrEqual(8)
})

describe('100,000 lines', () => {
  const lines = 100_000
  const roomy: Machine<number> = {
    features: new Set(),
    initial: () => 0,
    apply: state => state,
    *save(count) {
      for (let i = 0; i < count; i++) yield `{"uuid":"${i}","id":["a","t${i}"],"pad":"${'x'.repeat(200)}"}`
    },
    load() {
      let count = 0
      return {
        add(text) {
          if (JSON.parse(text).uuid === String(count)) count++
        },
        end: () => count,
      }
    },
  }

  test('are written and read without holding the event loop', async () => {
    const store = await FileStore.open(mkdtempSync(join(base, 'large-')), { create: false, readOnly: false })
    const checkpoints = new Checkpoints(store, roomy, systemClock)
    const gap = longestGap()
    await checkpoints.write({ genesis, slot: 1, crc: 1, ts: 1, state: lines }, null)
    expect((await checkpoints.newest())?.state).toBe(lines)
    expect(gap()).toBeLessThan(120)
  })
})
