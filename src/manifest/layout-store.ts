/**
 * Computes the manifest of any version of any table by replaying the table's changes from the slots of the log.
 *
 * - Manifests are immutable, so all readers of a version share one object. To compute the manifest of the next version,
 *   one change is applied.
 * - Replay begins with a cached manifest, with a stored manifest (a base, layout-base.ts), or with an empty table. It
 *   uses the nearest one before the version.
 * - If a base is missing or damaged while the log still has the slots before it, replay begins earlier and writes the
 *   base again. So only time is lost.
 * - A base is checked before the slots that it replaces are trimmed (maintenance/packing).
 */
import type { HintedManifest } from '../commit/newest-checkpoint.js'
import type { Slot } from '../commit/slot.js'
import { type Slots, SlotTrimmed } from '../commit/slots.js'
import { assert, ErrorCode, quote, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { KeyedMutex } from '../primitives/keyed-mutex.js'
import type { Memory, Partition } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Change } from './change.js'
import type { History } from './history.js'
import { type FragmentLine, isShort, type Layout, LayoutBuilder, linesOf } from './layout.js'
import {
  type BasePart,
  baseBefore,
  baseKey,
  basesOf,
  decodeBase,
  encodeBase,
  layoutOfBase,
} from './layout-base.js'
import type { TableSchema } from './table-schema.js'

/** The identity and the folder of a table. */
export interface TableAddress {
  readonly uuid: string
  readonly location: string
  /**
   * The slots of the changes that make the versions `start + 1` to `mark`, in order, from the state of the catalog.
   * Absent, or not as many as these versions: the history has to be read.
   */
  readonly changes?: readonly number[]
  readonly start?: number
  readonly mark?: number
}

interface LayoutStoreOptions {
  /** Whether to write no bases. */
  readonly readOnly: boolean
  /** The cache of manifests. */
  readonly memory: Memory
  /**
   * Whether to read a base only if the slots before it were trimmed. Callers that check bases set this. Default false.
   */
  readonly fromNothing?: boolean
  /** Manifests that came with the newest checkpoint. Each is decoded when a manifest of its table is needed. */
  readonly hinted?: readonly HintedManifest[]
  /** Called for each damaged base. */
  readonly onDamaged?: (key: string, error: SheafError) => void
}

/** Maximum number of cached schemas. */
const schemasMax = 1000
/** Maximum number of slots that are read concurrently. */
const readAhead = 16

/** The position of a change in the log, and the version that it makes. */
interface Step {
  readonly version: number
  readonly slot: number
  /** Null if the entry of the slot is not known. */
  readonly entry: number | null
}

/** The steps that compute a manifest. */
interface ReplayPlan {
  /** The manifest with which replay begins; null for an empty table. */
  readonly from: Layout | null
  /** The changes to apply, in order. */
  readonly steps: readonly Step[]
  /** The newest base that was found to be missing or damaged; null if there is none. */
  readonly lost: LostBase | null
}

interface LostBase {
  readonly version: number
  /**
   * True if the file under the key of the base is a damaged base. False if there is no file, or a file that Sheaf must
   * not change.
   */
  readonly damaged: boolean
}

/** The error for a version whose history record was dropped because no version needed it. */
class VersionForgotten extends SheafError {
  constructor({ uuid }: TableAddress, version: number) {
    super(
      ErrorCode.Internal,
      `version ${version} of table ${uuid} was removed from the history, because no version and no index needed it`,
    )
  }
}

/** Return whether an error means that a record, slot or base no longer exists because no kept version needs it. */
export function isForgotten(error: unknown): boolean {
  return error instanceof SlotTrimmed || error instanceof VersionForgotten || error instanceof BaseLost
}

/** The error if replay must begin with a base that is missing or damaged. */
export class BaseLost extends SheafError {
  readonly key: string

