/**
 * Finds the layout of any version of any table, by folding its changes out of the slots that carry them.
 *
 * - A layout is immutable, so what was built once serves every reader; the next version's costs one change.
 * - The fold begins with the nearest of: a layout that is still in memory, the base of the version's start, nothing. A
 *   base that is missing or damaged costs time as long as the log goes back behind it: the fold begins there, and writes it
 *   again. Bases that stand in for slots are looked at before those are trimmed (maintenance/packing).
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

/** Where a table is. */
export interface TablePlace {
  readonly uuid: string
  readonly location: string
}

export interface LayoutStoreOptions {
  /** Write no bases. */
  readonly readOnly: boolean
  /** Where layouts are kept. */
  readonly memory: Memory
  /** Believe a base only where the slots it was made of are gone: for who wants to know whether they are right. Default false. */
  readonly fromNothing?: boolean
  /** Told of bases that are not what was written. */
  readonly onDamaged?: (key: string, error: SheafError) => void
}

/** Schemas that are kept. */
const schemasMax = 1000
/** Slots that are read at the same time. */
const readAhead = 16

/** A change to apply, and where it stands. */
interface Step {
  readonly version: number
  readonly slot: number
  readonly entry: number
}

/** How to come by a layout. */
interface Trail {
  /** Null: from nothing. */
  readonly from: Layout | null
  /** In the order they are applied. */
  readonly steps: readonly Step[]
  /** The newest base that should have been there. */
  readonly lost: LostBase | null
}

interface LostBase {
  readonly version: number
  /** In its place are bytes that were it once; otherwise nothing, or what is not ours to touch. */
  readonly damaged: boolean
}

/** The record of a version is gone: nobody could ask for it any more. */
class VersionForgotten extends SheafError {
  constructor({ uuid }: TablePlace, version: number) {
    super(
      ErrorCode.Internal,
      `version ${version} of table ${uuid} is not in the history: nothing that exists needed it`,
    )
  }
}

/** Whether what was to be read is gone because nothing that exists needed it. */
export function isForgotten(error: unknown): boolean {
  return error instanceof SlotTrimmed || error instanceof VersionForgotten || error instanceof BaseLost
}

/** A fold can begin nowhere else than with a stored layout that is lost. */
export class BaseLost extends SheafError {
  readonly key: string

  constructor(key: string, isDamaged: boolean) {
    const how = isDamaged ? 'damaged' : 'missing'
    super(ErrorCode.Internal, `${quote(key)} is ${how}, and slots that it was made of are gone`, {
      hint: 'restore that file from a backup; versions that do not begin with it can be read',
    })
    this.key = key
  }
}

