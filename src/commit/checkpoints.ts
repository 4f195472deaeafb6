/**
 * Checkpoints: files with the state after a slot, so that opening a root does not replay the log from slot 0.
 *
 * A checkpoint is a file `_ckpt/<2^64-1-slot, 20 digits>-<crc>.json`. Because of the subtraction, a listing in byte
 * order has the newest checkpoint first. The file has lines of UTF-8, each ended by "\n":
 *
 *     header      {"f":1,"need":[],"slot":n,"prev":"<checksum of slot n>","ts":...,"genesis":{...},
 *                  "since":m,"parts":[{"name","bytes"},...],"extra":<any JSON of the writer>}
 *     items       one line per text of `Machine.save`
 *     checksum    crc32 of all bytes before this line, eight hex digits, as in the name
 *
 * - The items of a whole checkpoint are the state. Other checkpoints have the items that changed after slot `since`.
 *   They name the checkpoint files, called parts, whose items come before theirs: first a whole checkpoint, last the
 *   checkpoint of slot `since`. A reader requests all parts at the same time.
 * - If one checkpoint is lost or damaged, only time is lost, because replay can begin with an older checkpoint or with
 *   slot 0. A part that is lost or damaged damages each checkpoint that names it.
 * - A checkpoint counts only when an entry of the log names it. Other checkpoint files are parts, are new, or their
 *   writer died.
 * - Writing and reading yield to the event loop in steps, so even a large checkpoint does not block it.
 */
import { corrupted, ErrorCode, quote, SheafError, unsupported } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { BlobStore } from '../storage/blob-store.js'
import { keysOf } from '../storage/keys-of.js'
import type { EarlierState, Fold, Genesis, Json, Machine } from './machine.js'
import { isCount, isRecord } from './slot.js'

/** A checkpoint file whose items precede those of a checkpoint. */
export interface CheckpointPart {
  readonly name: string
  /** The size of the file. */
  readonly bytes: number
}

/** The fields of a checkpoint other than its state. */
export interface CheckpointNote {
  readonly key: string
  readonly slot: number
  readonly ts: number
  readonly extra: Json
  /** The size of the checkpoint file. */
  readonly bytes: number
  /** The parts of the checkpoint, the whole one first. Empty if the checkpoint is whole. */
  readonly parts: readonly CheckpointPart[]
}

/** A decoded checkpoint. */
export interface Checkpoint<S> extends Fold<S>, CheckpointNote {
  readonly key: string
  /** The states after each part, the last one being `state`. They share what did not change. */
  readonly states: readonly EarlierState<S>[]
}

/** The checkpoint on which a new checkpoint is based. */
export interface Predecessor<S> {
  /** The state after the slot of the last part. The new checkpoint has what changed after this slot. */
  readonly before: EarlierState<S>
  readonly parts: readonly CheckpointPart[]
}

/** A file whose name is the name of a checkpoint, with its content or the error that reading it throws. */
export interface FoundCheckpoint<S> {
  readonly key: string
  readonly slot: number
  readonly bytes: number
  /** Null if the file is damaged, or if one of its parts is missing. */
  readonly checkpoint: Checkpoint<S> | null
  readonly error: SheafError | null
  /** The key of a missing part. The parts of an old part may have been deleted, so this need not be an error. */
  readonly lacks: string | null
}

interface Header {
  readonly f: 1
  readonly need: readonly string[]
  readonly slot: number
  readonly prev: string
  readonly ts: number
  readonly genesis: Genesis
  /** `since` and `parts` are absent in a whole checkpoint. */
  readonly since?: number
  readonly parts?: readonly CheckpointPart[]
  readonly extra: Json
}

/** A checked checkpoint file. */
interface Checked {
  readonly key: string
  readonly bytes: number
  readonly header: Header
  /** The lines of its items. */
  readonly lines: Buffer
}

/** The parsed name of a checkpoint file. */
interface Named {
  readonly key: string
  readonly slot: number
  /** The checksum in the name: eight hex digits. */
  readonly crc: string
}

const directory = '_ckpt/'
const lastSlot = 2n ** 64n - 1n
/** Size of the pieces in which texts are collected and checksums are computed. One piece takes much less than 1 ms. */
const pieceBytes = 512 * 1024
/** Length of the checksum line. */
const endBytes = 9
const newline = 0x0a