  constructor(key: string, isDamaged: boolean) {
    const how = isDamaged ? 'damaged' : 'missing'
    super(
      ErrorCode.Internal,
      `${quote(key)} is ${how}, and the slots from which it could be rebuilt were trimmed`,
      {
        hint: 'restore that file from a backup; versions that do not need it can be read',
      },
    )
    this.key = key
  }
}

/** Finds and caches manifests of versions. See the head of this file. */
export class LayoutStore {
  readonly #slots: Slots
  readonly #history: History
  readonly #store: BlobStore
  readonly #readOnly: boolean
  readonly #cache: Partition<Layout>
  readonly #memory: Memory
  readonly #fromNothing: boolean
  readonly #onDamaged: LayoutStoreOptions['onDamaged']
  /** By table: the manifest that came with the newest checkpoint, if it was not needed yet. */
  readonly #hinted: Map<string, HintedManifest>
  /** By table and schema id: the schema. The schema with an id never changes. */
  readonly #schemas = new Map<string, TableSchema>()
  /** Makes concurrent callers for the same manifest share one replay. */
  readonly #replays = new KeyedMutex()

  constructor(
    slots: Slots,
    history: History,
    store: BlobStore,
    { readOnly, memory, fromNothing = false, hinted = [], onDamaged }: LayoutStoreOptions,
  ) {
    this.#slots = slots
    this.#history = history
    this.#store = store
    this.#readOnly = readOnly
    this.#memory = memory
    this.#cache = memory.partition('layouts', 'places', layoutBytes)
    this.#fromNothing = fromNothing
    this.#onDamaged = onDamaged
    this.#hinted = new Map(hinted.map(each => [each.table, each]))
  }

  /** Evict the manifests of versions that no longer exist, because they are rarely needed again. */
  async forget(uuid: string, first: number, last: number, pacer: Pacer): Promise<void> {
    for (let version = first; version <= last; version++) {
      this.#memory.gone(keyOf(uuid, version))
      await pacer.turn()
    }
  }

  /** Return the manifest of a version if it is in the cache. */
  known({ uuid }: TableAddress, version: number): Layout | undefined {
    return this.#cache.peek(keyOf(uuid, version))
  }

  /** Return the manifest of a committed version of a sheaf table. The version may have expired. */
  async at(table: TableAddress, version: number, signal?: AbortSignal): Promise<Layout> {
    signal?.throwIfAborted()
    const known = this.known(table, version)
    if (known !== undefined) return known
    const work = async () => {
      await this.#takeHint(table)
      return this.#cache.peek(keyOf(table.uuid, version)) ?? (await this.#replay(table, version, signal))
    }
    return this.#replays.run(keyOf(table.uuid, version), work, signal)
  }

