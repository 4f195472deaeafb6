/**
 * Finds the manifest of any version of any table by replaying its changes from the slots of the log.
 *
 * - A manifest is immutable, so every reader shares it. The manifest of the next version costs one change.
 * - Replay begins with the nearest of: a cached manifest, the base of the version's start, nothing. A base is a stored
 *   manifest (layout-base.ts).
 * - A missing or damaged base costs only time as long as the log still has the slots before it. Replay then begins
 *   earlier, and writes the base again.
 * - Before the slots that a base replaces are trimmed, the base is checked (maintenance/packing).
 */
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
import { type Layout, LayoutBuilder } from './layout.js'
import { baseKey, decodeBase, encodeBase } from './layout-base.js'
import type { TableSchema } from './table-schema.js'

/** The identity and the folder of a table. */
export interface TableAddress {
  readonly uuid: string
  readonly location: string
}

interface LayoutStoreOptions {
  /** Write no bases. */
  readonly readOnly: boolean
  /** The cache of manifests. */
  readonly memory: Memory
  /** Read a base only if the slots it was made of were trimmed. For callers that check bases. Default false. */
  readonly fromNothing?: boolean
  /** Called for each damaged base. */
  readonly onDamaged?: (key: string, error: SheafError) => void
}

/** Number of cached schemas. */
const schemasMax = 1000
/** Slots that are read at the same time. */
const readAhead = 16

/** A change to apply, and its position in the log. */
interface Step {
  readonly version: number
  readonly slot: number
  readonly entry: number
}

/** How to derive a manifest. */
interface ReplayPlan {
  /** The manifest to begin with; null to begin with nothing. */
  readonly from: Layout | null
  /** In the order in which the changes are applied. */
  readonly steps: readonly Step[]
  /** The newest base that is missing or damaged. */
  readonly lost: LostBase | null
}

interface LostBase {
  readonly version: number
  /** Whether there are damaged bytes of a base under its key. If false: nothing, or a file that Sheaf must not touch. */
  readonly damaged: boolean
}

/** Thrown for a version whose record was dropped because no version needs it any more. */
class VersionForgotten extends SheafError {
  constructor({ uuid }: TableAddress, version: number) {
    super(
      ErrorCode.Internal,
      `version ${version} of table ${uuid} was removed from the history: nothing needed it any more`,
    )
  }
}

/** Return whether an error says that something was removed because nothing needed it any more. */
export function isForgotten(error: unknown): boolean {
  return error instanceof SlotTrimmed || error instanceof VersionForgotten || error instanceof BaseLost
}

/** Thrown when replay must begin with a base that is missing or damaged. */
export class BaseLost extends SheafError {
  readonly key: string

