/** Derives version records from slots. The records depend only on the slot, so every reader gets the same records. */
import type { Slot } from '../commit/slot.js'
import { manifestName } from '../protocol/manifest-name.js'
import type { Change } from './change.js'
import type { RegisterOp, TakenOp, VersionOp, VersionRecord } from './version.js'

/** Call `take` for each version record of a slot, in log order. */
export function eachRecord(
  { header }: Pick<Slot, 'header'>,
  take: (table: string, record: VersionRecord) => void,
): void {
  const { slot, ts } = header
  for (const [entry, { txn, ops }] of header.entries.entries()) {
    for (const op of ops as readonly (Change | VersionOp | TakenOp | RegisterOp | { readonly op: null })[]) {
      switch (op.op) {
        case 'change':
          take(op.t, { version: op.v, slot, entry, ts, txn, kind: op.kind, start: op.start ?? 0 })
          break
        case 'version':
          take(op.t, { version: op.v, slot, entry, ts, txn, kind: op.kind, manifest: op.manifest })
          break
        case 'taken':
          take(op.t, { version: op.v, slot, entry, ts, txn, kind: 'taken', manifest: op.manifest })
          break
        case 'register':
          for (const [version, size] of op.versions) {
            const path = `${op.location}/_versions/${manifestName(version, op.scheme)}`
            const manifest = { path, scheme: op.scheme, size, meta: {} }
            take(op.t, { version, slot, entry, ts, txn, kind: 'register', manifest })
          }
      }
    }
  }
}
