/**
 * Opens the log of a root and reads everything that comes from it: the state, old slots, packs, and the history of
 * versions. A root is opened from its newest checkpoint, or from slot 0 if it has none.
 */
import { catalogMachine } from '../catalog/apply.js'
import type { CatalogCommitter } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { type Checkpoint, Checkpoints, slotOfCheckpoint } from '../commit/checkpoints.js'
import { Committer, unknownAfterMsDefault } from '../commit/committer.js'
import { type ExternalLog, openExternalLog, refusePointer } from '../commit/external-log.js'
import { openFileLog } from '../commit/file-log.js'
import { type HintedManifest, type NewestHint, readNewestHint } from '../commit/newest-checkpoint.js'
import { Packs } from '../commit/packs.js'
import { SlotMissing } from '../commit/replay-start.js'
import { decodeGenesis, type Slot } from '../commit/slot.js'
import { Slots } from '../commit/slots.js'
import type { TailedLog } from '../commit/tailed-log.js'
import { assert, corrupted, ErrorCode, SheafError } from '../errors.js'
import { packsOf, pagesOf } from '../maintenance/checkpoint-extra.js'
import { LogSinceCheckpoint } from '../maintenance/checkpointing.js'
import { keptNote } from '../maintenance/kept-note.js'
import { KnownStates } from '../maintenance/known-states.js'
import type { Warn } from '../maintenance/maintenance.js'
import { isDataFile } from '../manifest/file-names.js'
import { History } from '../manifest/history.js'
import { RecentChanges } from '../manifest/recent-changes.js'
import type { Clock } from '../primitives/clock.js'
import type { Memory } from '../primitives/memory.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { CacheDirectory } from '../storage/cache-directory.js'
import { withDiskCache } from '../storage/cached-store.js'
import { DiskCache } from '../storage/disk-cache.js'
import { withPieces } from '../storage/file-pieces.js'
import { KeptState, type StatePlace } from './kept-state.js'

interface RootLogOptions {
  readonly clock: Clock
  /** Whether to write slot 0 if the log is empty. */
  readonly create: boolean
  readonly readOnly: boolean
  /** The log, if it is not in the store. */
  readonly log?: ExternalLog | undefined
  /** A directory with copies of files. Only in object storage. */
  readonly disk?: CacheDirectory | undefined
  /** The place in `disk` for the states of the root. */
  readonly states?: StatePlace | undefined
  /** Maximum age in milliseconds of a state in `states` from which the root is opened. Default 0. */
  readonly maxStalenessMs?: number
  /** As in `CommitterOptions`. */
  readonly onFence?: ((fence: Slot) => void) | undefined
  readonly memory: Memory
  readonly warn: Warn
  /** Called for a damaged file whose content is rebuilt from the log. */
  readonly onDamaged: (key: string, error: SheafError) => void
}

/** Gets notified after the state has changed. Its methods must not throw. */
interface LogListener {
  /** Called after a slot was applied. `state`: the state after the slot. */
  applied(slot: Slot, state: CatalogState): void
  /**
   * Called after the committer has loaded a newer checkpoint. The slots before this checkpoint were not applied one by
   * one.
   */
  reopened(checkpoint: Checkpoint<CatalogState>): void
}

/** The log of an open root. */
export class RootLog {
  /** The store of the root. In object storage, it has what came with the newest checkpoint. */
  readonly store: BlobStore
  readonly log: TailedLog | ExternalLog
  readonly checkpoints: Checkpoints<CatalogState>
  readonly packs: Packs
  readonly slots: Slots
  readonly history: History
  /** The length of the log after the newest checkpoint. */
  readonly sinceCheckpoint = new LogSinceCheckpoint()
  readonly recent = new RecentChanges()
  /** The states of this process at checkpoints. */
  readonly states = new KnownStates()
  /** The checkpoint from which the state was loaded last. Null: the state was loaded from slot 0. */
  opened: Checkpoint<CatalogState> | null
  /** Keeps the newest state on the local disk. */
  kept: KeptState | null = null
  /** Copies of files on the local disk. */
  diskCache: DiskCache | null = null
  /** Manifests that came with the newest checkpoint. */
  hintedManifests: readonly HintedManifest[] = []
  #committer: CatalogCommitter | null = null
  #listener: LogListener | null = null