  constructor(key: string, isDamaged: boolean) {
    const how = isDamaged ? 'damaged' : 'missing'
    super(ErrorCode.Internal, `${quote(key)} is ${how}, and the slots that it was made of were trimmed`, {
      hint: 'restore that file from a backup; versions that do not need it can be read',
    })
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
  /** Schemas by table and schema id. An id never changes its schema. */
  readonly #schemas = new Map<string, TableSchema>()
  /** Callers that want the same manifest share one replay. */
  readonly #replays = new KeyedMutex()

  constructor(
    slots: Slots,
    history: History,
    store: BlobStore,
    { readOnly, memory, fromNothing = false, onDamaged }: LayoutStoreOptions,
  ) {
    this.#slots = slots
    this.#history = history
    this.#store = store
    this.#readOnly = readOnly
    this.#memory = memory
    this.#cache = memory.partition('layouts', 'places', memoryOf)
    this.#fromNothing = fromNothing
    this.#onDamaged = onDamaged
  }

  /** Evict the manifests of versions that ceased to exist: manifests are seldom derived from them. */
  async forget(uuid: string, first: number, last: number, pacer: Pacer): Promise<void> {
    for (let version = first; version <= last; version++) {
      this.#memory.gone(keyOf(uuid, version))
      await pacer.turn()
    }
  }

  /** Return what `at` returns, if it is in the cache. */
  known({ uuid }: TableAddress, version: number): Layout | undefined {
    return this.#cache.peek(keyOf(uuid, version))
  }

  /** Return the manifest of a committed version of a sheaf table, expired or not. */
  async at(table: TableAddress, version: number, signal?: AbortSignal): Promise<Layout> {
    signal?.throwIfAborted()
    const known = this.known(table, version)
    if (known !== undefined) return known
    const work = async () =>
      this.#cache.peek(keyOf(table.uuid, version)) ?? (await this.#replay(table, version, signal))
    return this.#replays.run(keyOf(table.uuid, version), work, signal)
  }

  /**
   * Return schema `id` of a table. `version`: a version with this schema. A cached schema costs nothing, whatever the
   * number of fragments.
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

  /** Write the base of a version, unless it exists. Does nothing in a read-only root. */
  async writeBase(table: TableAddress, version: number, signal?: AbortSignal): Promise<void> {
    const key = baseKey(table.location, version)
    if (this.#readOnly || (await this.#store.stat(key, signal)) !== null) return
    const layout = await this.at(table, version, signal)
    await this.#store.putIfAbsent(key, await encodeBase(layout, new Pacer(signal)), signal)
  }

  /** Make sure that the base of a version exists and is undamaged, for versions that can only be derived from it. */
  async ensureBase(table: TableAddress, version: number, signal?: AbortSignal): Promise<void> {
    const base = await this.#readBase(table, version, signal)
    if (!('fragments' in base)) await this.#replaceBase(table, await this.at(table, version, signal), base)
  }

  async #replay(table: TableAddress, version: number, signal: AbortSignal | undefined): Promise<Layout> {
    if (!this.#fromNothing) return this.#replayFrom(table, version, true, signal)
    try {
      return await this.#replayFrom(table, version, false, signal)
    } catch (error) {
      // The slots before a base may be trimmed if the base replaces them.
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
    const pacer = new Pacer(signal)
    for (let i = 0; i < steps.length; i += readAhead) {
      const some = steps.slice(i, i + readAhead)
      const read = Promise.all(some.map(({ slot }) => this.#slots.get(slot)))
      const slots = await orAborted(orLost(read, table, lost), signal)
      for (const [k, step] of some.entries()) {
        builder.apply(changeIn(slots[k]!, table.uuid, step), step.slot)
        if (step.version === lost?.version) await this.#repair(table, builder.layout(), lost)
        if (pacer.due()) await pacer.pause()
      }
    }
    const layout = builder.layout()
    this.#cache.keep(keyOf(table.uuid, version), layout)
    return layout
  }

  /** Go back from a version to a known manifest, from start to start. Returns the manifest and the steps from it. */
  async #trace(
    table: TableAddress,
    version: number,
    trustsBases: boolean,
    signal: AbortSignal | undefined,
  ): Promise<ReplayPlan> {
    const pacer = new Pacer(signal)
    const steps: Step[] = []
    let lost: LostBase | null = null
    let isStart = false
    for (let at = version; ; ) {
      const known = at === 0 ? null : this.#cache.peek(keyOf(table.uuid, at))
      if (known !== undefined) return { from: known, steps: steps.reverse(), lost }
      if (isStart && trustsBases) {
        const base = await this.#readBase(table, at, signal)
        if ('fragments' in base) return { from: base, steps: steps.reverse(), lost }
        lost ??= base
      }
      const { start, before } = await orLost(this.#backFrom(table, at, steps, signal), table, lost)
      isStart = before === start
      at = before
      await pacer.turn()
    }
  }

  async #backFrom(table: TableAddress, version: number, steps: Step[], signal: AbortSignal | undefined) {
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
   * Add the steps from a version back to `start`, or to a version with a cached manifest, or to a restore, which
   * replaces everything before it. Returns the version to which the steps are applied.
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

  async #readBase(
    table: TableAddress,
    version: number,
    signal: AbortSignal | undefined,
  ): Promise<Layout | LostBase> {
    const key = baseKey(table.location, version)
    try {
      const bytes = await this.#store.get(key, signal)
      if (bytes === null) return { version, damaged: false }
      return await decodeBase(bytes, table.uuid, version, key, new Pacer(signal))
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof SheafError)) throw error
      const damaged = error.code === ErrorCode.Internal
      if (damaged) this.#onDamaged?.(key, error)
      return { version, damaged }
    }
  }

  /** Write a lost base again. If that fails, the next reader tries again. */
  async #repair(table: TableAddress, layout: Layout, lost: LostBase): Promise<void> {
    if (this.#readOnly) return
    // The reader has its manifest already, so the error is ignored.
    await this.#replaceBase(table, layout, lost).catch(() => {})
  }

  async #replaceBase(table: TableAddress, layout: Layout, { damaged }: LostBase): Promise<void> {
    const key = baseKey(table.location, layout.version)
    const bytes = await encodeBase(layout, new Pacer())
    if (damaged) await this.#store.delete(key)
    await this.#store.putIfAbsent(key, bytes)
  }
}

/** Read slots or records from before a lost base. If they were trimmed, throw `BaseLost`. */
async function orLost<T>(read: Promise<T>, { location }: TableAddress, lost: LostBase | null): Promise<T> {
  try {
    return await read
  } catch (error) {
    if (lost === null || !isForgotten(error)) throw error
    throw new BaseLost(baseKey(location, lost.version), lost.damaged)
  }
}

function keyOf(uuid: string, version: number): string {
  return `${uuid}@${version}`
}

/**
 * About the memory of a manifest with what its readers cache in it, bytes: measured. Fragments that manifests share are
 * counted each time.
 */
function memoryOf({ fragments }: Layout): number {
  let bytes = 1000
  for (const { files, dead, zones } of fragments) {
    bytes += 1100 + 300 * files.length + 100 * dead.parts.length
    if (zones !== undefined) for (const { fields } of files) bytes += 160 * fields.length
  }
  return bytes
}

/** Return the change that made a version, from its slot. */
export function changeIn(
  { header }: Pick<Slot, 'header'>,
  uuid: string,
  { slot, entry, version }: Step,
): Change {
  const change = header.entries[entry]?.ops.find(op => isChangeOf(op, uuid, version))
  assert(change !== undefined, `slot ${slot} holds no version ${version} of table ${uuid}`)
  return change as Change
}

function isChangeOf(op: unknown, uuid: string, version: number): boolean {
  const { op: kind, t, v } = op as { op?: unknown; t?: unknown; v?: unknown }
  return kind === 'change' && t === uuid && v === version
}