export class LayoutStore {
  readonly #slots: Slots
  readonly #history: History
  readonly #store: BlobStore
  readonly #readOnly: boolean
  readonly #kept: Partition<Layout>
  readonly #memory: Memory
  readonly #fromNothing: boolean
  readonly #onDamaged: LayoutStoreOptions['onDamaged']
  /** By table and schema id, which is never that of another schema. */
  readonly #schemas = new Map<string, TableSchema>()
  /** Who wants what another is folding waits for it. */
  readonly #turns = new KeyedMutex()

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
    this.#kept = memory.partition('layouts', 'places', memoryOf)
    this.#fromNothing = fromNothing
    this.#onDamaged = onDamaged
  }

  /** Keeps layouts of versions no longer that ceased to exist: seldom does anything still begin with one of them. */
  async forget(uuid: string, first: number, last: number, pacer: Pacer): Promise<void> {
    for (let version = first; version <= last; version++) {
      this.#memory.gone(keyOf(uuid, version))
      await pacer.turn()
    }
  }

  /** What `at` gives, where it is in memory. */
  known({ uuid }: TablePlace, version: number): Layout | undefined {
    return this.#kept.peek(keyOf(uuid, version))
  }

  /** The layout of a version of a sheaf table that was committed, whether it was expired since or not. */
  async at(table: TablePlace, version: number, signal?: AbortSignal): Promise<Layout> {
    signal?.throwIfAborted()
    const known = this.known(table, version)
    if (known !== undefined) return known
    const work = async () =>
      this.#kept.peek(keyOf(table.uuid, version)) ?? (await this.#fold(table, version, signal))
    return this.#turns.run(keyOf(table.uuid, version), work, signal)
  }

  /**
   * The schema `id` of a table, which that version has. What was seen once costs nothing, however many fragments there are.
   */
  async schemaOf(table: TablePlace, id: number, version: number, signal?: AbortSignal): Promise<TableSchema> {
    const key = `${table.uuid}#${id}`
    const known = this.#schemas.get(key)
    if (known !== undefined) return known
    const { schema } = await this.at(table, version, signal)
    assert(schema.id === id, `version ${version} of table ${table.uuid} has schema ${schema.id}, not ${id}`)
    if (this.#schemas.size >= schemasMax) this.#schemas.clear()
    this.#schemas.set(key, schema)
    return schema
  }

  /** Writes the base of a version, unless it is there. Does nothing in a root that is read-only. */
  async writeBase(table: TablePlace, version: number, signal?: AbortSignal): Promise<void> {
    const key = baseKey(table.location, version)
    if (this.#readOnly || (await this.#store.stat(key, signal)) !== null) return
    const layout = await this.at(table, version, signal)
    await this.#store.putIfAbsent(key, await encodeBase(layout, new Pacer(signal)), signal)
  }

  /** Sees to it that the base of a version is there, and whole: for folds that can begin nowhere else. */
  async ensureBase(table: TablePlace, version: number, signal?: AbortSignal): Promise<void> {
    const base = await this.#readBase(table, version, signal)
    if (!('fragments' in base)) await this.#replaceBase(table, await this.at(table, version, signal), base)
  }

  async #fold(table: TablePlace, version: number, signal: AbortSignal | undefined): Promise<Layout> {
    if (!this.#fromNothing) return this.#foldBack(table, version, true, signal)
    try {
      return await this.#foldBack(table, version, false, signal)
    } catch (error) {
      // What lies behind a base is gone where it stands in for that.
      if (!isForgotten(error)) throw error
      return this.#foldBack(table, version, true, signal)
    }
  }

  async #foldBack(
    table: TablePlace,
    version: number,
    believes: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Layout> {
    const { from, steps, lost } = await this.#trace(table, version, believes, signal)
    const builder = new LayoutBuilder(from)
    const pacer = new Pacer(signal)
    for (let i = 0; i < steps.length; i += readAhead) {
      const some = steps.slice(i, i + readAhead)
      const read = Promise.all(some.map(({ slot }) => this.#slots.get(slot)))
      const slots = await orAborted(orLost(read, table, lost), signal)
      for (const [k, step] of some.entries()) {
        builder.apply(changeIn(slots[k]!, table.uuid, step), step.slot)
        if (step.version === lost?.version) await this.#mend(table, builder.layout(), lost)
        if (pacer.due()) await pacer.pause()
      }
    }
    const layout = builder.layout()
    this.#kept.keep(keyOf(table.uuid, version), layout)
    return layout
  }

  /** Goes back from a version to a layout that is known, from start to start. */
  async #trace(
    table: TablePlace,
    version: number,
    believes: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Trail> {
    const pacer = new Pacer(signal)
    const steps: Step[] = []
    let lost: LostBase | null = null
    let isStart = false
    for (let at = version; ; ) {
      const known = at === 0 ? null : this.#kept.peek(keyOf(table.uuid, at))
      if (known !== undefined) return { from: known, steps: steps.reverse(), lost }
      if (isStart && believes) {
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

  async #backFrom(table: TablePlace, version: number, steps: Step[], signal: AbortSignal | undefined) {
    const record = await this.#history.find(table.uuid, version, signal)
    if (record === null) throw new VersionForgotten(table, version)
    const { start } = record
    assert(start !== undefined && start < version, `version ${version} of table ${table.uuid} starts nowhere`)
    return { start, before: await this.#back(table, version, start, steps, signal) }
  }

  /**
   * Adds the steps from a version back to `start`, or to a version whose layout is known, or to a restore, which makes
   * all before it indifferent. Gives the version they are applied to.
   */
  async #back(
    table: TablePlace,
    version: number,
    start: number,
    steps: Step[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let before = version - 1
    while (before > start && !this.#kept.has(keyOf(table.uuid, before))) before--
    const records = await this.#history.range(table.uuid, before + 1, version, signal)
    let next = version
    for (const record of records.reverse()) {
      if (record.version < next) break
      next--
      steps.push({ version: record.version, slot: record.slot, entry: record.entry })
      if (record.kind !== 'restore') continue
      const slot = await this.#slots.get(record.slot, signal)
      const { restore } = changeIn(slot, table.uuid, record)
      assert(restore !== undefined && restore.version < record.version, `version ${version} restores nothing`)
      return restore.version
    }
    if (next > before) throw new VersionForgotten(table, next)
    return before
  }

  async #readBase(
    table: TablePlace,
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

  /** Writes a lost base again. A failure is for the next reader to mend. */
  async #mend(table: TablePlace, layout: Layout, lost: LostBase): Promise<void> {
    if (this.#readOnly) return
    // The fold that needed it has it.
    await this.#replaceBase(table, layout, lost).catch(() => {})
  }

  async #replaceBase(table: TablePlace, layout: Layout, { damaged }: LostBase): Promise<void> {
    const key = baseKey(table.location, layout.version)
    const bytes = await encodeBase(layout, new Pacer())
    if (damaged) await this.#store.delete(key)
    await this.#store.putIfAbsent(key, bytes)
  }
}

/** What reads slots, or records of them, from before a lost base: they are gone where that had to stand in for them. */
async function orLost<T>(read: Promise<T>, { location }: TablePlace, lost: LostBase | null): Promise<T> {
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

/** About how many bytes a layout takes, with what its reader learns: measured. Fragments that layouts share are counted each time. */
function memoryOf({ fragments }: Layout): number {
  let bytes = 1000
  for (const { files, dead, zones } of fragments) {
    bytes += 1100 + 300 * files.length + 100 * dead.parts.length
    if (zones !== undefined) for (const { fields } of files) bytes += 160 * fields.length
  }
  return bytes
}

/** The change that made a version, in its slot. */
export function changeIn(
  { header }: Pick<Slot, 'header'>,
  uuid: string,
  { slot, entry, version }: Step,
): Change {
  const change = header.entries[entry]?.ops.find(op => isChangeOf(op, uuid, version))
  assert(change !== undefined, `slot ${slot} holds no version ${version} of table ${uuid}`)
  return change as unknown as Change
}

function isChangeOf(op: unknown, uuid: string, version: number): boolean {
  const { op: kind, t, v } = op as { op?: unknown; t?: unknown; v?: unknown }
  return kind === 'change' && t === uuid && v === version
}
