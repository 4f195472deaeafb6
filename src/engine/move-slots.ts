/** Does the steps of a move of a commit log. The head of commit/log-moves.ts lists them. */
import { slotKey } from '../commit/blob-log.js'
import type { CommitLog } from '../commit/commit-log.js'
import type { ExternalLog } from '../commit/external-log.js'
import { fenceOf, type MovedOp, moveKey, nameOf, newestMove, type RecordedMove } from '../commit/log-moves.js'
import { coveredBy } from '../commit/packs.js'
import { readSlots } from '../commit/read-slots.js'
import {
  type DecodedGenesis,
  decodeGenesis,
  decodePointer,
  encodeMovedGenesis,
  movedFeature,
  type Slot,
} from '../commit/slot.js'
import { TailedLog } from '../commit/tailed-log.js'
import { assert, corrupted, invalidInput, quote, type SheafError } from '../errors.js'
import { packsOf } from '../maintenance/checkpoint-extra.js'
import type { Clock } from '../primitives/clock.js'
import { Memory } from '../primitives/memory.js'
import { Ambiguous, type BlobStore } from '../storage/blob-store.js'
import { RootLog } from './root-log.js'

interface Move {
  readonly from: ExternalLog | undefined
  readonly to: ExternalLog | 'files'
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

const features: ReadonlySet<string> = new Set([movedFeature])
/** Size in bytes of the cache of slots. */
const cacheBytes = 32 * 1024 * 1024
/** Number of slots that are read together. */
const readAtOnce = 16
/** Maximum number of attempts to write a slot whose outcome is unknown. */
const attempts = 5

/** Move the log of the root in `store`. See `moveLog`. */
export async function moveSlots(
  store: BlobStore,
  move: Move,
): Promise<{ readonly slot: number; readonly copied: number }> {
  const { from, to, clock, signal } = move
  const newest = await newestMove(store, signal)
  if (newest !== null && (await isLogOf(newest, to))) return { slot: newest.slot, copied: 0 }
  if (from === undefined && to === 'files') throw await noMove(store, newest, signal)
  let fence: Slot | null = null
  const root = await RootLog.open(
    store,
    {
      clock,
      create: false,
      readOnly: false,
      log: from,
      onFence(slot) {
        fence = slot
      },
      memory: new Memory(cacheBytes),
      warn: () => {},
      onDamaged: () => {},
    },
    signal,
  )
  try {
    const start = decodeGenesis((await root.log.read(0, signal))!, features)
    if (fence === null) {
      await refuseSlots(to)
      const op: MovedOp = { op: 'moved', move: (start.moved?.move ?? 0) + 1, log: targetName(to) }
      // If another call has moved the log meanwhile, this one continues that move.
      await root.committer.commit(() => (fence === null ? { ops: [op], need: [movedFeature] } : null), {
        signal,
      })
    }
    assert(fence !== null, 'the fence was written')
    return await afterFence(store, root, start, fence, move)
  } finally {
    await root.committer.close()
  }
}

/** Copy the slots to the new log, and make it the log of the root. */
async function afterFence(
  store: BlobStore,
  root: RootLog,
  start: DecodedGenesis,
  fence: Slot,
  { to, clock, signal }: Move,
) {
  const { move, log } = fenceOf(fence)!
  const { slot } = fence.header
  if (log !== targetName(to)) {
    throw invalidInput(`the log of the root in ${quote(store.name)} is being moved to ${nameOf(log)}`, {
      hint: `move it to ${nameOf(log)} first, which completes that move`,
    })
  }
  const target = to === 'files' ? new TailedLog(store, { clock, readOnly: false }) : to
  let copied = 0
  try {
    const first = await firstNeeded(root, signal)
    for (let number = first; number <= slot; ) {
      const { found } = await readSlots(root.log, number, Math.min(readAtOnce, slot + 1 - number), signal)
      if (found[0] == null) throw corrupted(`slot ${number} is missing`, { hint: 'restore a backup' })
      for (const bytes of found) {
        if (bytes === null) break
        const isFirst = number === first && to !== 'files'
        await place(target, number, bytes, () =>
          isFirst ? to.begin(number, bytes) : target.append(number, bytes),
        )
        number++
        copied++
      }
    }
    const own = encodeMovedGenesis(start, { move, slot, log, id: clock.uuid() })
    const recorded = to === 'files' ? own : await placeFirst(to, own)
    await record(store, move, recorded)
  } finally {
    if (target !== to) target.close?.()
  }
  return { slot, copied }
}

/**
 * Return the first slot that is not in the packs of both kept checkpoints. The log certainly has all slots from there on,
 * because a trim needs a newer checkpoint, and no checkpoint is kept after the fence.
 */
async function firstNeeded(
  { committer, checkpoints }: RootLog,
  signal: AbortSignal | undefined,
): Promise<number> {
  const named = committer.state.checkpoints
  const notes = await Promise.all(named.map(({ name }) => checkpoints.note(name, signal)))
  const covered = notes.flatMap(note => (note === null ? [] : [coveredBy(packsOf(note))]))
  // With one checkpoint, no slot was trimmed.
  return named.length < 2 || covered.length === 0 ? 1 : Math.min(...covered) + 1
}

/** Write a slot with `put`, unless the log has it. Throws `InvalidInput` if the log has another slot under the number. */
async function place(
  log: CommitLog,
  number: number,
  bytes: Uint8Array,
  put: () => Promise<'won' | 'taken'>,
): Promise<void> {
  const stored = await placed(log, number, put)
  if (stored !== null && Buffer.compare(stored, bytes) !== 0) throw hasSlots(log)
}

/** Write slot 0 of the new log. Returns the bytes that the log has: an earlier attempt may have written them. */
async function placeFirst(log: ExternalLog, bytes: Uint8Array): Promise<Uint8Array> {
  const stored = (await placed(log, 0, () => log.append(0, bytes))) ?? bytes
  const [wanted, found] = [bytes, stored].map(each => decodeGenesis(each, features))
  const isSame = wanted!.genesis.root === found!.genesis.root && wanted!.moved!.move === found!.moved?.move
  if (!isSame || wanted!.moved!.slot !== found!.moved?.slot) throw hasSlots(log)
  return stored
}

/** Write a slot with `put`. Returns null if `put` wrote it, and otherwise the bytes that the log has. */
async function placed(
  log: CommitLog,
  number: number,
  put: () => Promise<'won' | 'taken'>,
): Promise<Uint8Array | null> {
  for (let tries = 1; ; tries++) {
    try {
      if ((await put()) === 'won') return null
      const stored = await log.read(number)
      if (stored !== null) return stored
      throw hasSlots(log)
    } catch (error) {
      if (!(error instanceof Ambiguous) || tries === attempts) throw error
    }
  }
}

/** Make the log with this slot 0 the log of the root. */
async function record(store: BlobStore, move: number, bytes: Uint8Array): Promise<void> {
  const key = moveKey(move)
  for (let tries = 1; ; tries++) {
    try {
      if ((await store.putIfAbsent(key, bytes)) === 'won') return
      break
    } catch (error) {
      if (!(error instanceof Ambiguous) || tries === attempts) throw error
    }
  }
  const stored = decodeGenesis((await store.get(key))!, features).moved!
  const own = decodeGenesis(bytes, features).moved!
  // In the files, the record itself is slot 0.
  if (stored.log === null ? own.log === null : stored.id === own.id) return
  throw invalidInput(
    `another call has moved the log of the root in ${quote(store.name)} to ${nameOf(stored.log)}`,
  )
}

async function isLogOf({ log, bytes }: RecordedMove, to: ExternalLog | 'files'): Promise<boolean> {
  if (to === 'files') return log === null
  const first = await to.read(0)
  return first !== null && Buffer.compare(first, bytes) === 0
}

/** Throw `InvalidInput` if the new log is not empty. */
async function refuseSlots(to: ExternalLog | 'files'): Promise<void> {
  if (to === 'files') return
  if ((await to.read(0)) !== null || (await to.first()) !== null) throw hasSlots(to)
}

function hasSlots(log: CommitLog | ExternalLog): SheafError {
  const name = 'name' in log ? quote(log.name) : 'the folder _log/'
  return invalidInput(`${name} has slots of another log`, { hint: 'move the log to another name of a root' })
}

function targetName(to: ExternalLog | 'files'): string | null {
  return to === 'files' ? null : to.name
}

/** Return the error for a move to the files of a root whose log was not given. `newest`: the newest move of the root. */
async function noMove(
  store: BlobStore,
  newest: RecordedMove | null,
  signal: AbortSignal | undefined,
): Promise<SheafError> {
  const first = await store.get(slotKey(0), signal)
  const log = newest === null ? first && decodePointer(first)?.log : newest.log
  const root = `the log of the root in ${quote(store.name)}`
  if (!log) return invalidInput(`${root} is in its files already`)
  return invalidInput(`${root} is in ${quote(log)}`, {
    hint: 'pass this log as from (in the program sheaf: as --from)',
  })
}
