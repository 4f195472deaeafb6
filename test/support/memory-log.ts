/** A commit log outside of the store, in memory: the reference implementation of `ExternalLog`. */
import type { SlotRun } from '../../src/commit/commit-log.js'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { statedChecksum, statedPrevious } from '../../src/commit/slot.js'

/** The slots of a log, which several `MemoryLog` share. A trimmed slot has null. */
export type MemorySlots = Map<number, { readonly bytes: Uint8Array | null; readonly written: number }>

export class MemoryLog implements ExternalLog {
  readonly name: string
  readonly #slots: MemorySlots
  /** How often `close` was called. */
  closed = 0
  watchers = 0
  readonly #watching = new Set<() => void>()

  constructor(name: string, slots: MemorySlots = new Map()) {
    this.name = name
    this.#slots = slots
  }

  async read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    signal?.throwIfAborted()
    return this.#slots.get(slot)?.bytes ?? null
  }

  async readTogether(first: number, count: number, signal?: AbortSignal): Promise<SlotRun> {
    signal?.throwIfAborted()
    const bytesOf = (slot: number) => this.#slots.get(slot)?.bytes ?? null
    const previous = bytesOf(first - 1)
    return {
      found: Array.from({ length: count }, (_, i) => bytesOf(first + i)),
      mark: null,
      before: previous && statedChecksum(previous),
    }
  }

  async append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const before = this.#slots.get(slot - 1)?.bytes
    const previous = statedPrevious(bytes)
    const follows =
      slot === 0 || (before != null && (previous === null || statedChecksum(before) === previous))
    if (!follows || this.#slots.has(slot)) return 'taken'
    this.#slots.set(slot, { bytes, written: Date.now() })
    for (const onNew of this.#watching) onNew()
    return 'won'
  }

  async begin(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    if (this.#slots.has(1)) return 'taken'
    this.#slots.set(1, { bytes: null, written: 0 })
    this.#slots.set(slot, { bytes, written: Date.now() })
    return 'won'
  }

  async has(slot: number, crc?: number): Promise<boolean> {
    const bytes = await this.read(slot)
    return bytes !== null && (crc === undefined || statedChecksum(bytes) === crc)
  }

  async remove(slot: number): Promise<void> {
    this.#slots.set(slot, { bytes: null, written: 0 })
  }

  async last(signal?: AbortSignal, after = -1): Promise<number> {
    signal?.throwIfAborted()
    return Math.max(after, ...this.#live())
  }

  async first(): Promise<number | null> {
    const slots = this.#live().filter(slot => slot > 0)
    return slots.length === 0 ? null : Math.min(...slots)
  }

  async modified(slot: number): Promise<number | null> {
    return this.#slots.get(slot)?.written ?? null
  }

  async trim(to: number): Promise<number> {
    const last = await this.last()
    const trimmed = this.#live().filter(slot => slot > 0 && slot <= to && slot < last)
    for (const slot of trimmed) await this.remove(slot)
    return trimmed.length
  }

  fileOf(slot: number): string {
    return `slot ${slot} of ${this.name}`
  }

  watch(onNew: () => void): () => void {
    this.watchers++
    this.#watching.add(onNew)
    return () => {
      this.watchers--
      this.#watching.delete(onNew)
    }
  }

  close(): void {
    this.closed++
  }

  #live(): number[] {
    return [...this.#slots].flatMap(([slot, { bytes }]) => (bytes === null ? [] : [slot]))
  }
}
