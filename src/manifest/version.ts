/**
 * The record of a version: what is known without reading its data. A version number is used once per table, so a record
 * never changes. Whether the version still exists is in the table's head.
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
   * The source of the version: a change of rows, a manifest committed by a Lance engine, a path outside the root, or a
   * version found at registration. `taken`: the manifest of an engine that replaces the manifest of the log. Its record
   * replaces the records of its number and of all higher ones.
   */
  readonly kind: ChangeKind | 'lance' | 'pointer' | 'register' | 'taken'
  /** For versions of sheaf tables: `Change.start`. */
  readonly start?: number
  /** For all other versions. */
  readonly manifest?: ManifestFile
}

/** The manifest of a version whose rows are not in Sheaf's format. */
export interface ManifestFile {
  /**
   * For a lance table: the key of its final name in the store. For a pointer: the caller's path, which Sheaf never
   * opens.
   */
  readonly path: string
  readonly scheme: NamingScheme
  /** UUID of the staging file that it was copied from. */
  readonly staged?: string
  readonly size?: number
  /** CRC-32 of its bytes, if Sheaf read them. */
  readonly crc?: number
  readonly etag?: string
  readonly meta: Readonly<Record<string, string>>
}

/** A version of a lance or pointer table, as stored in a slot. */
export interface VersionOp {
  readonly op: 'version'
  readonly t: string
  readonly v: number
  readonly kind: 'lance' | 'pointer'
  readonly manifest: ManifestFile
}

/**
 * A Lance engine wrote the final name of version `v` before the manifest that the log has for the version, as stored in
 * a slot. The version is what the engine wrote. Versions above it were based on the other manifest and never had final
 * names: they are dropped, and their numbers are free.
 */
export interface TakenOp {
  readonly op: 'taken'
  readonly t: string
  readonly v: number
  readonly manifest: ManifestFile
}

/** A table found at a location, as stored in a slot: its versions and the size of each manifest, ascending. */
export interface RegisterOp {
  readonly op: 'register'
  readonly t: string
  readonly id: readonly string[]
  readonly location: string
  readonly props: Readonly<Record<string, string>>
  readonly scheme: NamingScheme
  readonly versions: readonly (readonly [version: number, size: number])[]
}
