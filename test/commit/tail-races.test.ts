/**
 * Orders of steps, and leftovers of power losses, that the models and the histories of tails found, or that reading the
 * code suggested.
 */
import { describe, expect, test } from 'vitest'
import { Committer } from '../../src/commit/committer.js'
import { KnownTail } from '../../src/commit/known-tail.js'
import type { Fold } from '../../src/commit/machine.js'
import { encodeSlot, statedChecksum } from '../../src/commit/slot.js'
import {
  encodeMark,
  encodeRecord,
  encodeTailEnd,
  endKey,
  tailKey,
  validRecord,
} from '../../src/commit/tail.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { BlobInPlace, BlobStore } from '../../src/storage/blob-store.js'
import { InPlaceStore } from '../support/in-place-store.js'
import { keysIn, WrappedStore } from '../support/stores.js'
import { add, gate, type Tally, tally } from './tally.js'

interface Opened {
  readonly log: TailedLog
  readonly committer: Committer<Tally>
}

/** The checkpoint that processes find. */
interface Checkpoint {
  fold?: Fold<Tally>
}

async function open(store: BlobStore, checkpoint: Checkpoint = {}): Promise<Opened> {
  const log = new TailedLog(store, { clock: systemClock, readOnly: false })
  const committer = await Committer.open(log, tally, {
    clock: systemClock,
    create: true,
    readOnly: false,
    unknownAfterMs: 200,
    base: checkpoint.fold,
    newer: async after =>
      checkpoint.fold !== undefined && checkpoint.fold.slot > after ? checkpoint.fold : null,
  })
  return { log, committer }
}

async function commit({ committer }: Opened, ...notes: readonly string[]): Promise<void> {
  for (const note of notes) await committer.commit(add(1, note))
}

const notesOf = async ({ committer }: Opened) => (await committer.refresh()).notes
const letters = (from: number, count: number) => Array.from({ length: count }, (_, i) => `n${from + i}`)

/** A store whose blobs a test can change. */
class OpenStore extends InPlaceStore {
  bytesOf(key: string): Uint8Array {
    return this.blobs.get(key)!.bytes
  }

  /** Return a function that undoes a later deletion of a blob. */
  keep(key: string): () => void {
    const blob = this.blobs.get(key)!
    return () => this.blobs.set(key, blob)
  }
}

/** The tail of slot 4 has slots 5 to 10, and a record that its end does not count. Slot 11 has a file. */
async function withDeadRecord() {
  const store = new OpenStore()
  const [a, b] = [await open(store), await open(store)]
  await commit(a, ...letters(0, 10))
  await commit(b, 'b0')
  const bytes = store.bytesOf(tailKey(4))
  let at = 64
  let crc = statedChecksum((await a.log.read(4))!)!
  for (let record = validRecord(bytes, at, crc); record !== null; record = validRecord(bytes, at, crc)) {
    at = record.next
    crc = record.crc
  }
  const header = { need: ['tally'], slot: 11, prev: crc.toString(16).padStart(8, '0'), by: 'x', ts: 1 }
  const entry = { txn: 'x', req: [], ops: [{ from: 10, add: 1, note: 'dead' }] }
  bytes.set(
    encodeRecord(encodeSlot({ ...header, entries: [entry] }, [JSON.stringify(entry)], []).bytes, crc),
    at,
  )
  return { store, b, checkpoint: { fold: b.committer.fold } }
}