  /** Put the manifest of a table that came with the newest checkpoint into the cache. */
  async #takeHint({ uuid }: TableAddress): Promise<void> {
    const hint = this.#hinted.get(uuid)
    if (hint === undefined) return
    this.#hinted.delete(uuid)
    const name = `the manifest of version ${hint.version} that came with the checkpoint`
    try {
      const part = await decodeBase(hint.bytes, uuid, hint.version, name, new Pacer())
      this.#cache.keep(keyOf(uuid, hint.version), layoutOfBase(part, null, name))
    } catch (error) {
      // The manifest is computed from the log.
      if (!(error instanceof SheafError)) throw error
    }
  }

  /** Return the whole manifest of a version, in the format of bases. */
  async encoded(table: TableAddress, version: number, signal?: AbortSignal): Promise<Uint8Array> {
    return encodeBase(await this.at(table, version, signal), null, new Pacer(signal))
  }

  /**
   * Return the schema of a table with the id `id`. `version`: a version that has this schema. A schema in the cache is
   * returned without computing a manifest.
   */
  async schemaOf(
    table: TableAddress,
    id: number,
    version: number,
    signal?: AbortSignal,
  ): Promise<TableSchema> {
    const key = `${table.uuid}#${id}`
    const known = this.#schemas.get(key)
    if (known !== undefined) return known
    const { schema } = await this.at(table, version, signal)
    assert(schema.id === id, `version ${version} of table ${table.uuid} has schema ${schema.id}, not ${id}`)
    if (this.#schemas.size >= schemasMax) this.#schemas.clear()
    this.#schemas.set(key, schema)
    return schema
  }

  /** Write the base of a version if it does not exist. Does nothing if the root is read-only. */
  async writeBase(table: TableAddress, version: number, signal?: AbortSignal): Promise<void> {
    const key = baseKey(table.location, version)
    if (this.#readOnly || (await this.#store.stat(key, signal)) !== null) return
    const layout = await this.at(table, version, signal)
    // Later bases have the difference to one of these manifests. If it were evicted, it would be read as a whole.
    for (const before of basesOf(version)) this.#cache.peek(keyOf(table.uuid, before))
    await this.#store.putIfAbsent(key, await this.encodedBase(table, layout, signal), signal)
  }

  /** Return the bytes of the base of a version with the manifest `layout`. */
  async encodedBase(table: TableAddress, layout: Layout, signal?: AbortSignal): Promise<Uint8Array> {
    const version = baseBefore(layout.version)
    return encodeBase(
      layout,
      version === 0 ? null : await this.#before(table, version, signal),
      new Pacer(signal),
    )
  }

  /** Return the manifest of the base before. Prefer the base to a replay: the changes before it may be trimmed. */
  async #before(table: TableAddress, version: number, signal: AbortSignal | undefined): Promise<Layout> {
    const known = this.known(table, version)
    if (known !== undefined) return known
    const base = this.#fromNothing ? null : await this.#readBase(table, version, signal)
    if (base === null || !('table' in base)) return this.at(table, version, signal)
    this.#cache.keep(keyOf(table.uuid, version), base)
    return base
  }

  /**
   * Check that the base of a version exists and is undamaged, with the bases before it that it refers to. Write them
   * again if not. Call this before the slots that the base replaces are trimmed.
   */
  async ensureBase(table: TableAddress, version: number, signal?: AbortSignal): Promise<void> {
    for (const each of basesOf(version).reverse()) {
      const base = await this.#readBase(table, each, signal)
      if (!('table' in base)) await this.#replaceBase(table, await this.at(table, each, signal), base)
    }
  }

  async #replay(table: TableAddress, version: number, signal: AbortSignal | undefined): Promise<Layout> {
    if (!this.#fromNothing) return this.#replayFrom(table, version, true, signal)
    try {
      return await this.#replayFrom(table, version, false, signal)
    } catch (error) {
      // The slots may have been trimmed because a base replaces them, so use the bases.
      if (!isForgotten(error)) throw error
      return this.#replayFrom(table, version, true, signal)
    }
  }

  async #replayFrom(
    table: TableAddress,
    version: number,
    trustsBases: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Layout> {
    const { from, steps, lost } = await this.#trace(table, version, trustsBases, signal)
    const builder = new LayoutBuilder(from)
    let isRepaired = false
    const pacer = new Pacer(signal)
    for (let i = 0; i < steps.length; i += readAhead) {
      const some = steps.slice(i, i + readAhead)
      const read = Promise.all(some.map(({ slot }) => this.#slots.get(slot)))
      const slots = await orAborted(orLost(read, table, lost), signal)
      for (const [k, step] of some.entries()) {
        builder.apply(changeIn(slots[k]!, table.uuid, step), step.slot)
        if (step.version === lost?.version) {
          const before = builder.layout()
          this.#cache.keep(keyOf(table.uuid, before.version), before)
          await this.#repair(table, before, lost)
          isRepaired = true
        }
        if (pacer.due()) await pacer.pause()
      }
    }
    const layout = builder.layout()
    this.#cache.keep(keyOf(table.uuid, version), layout)
    // A restore may have led the replay past the lost base.
    if (lost !== null && !isRepaired && !this.#readOnly) {
      const before = await this.at(table, lost.version, signal).catch(() => null)
      signal?.throwIfAborted()
      if (before !== null) await this.#repair(table, before, lost)
    }
    return layout
  }

  /** Go back from a version until a cached manifest or a base is found. Returns it with the changes after it. */
  async #trace(
    table: TableAddress,
    version: number,
    trustsBases: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ReplayPlan> {
    const pacer = new Pacer(signal)
    const steps: Step[] = []
    // The newest version may have a base of its own. It is written some time after the version. So if it does not exist,
    // a reader does not write it.
    let own: LostBase | null = null
    if (!this.#fromNothing && version > 0 && version === table.start) {
      const base = await this.#readBase(table, version, signal)
      if ('table' in base) return { from: base, steps, lost: null }
      own = base
    }
    let lost: LostBase | null = null
    let isStart = false
    for (let at = version; ; ) {
      const known = at === 0 ? null : this.#cache.peek(keyOf(table.uuid, at))
      if (known !== undefined) return { from: known, steps: steps.reverse(), lost }
      if (isStart && trustsBases) {
        const base = await this.#readBase(table, at, signal)
        if ('table' in base) return { from: base, steps: steps.reverse(), lost }
        lost ??= base
      }
      const { start, before } = await orLost(this.#backFrom(table, at, steps, signal), table, lost ?? own)
      isStart = before === start
      at = before
      await pacer.turn()
    }
  }

  async #backFrom(table: TableAddress, version: number, steps: Step[], signal: AbortSignal | undefined) {
    const known = changesTo(table, version)
    if (known !== null) {
      let before = version
      do {
        steps.push({ version: before, slot: known.slots[before - known.start - 1]!, entry: null })
        before--
      } while (before > known.start && !this.#cache.has(keyOf(table.uuid, before)))
      return { start: known.start, before }
    }
    const record = await this.#history.find(table.uuid, version, signal)
    if (record === null) throw new VersionForgotten(table, version)
    const { start } = record
    assert(
      start !== undefined && start < version,
      `version ${version} of table ${table.uuid} has no valid start`,
    )
    return { start, before: await this.#back(table, version, start, steps, signal) }
  }

  /**
   * Add the steps from a version back to `start`. Stop earlier at a version with a cached manifest, or at a restore,
   * because the result of a restore does not depend on the versions before it. Returns the version to whose manifest
   * the steps are applied.
   */
  async #back(
    table: TableAddress,
    version: number,
    start: number,
    steps: Step[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let before = version - 1
    while (before > start && !this.#cache.has(keyOf(table.uuid, before))) before--
    const records = await this.#history.range(table.uuid, before + 1, version, signal)
    let next = version
    for (const record of records.reverse()) {
      if (record.version < next) break
      next--
      steps.push({ version: record.version, slot: record.slot, entry: record.entry })
      if (record.kind !== 'restore') continue
      const slot = await this.#slots.get(record.slot, signal)
      const { restore } = changeIn(slot, table.uuid, record)
      assert(
        restore !== undefined && restore.version < record.version,
        `version ${version} does not restore an earlier version`,
      )
      return restore.version
    }
    if (next > before) throw new VersionForgotten(table, next)
    return before
  }

  /** Read the base of a version, and the bases before it that it refers to. */
  async #readBase(
    table: TableAddress,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<Layout | LostBase> {
    const versions = basesOf(version)
    const parts = await Promise.all(versions.map(each => this.#readPart(table, each, signal)))
    let layout: Layout | null = null
    for (const part of parts.reverse()) {
      if (!('table' in part)) return part
      try {
        layout = layoutOfBase(part, layout, baseKey(table.location, part.version))
      } catch (error) {
        return this.#lostBase(table, part.version, error)
      }
    }
    return layout!
  }

  async #readPart(
    table: TableAddress,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<BasePart | LostBase> {
    const key = baseKey(table.location, version)
    try {
      const bytes = await this.#store.get(key, signal)
      if (bytes === null) return { version, damaged: false }
      return await decodeBase(bytes, table.uuid, version, key, new Pacer(signal))
    } catch (error) {
      signal?.throwIfAborted()
      return this.#lostBase(table, version, error)
    }
  }

  #lostBase(table: TableAddress, version: number, error: unknown): LostBase {
    if (!(error instanceof SheafError)) throw error
    const damaged = error.code === ErrorCode.Internal
    if (damaged) this.#onDamaged?.(baseKey(table.location, version), error)
    return { version, damaged }
  }

  /** Write a lost base again. Ignores errors: the reader has its manifest already, and the next reader tries again. */
  async #repair(table: TableAddress, layout: Layout, lost: LostBase): Promise<void> {
    if (this.#readOnly) return
    await this.#replaceBase(table, layout, lost).catch(() => {})
  }

  async #replaceBase(table: TableAddress, layout: Layout, { damaged }: LostBase): Promise<void> {
    const key = baseKey(table.location, layout.version)
    const bytes = await this.encodedBase(table, layout)
    if (damaged) await this.#store.delete(key)
    await this.#store.putIfAbsent(key, bytes)
  }
}

/**
 * Wait for a read of slots or records before a lost base. If they were trimmed, throw `BaseLost`, because the base was
 * the only replacement.
 */
async function orLost<T>(read: Promise<T>, { location }: TableAddress, lost: LostBase | null): Promise<T> {
  try {
    return await read
  } catch (error) {
    if (lost === null || !isForgotten(error)) throw error
    throw new BaseLost(baseKey(location, lost.version), lost.damaged)
  }
}

/** Return the slots of the changes after the version with which replay begins, if the state of the catalog has them. */
function changesTo({ changes, start, mark }: TableAddress, version: number) {
  if (changes === undefined || start === undefined || mark === undefined) return null
  const isKnown = changes.length === mark - start && start < version && version <= mark
  return isKnown ? { start, slots: changes } : null
}

function keyOf(uuid: string, version: number): string {
  return `${uuid}@${version}`
}

/** Number of fragments from which on only some of them are measured. */
const measuredMax = 1000

/**
 * Return the estimated memory of a manifest in bytes, including data that its readers cache in it. The numbers were
 * measured. Fragments that several manifests share are counted for each manifest. Of many fragments, evenly spaced ones
 * stand for all.
 */
export function layoutBytes(layout: Layout): number {
  const lines = linesOf(layout)
  const step = Math.ceil(lines.length / measuredMax)
  let bytes = 0
  let measured = 0
  for (let i = 0; i < lines.length; i += step) {
    bytes += memoryOfLine(lines[i]!)
    measured++
  }
  return 1000 + (measured === 0 ? 0 : Math.round((bytes / measured) * lines.length))
}

function memoryOfLine(line: FragmentLine): number {
  if (isShort(line)) return 1400
  const { files, dead, zones } = line
  const columns = zones === undefined ? 0 : files.reduce((sum, { fields }) => sum + fields.length, 0)
  return 1100 + 300 * files.length + 100 * dead.parts.length + 160 * columns
}

/** Return the change in a slot that made a version. */
export function changeIn(
  { header }: Pick<Slot, 'header'>,
  uuid: string,
  { slot, entry, version }: Step,
): Change {
  const entries = entry === null ? header.entries : header.entries.slice(entry, entry + 1)
  let change: unknown
  for (const { ops } of entries) change ??= ops.find(op => isChangeOf(op, uuid, version))
  assert(change !== undefined, `slot ${slot} does not contain version ${version} of table ${uuid}`)
  return change as Change
}

function isChangeOf(op: unknown, uuid: string, version: number): boolean {
  const { op: kind, t, v } = op as { op?: unknown; t?: unknown; v?: unknown }
  return kind === 'change' && t === uuid && v === version
}
