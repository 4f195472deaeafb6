/** The simulation can fail: each broken disk below is found out within a few seeds. */
import { describe, expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import { decodeSlot, encodeSlot } from '../../src/commit/slot.js'
import type { BlobMark } from '../../src/storage/blob-store.js'
import { simulate } from './simulate.js'
import type { ProcessClock } from './time.js'
import { Disk, Violation } from './world.js'

/** A second conditional put replaces the first. */
class OverwritingDisk extends Disk {
  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    await this.delete(key)
    return super.putIfAbsent(key, bytes, signal)
  }
}

/** Keeps the last slot in memory only: it is gone when a process dies. */
class UnsyncedDisk extends Disk {
  #unsynced = ''

  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    if (key.startsWith('_log/') && !this.peek(key)) this.#unsynced = key
    return super.putIfAbsent(key, bytes, signal)
  }

  override processDied(): void {
    if (this.#unsynced === '') return
    this.log.delete(Number(this.#unsynced.slice('_log/'.length)))
    this.delete(this.#unsynced)
  }
}

/** Hides from every fifth winner that it won: whoever does not find its own slot commits again. */
class DenyingDisk extends Disk {
  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    const number = Number(key.slice('_log/'.length))
    if (!key.startsWith('_log/') || number % 5 !== 4 || this.peek(key)) {
      return super.putIfAbsent(key, bytes, signal)
    }
    const slot = decodeSlot(bytes, number, catalogMachine.features)
    const { entries } = slot.header
    const texts = entries.map(entry => JSON.stringify(entry))
    const blobs = slot.header.blobs.map((_, i) => slot.blob(i))
    await super.putIfAbsent(key, encodeSlot({ ...slot.header, by: 'nobody' }, texts, blobs).bytes, signal)
    return 'taken'
  }
}

/** Readers see a slot only some time after it was acknowledged. */
class StaleDisk extends Disk {
  #hidden = ''

  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    const outcome = await super.putIfAbsent(key, bytes, signal)
    if (outcome === 'won' && key.startsWith('_log/') && this.head > 2) this.#hidden = key
    return outcome
  }

  override async get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    return key === this.#hidden ? null : super.get(key, signal)
  }

  override peek(key: string): BlobMark | null {
    return key === this.#hidden ? null : super.peek(key)
  }
}

/** Data files are lost though their put was acknowledged. */
class LossyDisk extends Disk {
  override async putStream(
    _: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<void> {
    for await (const chunk of chunks) void chunk
  }
}

const name = 'memory://simulation'

describe('a disk that', () => {
  test.each<[string, (clock: ProcessClock) => Disk, RegExp]>([
    ['overwrites what it should refuse', clock => new OverwritingDisk(name, clock), /call \d+|follow/],
    [
      'does not sync what it acknowledges',
      clock => new UnsyncedDisk(name, clock),
      /slot \d+ is (missing|gone)|is not in the log|explains|does not follow/,
    ],
    ['denies a winner its slot', clock => new DenyingDisk(name, clock), /stands in|twice/],
    ['shows a slot late', clock => new StaleDisk(name, clock), /missing|explains/],
    ['loses data files', clock => new LossyDisk(name, clock), /\.arrow is missing/],
  ])('%s is found out', async (_, makeDisk, how) => {
    let found: unknown = null
    for (let seed = 0; seed < 300 && found === null; seed++) {
      found = await simulate(seed, { makeDisk }).then(
        () => null,
        error => error,
      )
    }
    expect(found).toBeInstanceOf(Violation)
    expect((found as Violation).message).toMatch(how)
    expect((found as Violation).message).toMatch(/npm run story -- --seed \d+/)
  })
})