describe('a power loss that undoes the deletion of a tail, but not that of its end', () => {
  const undone = async () => {
    const { store, b, checkpoint } = await withDeadRecord()
    const undo = store.keep(tailKey(4))
    await b.log.trim(10)
    undo()
    return { store, checkpoint }
  }

  test('does not make a slot of a record that the end did not count', async () => {
    const { store, checkpoint } = await undone()
    const opened = await open(store, checkpoint)
    await commit(opened, 'c0')
    expect(await notesOf(opened)).toEqual([...letters(0, 10), 'b0', 'c0'])
    expect(await store.get(endKey(4))).toBeNull()
  })

  test('does not make a slot of it either if a late writer has written another end', async () => {
    const { store, checkpoint } = await undone()
    const tail = (await KnownTail.open(store, 4))!
    await tail.learnMarked()
    const copies = await tail.beyond()
    const end = { records: 7, crc: statedChecksum(copies[0]!)!, copies }
    await store.put(endKey(4), encodeTailEnd(end, tail.crc))
    expect(await notesOf(await open(store, checkpoint))).toEqual([...letters(0, 10), 'b0'])
  })

  test('does not stop later trims', async () => {
    const { store, checkpoint } = await undone()
    const opened = await open(store, checkpoint)
    await opened.log.trim(10)
    expect((await keysIn(store, '_log/')).map(key => Number(key.slice(5)))).toEqual([0, 11])
  })
})

test('a process on another machine that opens the root while a tail is trimmed continues from the checkpoint', async () => {
  const store = new InPlaceStore()
  const [a, b] = [await open(store), await open(store)]
  await commit(a, ...letters(0, 10))
  await commit(b, 'b0')
  /** A tail is there when this store is asked for its size, and trimmed before its head is read. */
  class Remote extends WrappedStore {
    protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
      if (call === 'readInto' && key === tailKey(4)) {
        checkpoint.fold = b.committer.fold
        await b.log.trim(10)
      }
      return run()
    }
  }
  const checkpoint: Checkpoint = {}
  const remote = new Remote(store)
  delete remote.peek
  expect(await notesOf(await open(remote, checkpoint))).toEqual([...letters(0, 10), 'b0'])
})

test('an owner that creates its tail after the log was trimmed past it leaves no tail', async () => {
  const store = new InPlaceStore()
  const checkpoint: Checkpoint = {}
  const [a, b] = [await open(store, checkpoint), await open(store, checkpoint)]
  await commit(a, ...letters(0, 4))
  await commit(b, 'b0')
  expect(b.committer.head).toBe(5)
  checkpoint.fold = b.committer.fold
  await b.log.trim(4)
  await commit(a, 'a0')
  for (const each of [a, b, await open(store, checkpoint)])
    expect(await notesOf(each)).toEqual([...letters(0, 4), 'b0', 'a0'])
  expect((await keysIn(store, '_log/')).filter(key => key.endsWith('.tail'))).toEqual([])
})

test('an owner that has missed the end and the trim of its tail fills another tail later', async () => {
  const store = new InPlaceStore()
  const checkpoint: Checkpoint = {}
  const [a, b] = [await open(store, checkpoint), await open(store, checkpoint)]
  await commit(a, ...letters(0, 10))
  await commit(b, 'b0')
  checkpoint.fold = b.committer.fold
  await b.log.trim(10)
  await a.committer.refresh()
  await commit(a, ...letters(10, 40))
  expect((await keysIn(store, '_log/')).filter(key => key.endsWith('.tail'))).toHaveLength(1)
})

test('the end of a tail is durable before the file of the slot after it is written', async () => {
  /** Notes when names become durable. */
  class NotingStore extends InPlaceStore {
    readonly notes: string[] = []

    async sync(prefix: string): Promise<void> {
      this.notes.push(`sync ${prefix}`)
    }

    override putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
      this.notes.push(key)
      return super.putIfAbsent(key, bytes)
    }
  }
  const store = new NotingStore()
  const [a, b, c] = [await open(store), await open(store), await open(store)]
  await commit(a, ...letters(0, 10))
  await b.committer.refresh()
  await c.committer.refresh()
  const bytes = (await c.log.read(10))!
  await b.log.append(10, bytes)
  expect(store.notes.at(-1)).toBe(endKey(4))
  await commit(c, 'c0')
  expect(store.notes.slice(-2)).toEqual(['sync _log/', expect.stringMatching(/11$/)])
})

