/**
 * Manifests of tables whose rows are in Lance's format. A Lance engine that uses the catalog writes a manifest under a
 * staging name, then requests the version (Lance, "external manifest store"). An engine without the catalog writes the
 * final name itself: by Lance's rules that is a commit too.
 *
 * - A single version gets its final name first, then its slot.
 * - A batch gets its slot first. If one of its versions has no final name yet, the next request for the version gives
 *   it one. So every version of an answer can be opened.
 * - A final manifest is a copy. It is durable before it gets its name, and never overwrites another manifest.
 * - Staged manifests and detached ones (`d<number>.manifest`) are not versions.
 * - Of a path that a client sends only the last segment counts: a manifest is in its table's `_versions/` (S17).
 */
import { corrupted, ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { crc32 } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { manifestName, type NamingScheme, parseManifestName } from '../protocol/manifest-name.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { VersionRecord } from './version.js'

/** Largest manifest that is read, bytes. */
const manifestBytesMax = 64 * 1024 * 1024

/** The last bytes of every Lance file. */
const magic = 'LANC'

/** The fields of a table that locate its manifests. */
interface LanceTable {
  readonly uuid: string
  readonly location: string
}

/** A manifest under its staging name. */
export interface StagedManifest {
  /** UUID of the staging name. */
  readonly staged: string
  /** Key of the final name. */
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

/** A final manifest, and the version in its name. */
interface FoundManifest {
  readonly version: number
  readonly manifest: FinalManifest
}

const schemes: readonly NamingScheme[] = ['V2', 'V1']

/** Reads, names and lists manifests in Lance's format. See the head of this file. */
export class LanceManifests {
  readonly #store: BlobStore
  readonly #readOnly: boolean
  /** By table, the newest version that is known to have its final name. */
  readonly #finalised = new Map<string, number>()

  /** `readOnly`: give no final names. */
  constructor(store: BlobStore, readOnly: boolean) {
    this.#store = store
    this.#readOnly = readOnly
  }

  /**
   * Read the staged manifest that `path` names. Throws InvalidInput when the manifest does not exist, is of another
   * version, has another size than `size`, or is not a Lance file.
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

  /**
   * Give a staged manifest the final name of its version, before the log has the version. Returns false if another
   * manifest has that name. Takes no signal: a manifest with a final name is a commit.
   */
  async name({ path, staged, crc }: StagedManifest): Promise<boolean> {
    const bytes = await this.#store.get(`${path}-${staged}`)
    // If the call is a repetition, the first call may have succeeded meanwhile.
    if (bytes !== null && crc32(bytes) !== crc)
      throw invalidInput(`the manifest staged as ${staged} was changed`)
    if (bytes !== null && (await this.#store.putIfAbsent(path, bytes)) === 'won') return true
    const final = await this.#store.get(path)
    return final !== null && crc32(final) === crc
  }

  /** Note that a version of the log has its final name, and delete the staged manifest. */
  async named(table: LanceTable, version: number, { path, staged }: StagedManifest): Promise<void> {
    await this.#store.delete(`${path}-${staged}`)
    this.#noteFinal(table, version)
  }

  /** Return whether `manifestPath` names the manifest of this version, byte for byte. */
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

  /** Return whether a version and all earlier versions are known to have their final names. */
  isFinal(table: LanceTable, version: number): boolean {
    return (this.#finalised.get(table.uuid) ?? -1) >= version
  }

  /** Return whether a version has a final manifest, in any naming scheme. */
  async has(table: LanceTable, version: number, signal?: AbortSignal): Promise<boolean> {
    const infos = await Promise.all(
      schemes.map(scheme => this.#store.stat(finalKey(table, version, scheme), signal)),
    )
    return infos.some(info => info !== null)
  }

  /** Return the final manifests of the versions directly above `after`, up to the first missing one, at most `limit`. */
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

  /** Return the final manifests of the lowest `limit` versions above `after`, ascending. Lists the folder. */
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

  /** Return the final manifest of a version; null if there is none, or if the file is not a manifest. */
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
   * Give the manifest of a version in the log its final name, if it has none yet. If a Lance engine took the name
   * meanwhile, returns the engine's manifest; null otherwise.
   *
   * Throws InvalidTableState when another manifest has the name and the staged one is missing. Throws Internal
   * ("corrupted") when both are missing.
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
      if (final === null) throw corrupted(`version ${version} is committed, but its manifest ${path} is gone`)
      if (crc32(final) !== crc) {
        if (bytes !== null) return { path, scheme: manifest.scheme, size: final.length, crc: crc32(final) }
        throw new SheafError(
          ErrorCode.InvalidTableState,
          `version ${version} was committed outside the catalog: ${path} is not the manifest that was committed`,
          { hint: 'restore that file from a backup' },
        )
      }
    }
    // The final name is durable, so the staged manifest is not needed any more.
    if (bytes !== null) await this.#store.delete(staging)
    this.#noteFinal(table, version)
    return null
  }

  #noteFinal({ uuid }: LanceTable, version: number): void {
    this.#finalised.set(uuid, Math.max(version, this.#finalised.get(uuid) ?? -1))
  }

  /** List the keys and sizes of final manifests, in byte order. */
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

  /** Return whether the manifest of a version still exists: a Lance engine deletes old manifests without the catalog. */
  async isThere(record: VersionRecord, signal?: AbortSignal): Promise<boolean> {
    return record.manifest === undefined || (await this.#store.stat(record.manifest.path, signal)) !== null
  }

  /** Return whether a file is a Lance manifest. */
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
