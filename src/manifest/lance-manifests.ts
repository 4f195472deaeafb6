/**
 * Manifests of tables whose rows a Lance engine keeps: it writes a manifest under a staging name and asks for the version;
 * the log says who got it; the manifest then gets its final name (Lance, "external manifest store").
 *
 * - A version in the log whose manifest has no final name yet is finalised by whoever is asked about it first, so what an
 *   answer names can be opened (STORAGE S6).
 * - A final manifest is a copy, made durable before it is named, and never overwrites another.
 * - Of a path that a client sends only the last segment counts: a manifest lies in its table's `_versions/` (S17).
 */
import { corrupted, ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { crc32 } from '../primitives/checksum.js'
import { manifestName, type NamingScheme, parseManifestName } from '../protocol/manifest-name.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { VersionRecord } from './version.js'

/** The most bytes a manifest may have. */
const manifestBytesMax = 64 * 1024 * 1024

/** What the last bytes of every Lance file are. */
const magic = 'LANC'

/** A table, as far as its manifests go. */
export interface LanceTable {
  readonly uuid: string
  readonly location: string
}

/** A manifest that waits under its staging name. */
export interface StagedManifest {
  /** UUID in its name. */
  readonly staged: string
  /** Key of its final name. */
  readonly path: string
  readonly scheme: NamingScheme
  readonly size: number
  readonly crc: number
}

/** A manifest under its final name. */
export interface FinalManifest {
  readonly path: string
  readonly scheme: NamingScheme
  readonly size: number
  readonly crc: number
}

export class LanceManifests {
  readonly #store: BlobStore
  readonly #readOnly: boolean
  /** By table: the newest version known to have its final name. */
  readonly #finalised = new Map<string, number>()

  /** `readOnly`: nothing is finalised. */
  constructor(store: BlobStore, readOnly: boolean) {
    this.#store = store
    this.#readOnly = readOnly
  }

  /**
   * The staged manifest that `path` names. Throws code 13 when it is not there, names another version, has another size
   * than `size`, or is no Lance file.
   */
  async staged(
    table: LanceTable,
    version: number,
    path: string,
    size: number | undefined,
    signal?: AbortSignal,
  ): Promise<StagedManifest> {
    const name = parseManifestName(path)
    if (name?.staging == null || name.version !== BigInt(version)) {
      throw invalidInput(`manifest_path ${quote(path)} is not a staging name of version ${version}`)
    }
    const final = finalKey(table, version, name.scheme)
    const key = `${final}-${name.staging}`
    const info = await this.#store.stat(key, signal)
    if (info === null) {
      throw invalidInput(`there is no staged manifest ${quote(path)} in the table's location`, {
        hint: `stage it as ${key} in the root`,
      })
    }
    if (size !== undefined && info.size !== size) {
      throw invalidInput(
        `the staged manifest ${quote(path)} has ${info.size} bytes, manifest_size says ${size}`,
      )
    }
    const bytes = await this.#read(key, info.size, signal)
    return {
      staged: name.staging,
      path: final,
      scheme: name.scheme,
      size: bytes.length,
      crc: crc32(bytes),
    }
  }

  /** Whether a version, and so all before it, are known to have their final names. */
  isFinal(table: LanceTable, version: number): boolean {
    return (this.#finalised.get(table.uuid) ?? -1) >= version
  }

  /** A manifest that has the final name of a version already, without anybody having asked here; or null. */
  async final(
    table: LanceTable,
    version: number,
    scheme: NamingScheme,
    signal?: AbortSignal,
  ): Promise<FinalManifest | null> {
    const path = finalKey(table, version, scheme)
    const info = await this.#store.stat(path, signal)
    if (info === null) return null
    const bytes = await this.#read(path, info.size, signal)
    return { path, scheme, size: bytes.length, crc: crc32(bytes) }
  }

  /**
   * Gives the manifest of a committed version its final name, if it has none yet. Throws code 19 when another manifest
   * has that name, corrupted when there is neither.
   */
  async finalise(table: LanceTable, record: VersionRecord, signal?: AbortSignal): Promise<void> {
    const { manifest, version } = record
    if (manifest?.staged === undefined || this.#readOnly) return
    if (this.isFinal(table, version)) return
    const { path, staged, crc } = manifest
    const staging = `${path}-${staged}`
    const bytes = await this.#store.get(staging, signal)
    const outcome =
      bytes !== null && crc32(bytes) === crc ? await this.#store.putIfAbsent(path, bytes, signal) : 'taken'
    if (outcome === 'taken') {
      const final = await this.#store.get(path, signal)
      if (final === null) throw corrupted(`version ${version} is committed, but its manifest ${path} is gone`)
      if (crc32(final) !== crc) {
        throw new SheafError(
          ErrorCode.InvalidTableState,
          `version ${version} was committed outside the catalog: ${path} is not the manifest that was staged`,
          { hint: 'commit to this table through this service only' },
        )
      }
    }
    // The name is durable: what it was copied from has done its service.
    if (bytes !== null) await this.#store.delete(staging)
    this.#finalised.set(table.uuid, Math.max(version, this.#finalised.get(table.uuid) ?? -1))
  }

  /** Keys of the final manifests there are, with their sizes, in byte order. */
  async list(table: LanceTable, signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    for await (const { key, size } of this.#store.list(`${table.location}/_versions/`, undefined, signal)) {
      const name = parseManifestName(key)
      if (name !== null && name.staging === null) found.set(key, size)
    }
    return found
  }

  /** Whether the file of a version is still there: a Lance engine deletes old ones without telling. */
  async isThere(record: VersionRecord, signal?: AbortSignal): Promise<boolean> {
    return record.manifest === undefined || (await this.#store.stat(record.manifest.path, signal)) !== null
  }

  /** Whether a key holds a Lance manifest. */
  async isManifest(key: string, size: number, signal?: AbortSignal): Promise<boolean> {
    if (size < magic.length) return false
    return isMagic(await this.#store.getRange(key, size - magic.length, magic.length, signal))
  }

  async #read(key: string, size: number, signal?: AbortSignal): Promise<Uint8Array> {
    if (size > manifestBytesMax) {
      throw invalidInput(`manifest ${quote(key)} has ${size} bytes, more than ${manifestBytesMax}`)
    }
    const bytes = await this.#store.get(key, signal)
    if (bytes === null || !isMagic(bytes.subarray(-magic.length))) {
      throw invalidInput(`${quote(key)} is no Lance manifest: it does not end in ${magic}`)
    }
    return bytes
  }
}

function isMagic(bytes: Uint8Array): boolean {
  return Buffer.from(bytes).toString('latin1') === magic
}

function finalKey(table: LanceTable, version: number, scheme: NamingScheme): string {
  return `${table.location}/_versions/${manifestName(version, scheme)}`
}