test('a tail whose records and whose end are read at the same time has each slot once', async () => {
  const { store } = await withDeadRecord()
  const whole = (await KnownTail.open(store, 4))!
  await whole.learn(6)
  const copy = (await whole.read(10))!
  const tail = (await KnownTail.open(store, 4))!
  await tail.learn(5)
  const end = { records: 6, crc: statedChecksum(copy)!, copies: [copy] }
  await Promise.all([tail.learnMarked(), tail.finish(end)])
  expect(tail.last).toBe(10)
  expect(tail.crc).toBe(end.crc)
})

test('a call that learns of a new mark while another one ends the tail does not change the end', async () => {
  const store = new OpenStore()
  const a = await open(store)
  await commit(a, ...letters(0, 10))
  const mark = (records: number) => store.bytesOf(tailKey(4)).set(encodeMark(records))
  mark(5)
  const { opened, open: release } = gate()
  let isHeld = true
  /** Holds the first read of the record after the mark. */
  class Held extends WrappedStore {
    protected around<T>(_call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
      return run()
    }

    override async readInto(key: string, offset: number, target: Uint8Array): Promise<void> {
      await super.readInto(key, offset, target)
      if (target.length !== 8 || offset === 0 || !isHeld) return
      isHeld = false
      mark(6)
      release()
      while (log.fileOf(10) !== tailKey(4)) await systemClock.yield()
    }
  }
  const log = new TailedLog(new Held(store), { clock: systemClock, readOnly: false })
  const bytes = (await a.log.read(10))!
  await log.read(9)
  const appending = log.append(10, bytes)
  await opened
  await log.read(10)
  await appending
  expect(await notesOf(await open(store))).toEqual(letters(0, 10))
})

test('a list of tails that is read while a newer slot is found does not hide a tail', async () => {
  const store = new InPlaceStore()
  const first = await open(store)
  await commit(first, ...letters(0, 10))
  const { opened, open: release } = gate()
  let isHeld = true
  class Held extends WrappedStore {
    protected around<T>(_call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
      return run()
    }

    override async *list(prefix: string, startAfter?: string, signal?: AbortSignal) {
      const found = []
      for await (const each of super.list(prefix, startAfter, signal)) found.push(each)
      if (isHeld) await opened
      yield* found
    }
  }
  const log = new TailedLog(new Held(store), { clock: systemClock, readOnly: false })
  const listing = log.bases()
  await commit(await open(store), 'b0')
  const writer = await open(store)
  await commit(writer, ...letters(10, 10))
  await commit(await open(store), 'c0')
  const last = (await open(store)).committer.head
  await log.read(last)
  isHeld = false
  release()
  await listing
  expect(await log.read(last - 1)).not.toBeNull()
})

test('a process that opens the root does not end the tail of an owner that goes on', async () => {
  let looks = 0
  let isOpening = false
  /** While another process opens the root, a record is between its write and its mark at each look of the process. */
  class BusyOwnerStore extends InPlaceStore {
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
          const from = looks
          while (isOpening && looks < from + 2) await systemClock.yield()
        },
      }
    }

    override get(key: string): Promise<Uint8Array | null> {
      if (key === endKey(4)) looks++
      return super.get(key)
    }
  }
  const store = new BusyOwnerStore()
  const a = await open(store)
  await commit(a, ...letters(0, 10))
  isOpening = true
  let committing = commit(a, 'n10')
  await systemClock.yield()
  await systemClock.yield()
  const opening = open(store).then(opened => {
    isOpening = false
    return opened
  })
  let count = 11
  for (; isOpening; count++) {
    await committing
    committing = commit(a, `n${count}`)
  }
  await committing
  expect(await notesOf(await opening)).toEqual(letters(0, count))
  expect(await store.get(endKey(4))).toBeNull()
})
