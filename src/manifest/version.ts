/** What the catalog knows of a version without reading anything: a link in the table's chain of versions. */
import type { ChangeKind } from './change.js'

export interface VersionRecord {
  readonly version: number
  readonly slot: number
  readonly entry: number
  /** Milliseconds since 1970; never decreases along a table's versions. */
  readonly ts: number
  readonly txn: string
  readonly kind: ChangeKind
  /** The version before it; null for the first. */
  readonly previous: VersionRecord | null
}

/** Versions from the newest to the oldest. */
export function* newestFirst(latest: VersionRecord | null): Generator<VersionRecord> {
  for (let record = latest; record !== null; record = record.previous) yield record
}

/** The record of one version, or undefined. */
export function findVersion(latest: VersionRecord | null, version: number): VersionRecord | undefined {
  for (const record of newestFirst(latest)) {
    if (record.version === version) return record
    if (record.version < version) return undefined
  }
  return undefined
}