  private constructor(
    store: BlobStore,
    log: TailedLog | ExternalLog,
    checkpoints: Checkpoints<CatalogState>,
    opened: Checkpoint<CatalogState> | null,
    { memory, onDamaged }: RootLogOptions,
  ) {
    this.store = store
    this.log = log
    this.checkpoints = checkpoints
    this.opened = opened
    if (opened !== null) this.states.add(opened.states)
    this.packs = new Packs(store, opened === null ? [] : packsOf(opened), memory)
    const lookAgain = async () => {
      await this.#findNote()
    }
    this.slots = new Slots(log, catalogMachine.features, memory, { packs: this.packs, lookAgain })
    const findPages = async () => {
      const note = await this.#findNote()
      return note === null ? null : pagesOf(note)
    }
    const pages = opened === null ? [] : pagesOf(opened)
    this.history = new History(store, pages, this.slots, memory, findPages, onDamaged)
  }

  /**
   * Open the newest checkpoint and replay the log after it, or the state that is kept on the disk if it is fresh enough.
   * Throws the errors of `Committer.open`.
   */
  static async open(base: BlobStore, options: RootLogOptions, signal?: AbortSignal): Promise<RootLog> {
    const { states, maxStalenessMs = 0 } = options
    if (states === undefined || maxStalenessMs === 0) return RootLog.#openNewest(base, options, null, signal)
    try {
      const kept = await KeptState.newest(base, states, maxStalenessMs)
      if (kept !== null) return await RootLog.#openNewest(kept.store, options, kept, signal)
    } catch {
      // Something is missing or damaged, so the root is opened from the store.
      signal?.throwIfAborted()
    }
    const recorded = KeptState.recording(base, states)
    return RootLog.#openNewest(recorded.store, options, recorded, signal)
  }

