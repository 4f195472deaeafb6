import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Committer } from '../../src/commit/committer.js'
import type { Fold } from '../../src/commit/machine.js'
import { endKey, sealKey, tailKey } from '../../src/commit/tail.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { BlobInPlace, BlobStore } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { commitLogSuite } from '../suites/commit-log.js'
import { SeededClock } from '../support/clock.js'
import { bootedAs, InPlaceStore } from '../support/in-place-store.js'
import { BusyStore, FaultyStore, keysIn } from '../support/stores.js'
import { add, gate, type Tally, tally } from './tally.js'

const base = mkdtempSync(join(tmpdir(), 'sheaf-tails-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const logOf = (store: BlobStore, readOnly = false) => new TailedLog(store, { clock: systemClock, readOnly })

commitLogSuite('TailedLog in memory', async () => logOf(new InPlaceStore()))
commitLogSuite('TailedLog in a store that cannot peek', async () => {
  return logOf(new FaultyStore(new MemoryStore(), new SeededClock(1), { delay: 0.2 }))
})
commitLogSuite('TailedLog in files', async () => {
  return logOf(await FileStore.open(mkdtempSync(join(base, 'log-')), { create: false, readOnly: false }))
})

interface Opened {
  readonly log: TailedLog
  readonly committer: Committer<Tally>
}

async function open(store: BlobStore, readOnly = false, checkpoint?: Fold<Tally>): Promise<Opened> {
  const log = logOf(store, readOnly)
  const options = {
    clock: systemClock,
    create: true,
    readOnly,
    base: checkpoint,
    newer: async () => checkpoint ?? null,
  }
  return {
    log,
    committer: await Committer.open(
      log,
      tally,
      checkpoint === undefined ? { ...options, newer: undefined } : options,
    ),
  }
}

async function commit({ committer }: Opened, ...notes: readonly string[]): Promise<void> {
  for (const note of notes) await committer.commit(add(1, note))
}

const notesOf = async ({ committer }: Opened) => (await committer.refresh()).notes
const letters = (from: number, count: number) => Array.from({ length: count }, (_, i) => `n${from + i}`)

/** A store whose syncs in place wait for `gate`, and fail if it says so. */
class HeldStore extends InPlaceStore {
  hold: Promise<boolean> | null = null
  syncs = 0

  override openInPlace(key: string): BlobInPlace | null {
    const blob = super.openInPlace(key)
    if (blob === null) return null
    return {
      size: blob.size,
      ino: blob.ino,
      read: (offset, target) => blob.read(offset, target),
      write: (offset, bytes) => blob.write(offset, bytes),
      close: () => blob.close(),
      sync: async () => {
        this.syncs++
        if ((await this.hold) === false) throw new Error('EIO')
      },
    }
  }
}

describe('a process that commits alone', () => {
  test('makes a slot durable with one sync, in few files', async () => {
    const root = mkdtempSync(join(base, 'root-'))
    const store = await FileStore.open(root, { create: false, readOnly: false })
    const first = await open(store)
    await commit(first, ...letters(0, 100))
    const names = readdirSync(join(root, '_log'))
    if (store.openInPlace === undefined) return
    expect(names).toEqual(
      ['0', '1', '2', '3', '4'].map(n => n.padStart(20, '0')).concat(`${'4'.padStart(20, '0')}.tail`),
    )
    const second = await open(await FileStore.open(root, { create: false, readOnly: false }))
    expect(await notesOf(second)).toEqual(letters(0, 100))
    await commit(first, 'more')
    expect(await notesOf(second)).toEqual([...letters(0, 100), 'more'])
    await first.committer.close()
    await second.committer.close()
  })

  test('writes a file for each slot where a blob cannot be filled in place', async () => {
    const store = new MemoryStore()
    await commit(await open(store), ...letters(0, 10))
    expect(await keysIn(store, '_log/')).toHaveLength(11)
  })

  test('goes on in a larger tail when one is full, and with a file for a slot that no tail can hold', async () => {
    const store = new InPlaceStore()
    const first = await open(store)
    const blob = new Uint8Array(10_000)
    for (const note of letters(0, 60)) await first.committer.commit(add(1, note, [blob]))
    await first.committer.commit(add(1, 'large', [new Uint8Array(3_000_000)]))
    await commit(first, ...letters(60, 5))
    const sizes: number[] = []
    for await (const { key, size } of store.list('_log/')) if (key.endsWith('.tail')) sizes.push(size)
    expect(sizes.length).toBeGreaterThan(2)
    expect(sizes[1]).toBe(2 * sizes[0]!)
    expect(await keysIn(store, '_log/').then(keys => keys.filter(key => key.endsWith('.seal')))).toEqual([])
    expect(await notesOf(await open(store))).toEqual([...letters(0, 60), 'large', ...letters(60, 5)])
  })

  test('looks for the seal and for its tail after each sync, and for nothing else', async () => {
    const peeks: string[] = []
    class PeekedStore extends InPlaceStore {
      override peek(key: string) {
        peeks.push(key)
        return super.peek(key)
      }
    }
    const writer = await open(new PeekedStore())
    await commit(writer, ...letters(0, 10))
    peeks.length = 0
    for (const note of letters(10, 3)) {
      expect(writer.committer.isBehind()).toBe(false)
      await commit(writer, note)
    }
    expect(peeks).toEqual([1, 2, 3].flatMap(() => [sealKey(4), tailKey(4)]))
  })

  test('lets other work run before a commit only if several callers commit', async () => {
    let yields = 0
    const clock = {
      ...systemClock,
      yield() {
        yields++
        return systemClock.yield()
      },
    }
    const log = new TailedLog(new InPlaceStore(), { clock, readOnly: false })
    const committer = await Committer.open(log, tally, { clock, create: true, readOnly: false })
    for (let i = 0; i < 10; i++) await committer.commit(add(1, `${i}`))
    yields = 0
    for (let i = 0; i < 10; i++) await committer.commit(add(1, `${i}`))
    expect(yields).toBe(0)
    const { head } = committer
    for (let i = 0; i < 10; i++)
      await Promise.all(['a', 'b', 'c'].map(note => committer.commit(add(1, note))))
    expect(committer.head).toBe(head + 10)
    expect(yields).toBe(10)
    // A commit that finds nothing to do waits for no sync. So the next one lets other work run.
    await committer.commit(add(1, 'd'))
    yields = 0
    for (let i = 0; i < 3; i++) await committer.commit(() => null)
    expect(yields).toBe(2)
  })

  test('ends its tail after an hour', async () => {
    const store = new InPlaceStore()
    const clock = new SeededClock(1)
    const log = new TailedLog(store, { clock, readOnly: false })
    const committer = await Committer.open(log, tally, { clock, create: true, readOnly: false })
    await commit({ log, committer }, ...letters(0, 6))
    clock.advance(60 * 60 * 1000 + 1)
    await commit({ log, committer }, ...letters(6, 3))
    expect(await store.get(endKey(4))).not.toBeNull()
    expect(await notesOf(await open(store))).toEqual(letters(0, 9))
  })
})

/** A store whose folders can be synced, which counts lists, syncs, and reads in place. */
class MeteredStore extends InPlaceStore {
  readonly calls: string[] = []

  override list(...call: Parameters<InPlaceStore['list']>) {
    this.calls.push('list')
    return super.list(...call)
  }

  async sync() {
    this.calls.push('sync')
  }

  override openInPlace(key: string): BlobInPlace | null {
    const blob = super.openInPlace(key)
    if (blob === null) return null
    const read = blob.read.bind(blob)
    return Object.assign(blob, {
      read: (offset: number, target: Uint8Array) => {
        this.calls.push('read')
        read(offset, target)
      },
    })
  }
}

describe('a process that opens the log', () => {
  const opening = async (store: MeteredStore) => {
    store.calls.length = 0
    const opened = await open(store)
    const count = (call: string) => store.calls.filter(each => each === call).length
    return { notes: await notesOf(opened), lists: count('list'), syncs: count('sync'), reads: count('read') }
  }

  test('lists it once, and reads the slots of a tail together', async () => {
    const store = new MeteredStore()
    await commit(await open(store), ...letters(0, 40))
    const { notes, lists, reads } = await opening(store)
    expect(notes).toEqual(letters(0, 40))
    expect(lists).toBe(1)
    expect(reads).toBeLessThan(10)
  })

  test('syncs its folder if the name of the last slot may be lost, but not if a tail has records', async () => {
    const store = new MeteredStore()
    await commit(await open(store), 'first')
    expect((await opening(store)).syncs).toBe(1)
    const second = await open(store)
    await commit(second, ...letters(0, 40))
    expect((await opening(store)).syncs).toBe(0)
    await commit(await open(store), 'last')
    expect((await opening(store)).syncs).toBe(1)
  })

  test('reports a lost slot before a later one', async () => {
    const store = new MemoryStore()
    await commit(await open(store), ...letters(0, 5))
    await store.delete('_log/00000000000000000004')
    await expect(open(store)).rejects.toThrow('slot 4 is missing, although slot 5 exists')
  })

  test('reports a file after the last slot that is not a slot', async () => {
    const store = new MemoryStore()
    await commit(await open(store), 'first')
    await store.put('_log/00000000000000000001 (conflict)', Uint8Array.of(1))
    await expect(open(store)).rejects.toThrow('is not a slot')
  })
})

describe('another writer', () => {
  test('ends the tail, and both write files', async () => {
    const store = new InPlaceStore()
    const [a, b] = [await open(store), await open(store)]
    await commit(a, ...letters(0, 10))
    await commit(b, 'b0')
    await commit(a, 'a0')
    await commit(b, 'b1')
    const expected = [...letters(0, 10), 'b0', 'a0', 'b1']
    for (const each of [a, b, await open(store)]) expect(await notesOf(each)).toEqual(expected)
    expect(await store.get(sealKey(4))).not.toBeNull()
    const files = (await keysIn(store, '_log/')).filter(key => /\/\d+$/.test(key))
    expect(files.map(key => Number(key.slice(5)))).toEqual([0, 1, 2, 3, 4, 11, 12, 13])
  })

  test.each([
    ['after the record was written', true],
    ['and the sync fails', false],
  ])('seals the tail while the owner syncs, %s: the commit is there once', async (_, works) => {
    const store = new HeldStore()
    const [a, b] = [await open(store), await open(store)]
    await commit(a, ...letters(0, 10))
    const { opened, open: release } = gate<boolean>()
    store.hold = opened
    const { syncs } = store
    const committing = commit(a, 'a0')
    while (store.syncs === syncs) await systemClock.yield()
    expect(await notesOf(b)).toEqual(letters(0, 10))
    await commit(b, 'b0')
    release(works)
    await committing
    for (const each of [a, b, await open(store)])
      expect(await notesOf(each)).toEqual([...letters(0, 10), 'a0', 'b0'])
  })

  test('does not see a record before its owner has set the mark', async () => {
    const store = new HeldStore()
    const [a, b] = [await open(store), await open(store, true)]
    await commit(a, ...letters(0, 5))
    const { opened, open: release } = gate<boolean>()
    store.hold = opened
    const committing = commit(a, 'a0')
    while (store.syncs < 2) await systemClock.yield()
    expect(await notesOf(a)).toEqual(letters(0, 5))
    expect(await notesOf(b)).toEqual(letters(0, 5))
    release(true)
    await committing
    expect(await notesOf(b)).toEqual([...letters(0, 5), 'a0'])
  })
})

/** Undo the mark of the tail of slot 4, as a power loss may. */
function undoMark(store: InPlaceStore): void {
  const blob = store.openInPlace(tailKey(4))!
  blob.write(0, Uint8Array.of(0, 0, 0, 0, 255, 255, 255, 255))
  blob.close()
}

describe('after a power loss that undid the mark', () => {
  test('a process that opens the root ends the tail, and sees every slot', async () => {
    const store = new InPlaceStore()
    await commit(await open(store), ...letters(0, 10))
    undoMark(store)
    expect(await notesOf(await open(store))).toEqual(letters(0, 10))
    expect(await store.get(endKey(4))).not.toBeNull()
  })

  test('a checkpoint of a slot after the mark is used', async () => {
    const store = new InPlaceStore()
    const first = await open(store)
    await commit(first, ...letters(0, 10))
    const { fold } = first.committer
    undoMark(store)
    expect((await open(store, false, fold)).committer.head).toBe(fold.slot)
  })

  test('a reader sees every slot if the machine has been booted since, otherwise those up to the mark', async () => {
    const store = new InPlaceStore()
    await commit(await open(store), ...letters(0, 10))
    undoMark(store)
    expect(await notesOf(await open(store, true))).toEqual(letters(0, 4))
    Object.assign(store, { processes: bootedAs('another boot') })
    expect(await notesOf(await open(store, true))).toEqual(letters(0, 10))
    expect(await keysIn(store, '_log/')).not.toContain(endKey(4))
  })
})

describe('a trim', () => {
  const trimmed = async (to: number) => {
    const store = new InPlaceStore()
    const [a, b] = [await open(store), await open(store)]
    await commit(a, ...letters(0, 10))
    await commit(b, 'b0')
    return { store, a, b, count: await b.log.trim(to) }
  }

  test('keeps a tail until all its slots can be deleted', async () => {
    const { store, count } = await trimmed(9)
    expect(count).toBe(4)
    expect((await keysIn(store, '_log/')).map(key => key.slice(-6))).toEqual(
      ['000000', '4.end', '4.seal', '4.tail', '000011'].map(end => end.padStart(6, '0')),
    )
  })

  test('deletes the tail before its seal and its end', async () => {
    const store = new BusyStore(new InPlaceStore(), key => key.endsWith('.seal'))
    const inner = store.inner as InPlaceStore
    const plain = await open(inner)
    await commit(plain, ...letters(0, 10))
    await commit(await open(inner), 'b0')
    const log = logOf(store)
    await log.trim(10)
    const kinds = (await keysIn(inner, '_log/')).map(key => key.slice('_log/'.length + 20))
    expect(kinds).toEqual(['', '.end', '.seal', ''])
    store.isOpen = () => false
    await log.trim(10)
    expect(await keysIn(inner, '_log/')).toHaveLength(2)
  })

  test('deletes the seal that a writer left that had missed an earlier trim', async () => {
    const { store, b } = await trimmed(10)
    await store.put(sealKey(4), Uint8Array.of(10))
    await b.log.trim(10)
    expect(await keysIn(store, '_log/')).toHaveLength(2)
  })

  test('of a tail whose end a process has not read is noticed', async () => {
    const { store, a, b } = await trimmed(10)
    expect(b.committer.head).toBe(11)
    // What `a` knows of the tail no longer exists, and there is no checkpoint.
    await expect(notesOf(a)).rejects.toMatchObject({
      code: 18,
      message: expect.stringContaining('no longer exists'),
    })
    await expect(open(store)).rejects.toMatchObject({ code: 18 })
  })
})

test('a writer that starts from a checkpoint inside an ended tail does not write a slot of the tail again', async () => {
  const store = new InPlaceStore()
  const a = await open(store)
  await commit(a, ...letters(0, 5))
  const { fold } = a.committer
  await commit(a, ...letters(5, 5))
  await commit(await open(store), 'b0')
  const late = logOf(store)
  expect(await late.has(fold.slot)).toBe(true)
  const bytes = (await late.read(fold.slot + 1))!
  expect(await late.append(fold.slot + 1, bytes)).toBe('taken')
})

/** A store that remembers every change, and when calls were answered. */
class RecordingStore extends InPlaceStore {
  readonly changes: ((files: Map<string, Uint8Array>) => void)[] = []

  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    const outcome = await super.putIfAbsent(key, bytes, signal)
    const copy = bytes.slice()
    if (outcome === 'won') this.changes.push(files => files.set(key, copy.slice()))
    return outcome
  }

  override async delete(key: string, signal?: AbortSignal): Promise<void> {
    await super.delete(key, signal)
    this.changes.push(files => files.delete(key))
  }

  override openInPlace(key: string): BlobInPlace | null {
    const blob = super.openInPlace(key)
    if (blob === null) return null
    return {
      size: blob.size,
      ino: blob.ino,
      read: (offset, target) => blob.read(offset, target),
      sync: () => blob.sync(),
      close: () => blob.close(),
      write: (offset, bytes) => {
        blob.write(offset, bytes)
        const copy = bytes.slice()
        this.changes.push(files => files.get(key)?.set(copy, offset))
      },
    }
  }

  after(changes: number): Map<string, Uint8Array> {
    const files = new Map<string, Uint8Array>()
    for (const change of this.changes.slice(0, changes)) change(files)
    return files
  }
}

test('a copy between any two steps of owner and sealer has every slot that was acknowledged before it', async () => {
  const store = new RecordingStore()
  const [a, b] = [await open(store), await open(store)]
  const acknowledged: { readonly note: string; readonly after: number }[] = []
  const write = async (opened: Opened, ...notes: readonly string[]) => {
    for (const note of notes) {
      await commit(opened, note)
      acknowledged.push({ note, after: store.changes.length })
    }
  }
  await write(a, ...letters(0, 6))
  await Promise.all([write(a, 'a0', 'a1', 'a2'), write(b, 'b0')])
  await write(b, ...letters(6, 6))
  await Promise.all([write(a, 'a3'), write(b, 'b1', 'b2')])
  const order = await notesOf(a)
  const total = store.changes.length
  for (let listed = 1; listed <= total; listed++) {
    for (const copied of new Set([listed, listed + 1, listed + 3, listed + 8, total])) {
      const [names, contents] = [store.after(listed), store.after(Math.min(copied, total))]
      const copy = new InPlaceStore()
      for (const key of names.keys()) {
        const bytes = contents.get(key)
        if (bytes !== undefined) await copy.put(key, bytes)
      }
      const before = acknowledged.filter(({ after }) => after <= listed).map(({ note }) => note)
      const { notes } = (await open(copy)).committer.state
      expect(notes).toEqual(expect.arrayContaining(before))
      // A record that another writer had ended the tail before may be a slot of the copy.
      const common = notes.findIndex((note, i) => note !== order[i])
      expect(common === -1 || common === notes.length - 1, `${notes} after ${listed}, ${copied}`).toBe(true)
    }
  }
})
