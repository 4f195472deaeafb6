/**
 * The record of a version: everything that is known without reading the version's data. Records never change, because a
 * version number is normally used only once per table. The catalog stores which versions still exist.
 */

import type { ChangeKind } from '../protocol/change-kind.js'
import type { NamingScheme } from '../protocol/manifest-name.js'

export interface VersionRecord {
  readonly version: number
  readonly slot: number
  readonly entry: number
  /** The commit time in milliseconds since 1970. It never decreases from one version of a table to the next. */
  readonly ts: number
  readonly txn: string
  /**
   * The source of the version:
   *
   * - a `ChangeKind`: a change of a sheaf table
   * - `lance`: a manifest that a Lance engine committed through the catalog
   * - `pointer`: a path outside the root
   * - `register`: a version that existed when the table was registered
   * - `taken`: a manifest that a Lance engine wrote in place of the committed manifest (`TakenOp`). The record replaces
   *   the earlier records of this version and of all higher versions.
   */
  readonly kind: ChangeKind | 'lance' | 'pointer' | 'register' | 'taken'
  /** Only for versions of sheaf tables: `Change.start`. */
  readonly start?: number
  /** Only for versions of other tables: their manifest. */
  readonly manifest?: ManifestFile
}

/** The manifest of a version whose rows are not in Sheaf's format. */
export interface ManifestFile {
  /**
   * For a lance table: the key of the manifest under its final name. For a pointer table: the path that the caller
   * gave, which Sheaf never opens.
   */
  readonly path: string
  readonly scheme: NamingScheme
  /** The UUID in the name of the staged manifest from which it was copied. Absent if it was never staged. */
  readonly staged?: string
  readonly size?: number
  /** The CRC-32 of its bytes. Absent if Sheaf never read them. */
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
 * An operation in a slot. A Lance engine wrote the final name of version `v` before the catalog could give this name to
 * the committed manifest. The version is then the manifest of the engine. Higher versions were based on the other
 * manifest and never got final names. So they are dropped, and their numbers can be used again.
 */
export interface TakenOp {
  readonly op: 'taken'
  readonly t: string
  readonly v: number
  readonly manifest: ManifestFile
}

/**
 * The registration of a table that exists at a location, as stored in a slot. `versions`: its versions with the size of
 * each manifest in bytes, ascending.
 */
export interface RegisterOp {
  readonly op: 'register'
  readonly t: string
  readonly id: readonly string[]
  readonly location: string
  readonly props: Readonly<Record<string, string>>
  readonly scheme: NamingScheme
  readonly versions: readonly (readonly [version: number, size: number])[]
}