  static async #openNewest(
    base: BlobStore,
    options: RootLogOptions,
    kept: KeptState | null,
    signal: AbortSignal | undefined,
  ): Promise<RootLog> {
    const [hint, { log, first }] = await Promise.all([
      readNewestHint(base, signal),
      openLog(base, options, signal),
    ])
    const open = (hinted: NewestHint | null) =>
      RootLog.#open(base, { log, first, hint: hinted, kept }, options, signal)
    try {
      // Without slot 0, the hint is left from a root that was deleted.
      const hinted = hint === null || first === null ? null : hint
      try {
        const root = hinted && (await open(hinted))
        if (root !== null) return root
      } catch (error) {
        // The log may be restored to a time before the hint.
        if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) throw error
      }
      return (await open(null))!
    } catch (error) {
      await log.close?.()
      throw error
    }
  }

  /** Open a root from the checkpoint of the hint. Returns null if that checkpoint is missing or damaged. */
  static async #open(
    base: BlobStore,
    { log, first, hint, kept }: OpenLog & Pick<RootLog, 'kept'> & { readonly hint: NewestHint | null },
    options: RootLogOptions,
    signal: AbortSignal | undefined,
  ): Promise<RootLog | null> {
    const { clock, create, readOnly, warn, disk } = options
    let cache: DiskCache | null = null
    const near = disk === undefined ? base : withDiskCache(base, key => (isDataFile(key) ? cache : null))
    const store = hint === null ? near : withPieces(near, hint.pieces)
    const skipped = new Map<string, SheafError>()
    const checkpoints = new Checkpoints(store, catalogMachine, clock, (key, error) => {
      skipped.set(key, error)
      warn(`${key} cannot be used: the root is opened from an older checkpoint, or from its log`, error)
    })
    if (first !== null) checkpoints.belongTo(decodeGenesis(first, catalogMachine.features).genesis.root)
    const opened = hint === null ? await checkpoints.newest(signal) : await checkpoints.at(hint.name, signal)
    if (hint !== null && opened === null) return null
    const newer = async (after: number) => {
      const known = await readNewestHint(base)
      const isNewer = known !== null && (slotOfCheckpoint(known.name) ?? -1) > after
      return (isNewer ? await checkpoints.at(known.name) : null) ?? checkpoints.newest(undefined, after)
    }
    const root = new RootLog(store, log, checkpoints, opened, options)
    root.kept = kept
    root.hintedManifests = hint?.manifests ?? []
    const committing = {
      clock,
      create,
      place: base.name,
      readOnly,
      slots: root.slots,
      onApplied: (slot: Slot, state: CatalogState) => root.#applied(slot, state),
      onFence: options.onFence,
      first: first ?? undefined,
      base: opened ?? undefined,
      newer,
      onReopened: (base: unknown) => root.#reopened(base as Checkpoint<CatalogState>),
      ageMs: kept?.ageMs ?? 0,
      onEnd: (head: number, ageMs: number) => kept?.confirmed(head, ageMs),
    }
    root.#committer = await Committer.open(log, catalogMachine, committing, signal).catch(error => {
      const isTrimmed = error instanceof SlotMissing && error.slot === 1 && root.opened === null
      throw isTrimmed ? withoutCheckpoint(error, skipped) : error
    })
    checkpoints.belongTo(root.committer.genesis.root)
    cache = disk === undefined ? null : new DiskCache(disk, root.committer.genesis.root)
    root.diskCache = cache
    kept?.opened()
    return root
  }

  get committer(): CatalogCommitter {
    assert(this.#committer !== null, 'a part of the log was read before the log was open')
    return this.#committer
  }

  /** Notify `listener` of all later changes. Replaces the previous listener. */
  notify(listener: LogListener): void {
    this.#listener = listener
  }

  #applied(slot: Slot, state: CatalogState): void {
    this.states.note(slot.header.slot, state)
    this.history.note(slot)
    this.sinceCheckpoint.note(slot)
    this.recent.note(slot)
    this.#listener?.applied(slot, state)
  }

  #reopened(checkpoint: Checkpoint<CatalogState>): void {
    this.opened = checkpoint
    this.history.seal(pagesOf(checkpoint))
    this.packs.adopt(packsOf(checkpoint))
    this.sinceCheckpoint.clear()
    this.states.reset(checkpoint.states)
    this.#listener?.reopened(checkpoint)
  }

  /** Return the note of the newest counting checkpoint, and use its packs from now on. Null if there is none. */
  async #findNote() {
    // If the log cannot be read, use the newest state that is already known.
    await this.committer.refresh().catch(() => {})
    const note = await keptNote(this.checkpoints, this.committer.state)
    if (note !== null) this.packs.adopt(packsOf(note))
    return note
  }
}

interface OpenLog {
  readonly log: TailedLog | ExternalLog
  /** Slot 0; null if the root does not exist. */
  readonly first: Uint8Array | null
}

/** Open the log, and read its slot 0. */
async function openLog(
  store: BlobStore,
  { clock, create, readOnly, log }: RootLogOptions,
  signal: AbortSignal | undefined,
): Promise<OpenLog> {
  if (log !== undefined) {
    const { features } = catalogMachine
    const opening = { clock, create: create && !readOnly, features, unknownAfterMs: unknownAfterMsDefault }
    return { log, first: await openExternalLog(store, log, opening, signal) }
  }
  const own = await openFileLog(store, { clock, readOnly }, signal)
  if (own.first !== null) refusePointer(own.first, store.name)
  return own
}

/**
 * Return the error for a log whose first slots were trimmed but which has no usable checkpoint. Its message says why
 * each checkpoint cannot be used.
 */
function withoutCheckpoint(cause: SlotMissing, skipped: ReadonlyMap<string, SheafError>): SheafError {
  const found = [...skipped.values()].map(({ message }) => message)
  const why = found.length > 0 ? found.join('; ') : '_ckpt/ has no checkpoint'
  return corrupted(`${cause.message}, and there is no usable checkpoint: ${why}`, {
    hint: 'restore the files of _ckpt/ from a backup',
    cause,
  })
}
