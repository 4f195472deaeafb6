/**
 * Manifests of tables whose rows are in Lance's format. A Lance engine that uses the catalog writes a manifest under a
 * staging name and then asks the catalog to create the version (Lance, "external manifest store"). An engine without
 * the catalog writes the manifest under its final name. By Lance's rules, this alone commits the version.
 *
 * - For a request that creates one version, the manifest gets its final name first. Then the slot is written.
 * - For a request that creates several versions, the slot is written first. If a manifest has no final name yet, the
 *   next request for its version gives it the final name. So a client can open every version that the catalog returns.
 * - The manifest with the final name is a copy of the staged manifest. The copy is durable before it gets its name, and
 *   it never overwrites another manifest.
 * - Staged manifests and detached manifests (`d<number>.manifest`) are not versions.
 * - Only the last segment of a path that a client sends is used, because a manifest is always in `_versions/` of its
 *   table (S17).
 */
import { corrupted, ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { crc32 } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { manifestName, type NamingScheme, parseManifestName } from '../protocol/manifest-name.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { VersionRecord } from './version.js'

/** Maximum size in bytes of a manifest that Sheaf reads. */
export const manifestBytesMax = 64 * 1024 * 1024

/** The last bytes of every Lance file. */
const magic = 'LANC'

/** The fields of a table that are needed to find its manifests. */
interface LanceTable {
  readonly uuid: string
  readonly location: string
}

/** A manifest under its staging name. */
export interface StagedManifest {
  /** The UUID in the staging name. */
  readonly staged: string
  /** The key under the final name. */
  readonly path: string
  readonly scheme: NamingScheme
  readonly size: number
  readonly crc: number
}

/** A manifest under its final name. */
interface FinalManifest {
  readonly path: string
  readonly scheme: NamingScheme
  readonly size: number
  /** Absent if the manifest is too large to be read. */
  readonly crc?: number
}

/** A manifest under its final name, and the version in the name. */
interface FoundManifest {
  readonly version: number
  readonly manifest: FinalManifest
}

const schemes: readonly NamingScheme[] = ['V2', 'V1']

/** Reads, names and lists manifests in Lance's format. See the head of this file. */
export class LanceManifests {
  readonly #store: BlobStore
  readonly #readOnly: boolean
  /** By table uuid: a version. It is known that this version and all earlier versions have their final names. */
  readonly #finalised = new Map<string, number>()

  /** `readOnly`: whether to give no manifest its final name. */
  constructor(store: BlobStore, readOnly: boolean) {
    this.#store = store
    this.#readOnly = readOnly
  }

  /**
   * Read the staged manifest with the path `path`. Throws InvalidInput if the manifest does not exist, belongs to
   * another version, has another size than `size`, or is not a Lance file. `size`: the expected size in bytes;
   * undefined if unknown.
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
      throw invalidInput(`the staged manifest ${quote(path)} does not exist in the table's location`, {
        hint: `write the manifest to ${key} in the root`,
      })
    }
    if (size !== undefined && info.size !== size) {
      throw invalidInput(
        `the staged manifest ${quote(path)} has ${info.size} bytes, but manifest_size is ${size}`,
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

  /**
   * Give a staged manifest its final name, before the slot of the version is written. Returns false if another manifest
   * has that name. Takes no signal, because the version is committed as soon as its manifest has the final name.
   */
  async name({ path, staged, crc }: StagedManifest): Promise<boolean> {
    const bytes = await this.#store.get(`${path}-${staged}`)
    // If the staged manifest is missing, an earlier attempt may have given it the final name. That is checked below.
    if (bytes !== null && crc32(bytes) !== crc)
      throw invalidInput(`the staged manifest ${staged} was changed after the request began`)
    if (bytes !== null && (await this.#store.putIfAbsent(path, bytes)) === 'won') return true
    const final = await this.#store.get(path)
    return final !== null && crc32(final) === crc
  }

  /** Record that a committed version has its final name, and delete the staged manifest. */
  async named(table: LanceTable, version: number, { path, staged }: StagedManifest): Promise<void> {
    await this.#store.delete(`${path}-${staged}`)
    this.#noteFinal(table, version)
  }

  /** Return whether the staged manifest at `manifestPath` has the same bytes as the final manifest of a version. */
  async isStagedAgain(
    table: LanceTable,
    { version, manifest }: VersionRecord,
    manifestPath: string,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const name = parseManifestName(manifestPath)
    if (name?.staging == null || manifest === undefined) return false
    if (manifest.staged === name.staging) return true
    const staged = await this.#store.get(`${finalKey(table, version, name.scheme)}-${name.staging}`, signal)
    const final = staged && (await this.#store.get(manifest.path, signal))
    return staged !== null && final !== null && Buffer.compare(staged, final) === 0
  }

  /** Return whether it is known that a version and all earlier versions have their final names. */
  isFinal(table: LanceTable, version: number): boolean {
    return (this.#finalised.get(table.uuid) ?? -1) >= version
  }

  /** Return whether a version has a manifest under a final name of any naming scheme. */
  async has(table: LanceTable, version: number, signal?: AbortSignal): Promise<boolean> {
    const infos = await Promise.all(
      schemes.map(scheme => this.#store.stat(finalKey(table, version, scheme), signal)),
    )
    return infos.some(info => info !== null)
  }

  /**
   * Return the final manifests of the versions after `after`, up to the first version without one. Returns at most
   * `limit` manifests.
   */
  async following(
    table: LanceTable,
    after: number,
    limit: number,
    signal?: AbortSignal,
  ): Promise<readonly FoundManifest[]> {
    const found: FoundManifest[] = []
    for (let version = after + 1; found.length < limit && Number.isSafeInteger(version); version++) {
      if (!(await this.has(table, version, signal))) break
      const manifest = await this.#found(table, version, signal)
      if (manifest === null) break
      found.push({ version, manifest })
    }
    return found
  }

  /**
   * Return the final manifests of the lowest `limit` versions above `after`, ascending. Lists the folder, so that
   * versions after a missing version are found too.
   */
  async above(
    table: LanceTable,
    after: number,
    limit: number,
    signal?: AbortSignal,
  ): Promise<readonly FoundManifest[]> {
    const versions = new Set<number>()
    for (const key of (await this.list(table, signal)).keys()) {
      const version = Number(parseManifestName(key)!.version)
      if (version > after && Number.isSafeInteger(version)) versions.add(version)
    }
    const found: FoundManifest[] = []
    for (const version of [...versions].sort((a, b) => a - b)) {
      if (found.length === limit) break
      const manifest = await this.#found(table, version, signal)
      if (manifest !== null) found.push({ version, manifest })
    }
    return found
  }

  /**
   * Return the final manifest of a version. Returns null if no file has the name, or if the file is not a Lance
   * manifest.
   */
  async #found(table: LanceTable, version: number, signal?: AbortSignal): Promise<FinalManifest | null> {
    for (const scheme of schemes) {
      const path = finalKey(table, version, scheme)
      const info = await this.#store.stat(path, signal)
      if (info === null) continue
      const { size } = info
      if (size > manifestBytesMax) {
        if (await this.isManifest(path, size, signal)) return { path, scheme, size }
        continue
      }
      const bytes = await this.#store.get(path, signal)
      if (bytes !== null && isMagic(bytes.subarray(-magic.length))) {
        return { path, scheme, size: bytes.length, crc: crc32(bytes) }
      }
    }
    return null
  }

  /**
   * Give the manifest of a committed version its final name, if it does not have the name yet. Returns null, except if
   * a Lance engine has used the name for another manifest meanwhile. Then returns the manifest of the engine.
   *
   * Throws InvalidTableState if another manifest has the name and the staged manifest is missing. Throws Internal
   * ("corrupted") if both manifests are missing.
   */
  async finalise(
    table: LanceTable,
    record: VersionRecord,
    signal?: AbortSignal,
  ): Promise<FinalManifest | null> {
    const { manifest, version } = record
    if (manifest?.staged === undefined || this.#readOnly) return null
    if (this.isFinal(table, version)) return null
    const { path, staged, crc } = manifest
    const staging = `${path}-${staged}`
    const bytes = await this.#store.get(staging, signal)
    const outcome =
      bytes !== null && crc32(bytes) === crc ? await this.#store.putIfAbsent(path, bytes, signal) : 'taken'
    if (outcome === 'taken') {
      const final = await this.#store.get(path, signal)
      if (final === null)
        throw corrupted(`version ${version} is committed, but its manifest ${path} is missing`)
      if (crc32(final) !== crc) {
        if (bytes !== null) return { path, scheme: manifest.scheme, size: final.length, crc: crc32(final) }
        throw new SheafError(
          ErrorCode.InvalidTableState,
          `version ${version} was committed outside the catalog: ${path} is not the manifest that was committed`,
          { hint: 'restore that file from a backup' },
        )
      }
    }
    // The manifest under the final name is durable, so delete the staged manifest.
    if (bytes !== null) await this.#store.delete(staging)
    this.#noteFinal(table, version)
    return null
  }

  #noteFinal({ uuid }: LanceTable, version: number): void {
    this.#finalised.set(uuid, Math.max(version, this.#finalised.get(uuid) ?? -1))
  }

  /** Return the keys and sizes of all final manifests of a table, in byte order of the keys. */
  async list(table: LanceTable, signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    const pacer = new Pacer(signal)
    for await (const { key, size } of this.#store.list(`${table.location}/_versions/`, undefined, signal)) {
      const name = parseManifestName(key)
      if (name !== null && name.staging === null) found.set(key, size)
      await pacer.turn()
    }
    return found
  }

  /**
   * Return whether the manifest of a version still exists. Lance engines delete old manifests without telling the
   * catalog.
   */
  async isThere(record: VersionRecord, signal?: AbortSignal): Promise<boolean> {
    return record.manifest === undefined || (await this.#store.stat(record.manifest.path, signal)) !== null
  }

  /** Return whether a file ends like a Lance file. `size`: its size in bytes. */
  async isManifest(key: string, size: number, signal?: AbortSignal): Promise<boolean> {
    if (size < magic.length) return false
    return isMagic(await this.#store.getRange(key, size - magic.length, magic.length, signal))
  }

  async #read(key: string, size: number, signal?: AbortSignal): Promise<Uint8Array> {
    if (size > manifestBytesMax) {
      throw invalidInput(
        `manifest ${quote(key)} has ${size} bytes, more than the limit of ${manifestBytesMax} bytes`,
      )
    }
    const bytes = await this.#store.get(key, signal)
    if (bytes === null || !isMagic(bytes.subarray(-magic.length))) {
      throw invalidInput(`${quote(key)} is not a Lance manifest: it does not end in ${magic}`)
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
