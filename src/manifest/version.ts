/**
 * What is known of a version without reading its data. A number is used once per table and never again, so the record
 * of (table, version) never changes; whether the version still exists is for the table's head to say.
 */

import type { ChangeKind } from '../protocol/change-kind.js'
import type { NamingScheme } from '../protocol/manifest-name.js'

export interface VersionRecord {
  readonly version: number
  readonly slot: number
  readonly entry: number
  /** Milliseconds since 1970; never decreases along a table's versions. */
  readonly ts: number
  readonly txn: string
  /**
   * What made it: a change of rows, a manifest committed by a Lance engine, a path to somewhere, or found when registered. `taken`: the manifest of an
   * engine in the place of the one that the log had; this record replaces those of its number and of all above.
   */
  readonly kind: ChangeKind | 'lance' | 'pointer' | 'register' | 'taken'
  /** Of a sheaf version: `Change.start`. */
  readonly start?: number
  /** Of every other version. */
  readonly manifest?: ManifestFile
}

/** The manifest of a version whose rows are not ours. */
export interface ManifestFile {
  /** Of a lance table: the key of its final place in the store. Of a pointer: what the caller said, never opened. */
  readonly path: string
  readonly scheme: NamingScheme
  /** UUID of the staging file it came as. */
  readonly staged?: string
  readonly size?: number
  /** CRC-32 of its bytes, where they were seen. */
  readonly crc?: number
  readonly etag?: string
  readonly meta: Readonly<Record<string, string>>
}

/** A version of a lance or pointer table, as it stands in a slot. */
export interface VersionOp {
  readonly op: 'version'
  readonly t: string
  readonly v: number
  readonly kind: 'lance' | 'pointer'
  readonly manifest: ManifestFile
}

/**
 * A Lance engine took the final name of version `v` before the manifest that the log has for it got there, as it stands in a slot: the version is what
 * the engine wrote. Versions above it were made on top of the other manifest and never had final names: they are gone, and their numbers are free.
 */
export interface TakenOp {
  readonly op: 'taken'
  readonly t: string
  readonly v: number
  readonly manifest: ManifestFile
}

/** A table found at a location, as it stands in a slot: its versions and the size of each manifest, ascending. */
export interface RegisterOp {
  readonly op: 'register'
  readonly t: string
  readonly id: readonly string[]
  readonly location: string
  readonly props: Readonly<Record<string, string>>
  readonly scheme: NamingScheme
  readonly versions: readonly (readonly [version: number, size: number])[]
}