/** Reads, writes and prunes the checkpoints of a root. See the head of this file. */
export class Checkpoints<S> {
  readonly #store: BlobStore
  readonly #machine: Machine<S>
  readonly #clock: Clock
  readonly #onDamaged: ((key: string, error: SheafError) => void) | undefined
  #root: string | null = null

  /** `onDamaged`: called for each file that is skipped because it is damaged or belongs to another root. */
  constructor(
    store: BlobStore,
    machine: Machine<S>,
    clock: Clock,
    onDamaged?: (key: string, error: SheafError) => void,
  ) {
    this.#store = store
    this.#machine = machine
    this.#clock = clock
    this.#onDamaged = onDamaged
  }

  /** Set the id of this root. Afterwards, checkpoints of other roots are treated as damaged. */
  belongTo(root: string): void {
    this.#root = root
  }

  /**
   * Read the newest undamaged checkpoint whose slot is after `after` (default: of any slot). Returns null if there is
   * none. Throws Unsupported if that checkpoint was written by a newer Sheaf.
   */
  async newest(signal?: AbortSignal, after = -1): Promise<Checkpoint<S> | null> {
    const skipped = new Set<string>()
    /** By key: the key of a missing part. */
    const lacking = new Map<string, string>()
    for (;;) {
      let removed = false
      for await (const named of this.#named(signal)) {
        if (named.slot <= after) break
        if (skipped.has(named.key)) continue
        try {
          const found = await this.#read(named, signal)
          if (found !== null && typeof found !== 'string') {
            this.#noteLacking(lacking, found.slot)
            return found
          }
          if (found !== null) lacking.set(named.key, found)
          // The file or one of its parts was deleted after the listing, or the file is an old part. A checkpoint is only
          // deleted when newer ones exist, so list again. `skipped` prevents an endless loop.
          removed = true
        } catch (error) {
          if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) throw error
          this.#onDamaged?.(named.key, error)
        }
        skipped.add(named.key)
        if (removed) break
      }
      if (!removed) {
        this.#noteLacking(lacking, -1)
        return null
      }
    }
  }

  /** Read the checkpoint with the file name `name`. Returns null if it or one of its parts is missing or damaged. */
  async at(name: string, signal?: AbortSignal): Promise<Checkpoint<S> | null> {
    const named = parseName(name)
    if (named === null) return null
    try {
      const found = await this.#read(named, signal)
      return typeof found === 'string' ? null : found
    } catch (error) {
      if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) throw error
      return null
    }
  }

  /** Report the checkpoints after slot `after` that lack a part: no newer checkpoint explains why it is missing. */
  #noteLacking(lacking: ReadonlyMap<string, string>, after: number): void {
    for (const [key, part] of lacking) {
      if (parseName(nameOf(key))!.slot <= after) continue
      this.#onDamaged?.(key, corrupted(`${key} cannot be read: ${part}, which it is based on, is missing`))
    }
  }

  /** Read the newest undamaged checkpoint without its state. Returns null if there is none. */
  async newestNote(signal?: AbortSignal): Promise<CheckpointNote | null> {
    for await (const named of this.#named(signal)) {
      const note = await this.#note(named, signal)
      if (note !== null) return note
    }
    return null
  }

  /**
   * Read the checkpoint with the file name `name` without its state. Returns null if the file is missing or damaged.
   */
  async note(name: string, signal?: AbortSignal): Promise<CheckpointNote | null> {
    const named = parseName(name)
    return named === null ? null : this.#note(named, signal)
  }

  async #note(named: Named, signal: AbortSignal | undefined): Promise<CheckpointNote | null> {
    try {
      const checked = await this.#checked(named, new Pacer(signal, this.#clock))
      return checked === null ? null : noteOf(checked)
    } catch (error) {
      if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) throw error
      return null
    }
  }

  /** List the keys of all checkpoints, the newest slot first. */
  async keys(signal?: AbortSignal): Promise<readonly { readonly key: string; readonly slot: number }[]> {
    const keys: { readonly key: string; readonly slot: number }[] = []
    for await (const { key, slot } of this.#named(signal)) keys.push({ key, slot })
    return keys
  }

  /** Read all checkpoints, the newest first. Throws Unsupported for a checkpoint that needs a newer Sheaf. */
  async *each(signal?: AbortSignal): AsyncGenerator<FoundCheckpoint<S>> {
    for await (const named of this.#named(signal)) {
      const { key, slot } = named
      const info = await this.#store.stat(key, signal)
      // The file was deleted after the listing.
      if (info === null) continue
      let checkpoint: Checkpoint<S> | null = null
      let error: SheafError | null = null
      let lacks: string | null = null
      try {
        const found = await this.#read(named, signal)
        if (typeof found === 'string') lacks = found
        else checkpoint = found
      } catch (cause) {
        if (!(cause instanceof SheafError) || cause.code !== ErrorCode.Internal) throw cause
        error = cause
      }
      yield { key, slot, bytes: info.size, checkpoint, error, lacks }
    }
  }

  /**
   * Write a checkpoint durably. Does nothing if the file exists already. `need`: features that its readers must
   * support. `predecessor`: the checkpoint whose difference to `fold` is written; null writes the whole state. Throws
   * the errors of the store and of `Machine.save`.
   */
  async write(
    fold: Fold<S>,
    extra: Json,
    need: readonly string[] = [],
    predecessor: Predecessor<S> | null = null,
    signal?: AbortSignal,
  ): Promise<CheckpointNote> {
    const pacer = new Pacer(signal, this.#clock)
    const pieces = await this.#encodeItems(fold.state, predecessor?.before, pacer)
    const parts = predecessor?.parts ?? []
    const header: Header = {
      f: 1,
      need,
      slot: fold.slot,
      prev: crcHex(fold.crc),
      ts: fold.ts,
      genesis: fold.genesis,
      ...(predecessor !== null && { since: predecessor.before.slot, parts }),
      extra,
    }
    const first = Buffer.from(`${JSON.stringify(header)}\n`)
    const crc = crcHex(await checksum(pieces, crc32(first), pacer))
    const bytes = await join([first, ...pieces, Buffer.from(`${crc}\n`)], pacer)
    const key = keyOf(fold.slot, crc)
    await this.#store.putIfAbsent(key, bytes, signal)
    return { key, slot: fold.slot, ts: fold.ts, extra, bytes: bytes.length, parts }
  }

  /** Return the number of bytes of the items that changed after `before`. */
  async bytesSince(state: S, before: EarlierState<S>, signal?: AbortSignal): Promise<number> {
    const pacer = new Pacer(signal, this.#clock)
    let bytes = 0
    for (const text of this.#machine.save(state, before)) {
      if (pacer.due()) await pacer.pause()
      if (text !== '') bytes += Buffer.byteLength(text) + 1
    }
    return bytes
  }

  /**
   * Delete the checkpoints of slots before `before`, except the file names in `kept` and the slots in `young`. If one of
   * the files in `kept` is missing, delete nothing.
   */
  async prune(
    kept: ReadonlySet<string>,
    before: number,
    young: ReadonlySet<number> = new Set(),
    signal?: AbortSignal,
  ): Promise<void> {
    const obsolete: string[] = []
    let found = 0
    for await (const { key, slot } of this.#named(signal)) {
      if (kept.has(nameOf(key))) found++
      else if (slot < before && !young.has(slot)) obsolete.push(key)
    }
    if (found < kept.size) return
    for (const key of obsolete) await this.#store.delete(key, signal)
  }

  /** List the checkpoint files, the newest slot first. */
  async *#named(signal: AbortSignal | undefined): AsyncGenerator<Named> {
    for (const key of await keysOf(this.#store, directory, undefined, signal)) {
      const named = parseName(nameOf(key))
      if (named !== null) yield named
    }
  }

  async #encodeItems(state: S, before: EarlierState<S> | undefined, pacer: Pacer): Promise<Uint8Array[]> {
    const pieces: Uint8Array[] = []
    let piece = Buffer.allocUnsafe(pieceBytes)
    let end = 0
    for (const text of this.#machine.save(state, before)) {
      if (pacer.due()) await pacer.pause()
      if (text === '') continue
      const most = 3 * text.length + 1
      if (end + most > piece.length) {
        pieces.push(piece.subarray(0, end))
        piece = Buffer.allocUnsafe(Math.max(pieceBytes, most))
        end = 0
      }
      end += piece.write(text, end)
      piece[end++] = newline
    }
    pieces.push(piece.subarray(0, end))
    return pieces
  }

  /**
   * Read a checkpoint with its parts. Returns null if the file is missing, and the key of a part if that part is
   * missing.
   */
  async #read(named: Named, signal: AbortSignal | undefined): Promise<Checkpoint<S> | string | null> {
    const pacer = new Pacer(signal, this.#clock)
    const own = await this.#checked(named, pacer)
    if (own === null) return null
    const parts = await Promise.all(
      (own.header.parts ?? []).map(({ name }) => {
        return ofPart(own.key, this.#checked(parseName(name)!, new Pacer(signal, this.#clock)))
      }),
    )
    const states: EarlierState<S>[] = []
    for (const [i, part] of parts.entries()) {
      if (part === null) return `${directory}${own.header.parts![i]!.name}`
      states.push(await ofPart(own.key, this.#follow(part, states.at(-1), pacer)))
    }
    states.push(await this.#follow(own, states.at(-1), pacer))
    const { genesis, prev } = own.header
    const { state } = states.at(-1)!
    return { ...noteOf(own), genesis, crc: Number.parseInt(prev, 16), state, states }
  }

  /** Compute the state of a checkpoint file. `before`: the state of the part before it; undefined if there is none. */
  async #follow(file: Checked, before: EarlierState<S> | undefined, pacer: Pacer): Promise<EarlierState<S>> {
    const { slot, since } = file.header
    if (since !== before?.slot) {
      throw corrupted(
        `${file.key} does not fit: it has the changes after slot ${since}, but the part before it is of slot ${before?.slot}`,
      )
    }
    return { slot, state: await this.#load(file, before?.state, pacer) }
  }

  /** Read and check a checkpoint file. Returns null if it is missing. */
  async #checked({ key, slot, crc }: Named, pacer: Pacer): Promise<Checked | null> {
    const bytes = await this.#store.get(key, pacer.signal)
    if (bytes === null) return null
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    const end = bytes.length - endBytes
    if (end < 1 || text[end - 1] !== newline || text.toString('latin1', end) !== `${crc}\n`) {
      throw corrupted(`${key} is torn: its last line is not the checksum in its name`)
    }
    const actual = crcHex(await checksum([text.subarray(0, end)], 0, pacer))
    if (actual !== crc)
      throw corrupted(`${key} is damaged: the checksum of its bytes is ${actual}, not the one in its name`)
    const first = text.indexOf(newline) + 1
    const header = parseHeader(key, text.toString('utf8', 0, first), this.#machine.features)
    if (header.slot !== slot)
      throw corrupted(`${key} has the wrong name: its header is that of slot ${header.slot}`)
    const { root } = header.genesis
    if (this.#root !== null && root !== this.#root) {
      throw corrupted(`${key} belongs to the root ${quote(root)}, not to this root ${quote(this.#root)}`, {
        hint: 'move the file to another directory',
      })
    }
    return { key, bytes: bytes.length, header, lines: text.subarray(first, end) }
  }

  async #load({ key, header, lines }: Checked, before: S | undefined, pacer: Pacer): Promise<S> {
    const loader = orUnreadable(key, () => this.#machine.load(header.genesis, before))
    for (let at = 0; at < lines.length; ) {
      if (pacer.due()) await pacer.pause()
      const end = lines.indexOf(newline, at)
      orUnreadable(key, () => loader.add(lines.toString('utf8', at, end)))
      at = end + 1
    }
    return orUnreadable(key, () => loader.end())
  }
}

/** Wait for a part of the checkpoint `key`. If the part is damaged, the error names the checkpoint. */
async function ofPart<T>(key: string, part: Promise<T>): Promise<T> {
  try {
    return await part
  } catch (cause) {
    if (!(cause instanceof SheafError) || cause.code !== ErrorCode.Internal) throw cause
    throw corrupted(`${key} cannot be read: ${cause.message}`, { cause })
  }
}

function noteOf({ key, bytes, header: { slot, ts, extra, parts = [] } }: Checked): CheckpointNote {
  return { key, slot, ts, extra, bytes, parts }
}

/** Return the key of the checkpoint with this file name. */
export function checkpointKey(name: string): string {
  return `${directory}${name}`
}

/** Return the file name of a checkpoint from its key. */
export function nameOf(key: string): string {
  return key.slice(directory.length)
}

/** Return the slot of a checkpoint from its file name. Returns null if the name is not the name of a checkpoint. */
export function slotOfCheckpoint(name: string): number | null {
  return parseName(name)?.slot ?? null
}

function parseName(name: string): Named | null {
  const match = /^(\d{20})-([0-9a-f]{8})\.json$/.exec(name)
  if (match === null) return null
  const slot = Number(lastSlot - BigInt(match[1]!))
  return slot >= 0 && Number.isSafeInteger(slot) ? { key: `${directory}${name}`, slot, crc: match[2]! } : null
}

function keyOf(slot: number, crc: string): string {
  return `${directory}${String(lastSlot - BigInt(slot)).padStart(20, '0')}-${crc}.json`
}

/** Compute one CRC-32 over all pieces. `crc`: the CRC-32 of the bytes before the pieces. */
async function checksum(pieces: readonly Uint8Array[], crc: number, pacer: Pacer): Promise<number> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += pieceBytes) {
      if (pacer.due()) await pacer.pause()
      crc = crc32(piece.subarray(at, at + pieceBytes), crc)
    }
  }
  return crc
}

async function join(pieces: readonly Uint8Array[], pacer: Pacer): Promise<Uint8Array> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    if (pacer.due()) await pacer.pause()
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

function parseHeader(key: string, line: string, features: ReadonlySet<string>): Header {
  const header: unknown = orUnreadable(key, () => JSON.parse(line))
  if (!isRecord(header)) throw badHeader(key, 'object')
  const { f, need, slot, prev, ts, genesis, since, parts = [], extra } = header
  if (!isCount(f)) throw badHeader(key, 'f')
  if (f !== 1) throw tooNew(key, `checkpoint format ${f}`)
  if (!Array.isArray(need)) throw badHeader(key, 'need')
  for (const feature of need) {
    if (!features.has(feature)) throw tooNew(key, `the feature ${quote(feature)}`)
  }
  if (!isCount(slot)) throw badHeader(key, 'slot')
  if (typeof prev !== 'string' || !/^[0-9a-f]{8}$/.test(prev)) throw badHeader(key, 'prev')
  if (!isCount(ts)) throw badHeader(key, 'ts')
  if (!isRecord(genesis) || typeof genesis.root !== 'string') throw badHeader(key, 'genesis')
  if (genesis.format !== 1) throw tooNew(key, `format ${quote(genesis.format)}`)
  if (!Array.isArray(parts) || !parts.every(isPart)) throw badHeader(key, 'parts')
  const last = parts.length === 0 ? undefined : parseName((parts.at(-1) as CheckpointPart).name)!.slot
  if (since !== last || (last !== undefined && last >= slot)) throw badHeader(key, 'since')
  if (extra === undefined) throw badHeader(key, 'extra')
  return header as unknown as Header
}

function isPart(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { name, bytes } = value
  return typeof name === 'string' && parseName(name) !== null && isCount(bytes)
}

function badHeader(key: string, field: string): SheafError {
  return corrupted(`${key} is damaged: its header has no valid ${quote(field)}`)
}

/**
 * Run a decoder on bytes whose checksum is right. If it fails, the Sheaf that wrote the bytes or this Sheaf has a
 * defect. The error is reported as Internal ("corrupted").
 */
function orUnreadable<T>(key: string, run: () => T): T {
  try {
    return run()
  } catch (cause) {
    if (cause instanceof SheafError && cause.code === ErrorCode.Unsupported) throw cause
    const what = cause instanceof Error ? cause.message : String(cause)
    throw corrupted(`${key} cannot be read: ${what}`, { cause })
  }
}

function tooNew(key: string, what: string): SheafError {
  return unsupported(`${key} was written by a newer Sheaf: this version does not support ${what}`, {
    hint: 'open this root with the version of Sheaf that wrote it, or with a later version',
  })
}
