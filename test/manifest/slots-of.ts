/** A log written by hand: one slot per call, for everything that reads slots. */
import { BlobLog } from '../../src/commit/blob-log.js'
import type { Entry } from '../../src/commit/machine.js'
import { encodeSlot, type Slot } from '../../src/commit/slot.js'
import { Slots } from '../../src/commit/slots.js'
import type { Change } from '../../src/manifest/change.js'
import type { RegisterOp, VersionOp } from '../../src/manifest/version.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

export type Op = Change | VersionOp | RegisterOp | { readonly op: 'namespace' }

export const firstTs = 1_763_680_000_000

/** Slots from 1 on in a store; the time of slot n is `firstTs` + n, its entries' ids are `<n>/<entry>`. */
export class HandLog {
  readonly log: BlobLog
  head = 0

  constructor(store: BlobStore) {
    this.log = new BlobLog(store)
  }

  /** Appends a slot of these entries, each with its operations. */
  async append(...entries: readonly (readonly Op[])[]): Promise<Slot> {
    const slot = ++this.head
    const full = entries.map((ops, i): Entry => ({ txn: txnOf(slot, i), req: [], ops }))
    const texts = full.map(entry => JSON.stringify(entry))
    const header = { need: [], slot, prev: '00000000', by: 'w', ts: firstTs + slot, entries: full }
    const encoded = encodeSlot(header, texts, [])
    await this.log.append(slot, encoded.bytes)
    return encoded.slot
  }

  /** Slots as a process that has just begun reads them. */
  slots(): Slots {
    return new Slots(this.log, new Set())
  }
}

export function txnOf(slot: number, entry: number): string {
  return `${slot}/${entry}`
}
