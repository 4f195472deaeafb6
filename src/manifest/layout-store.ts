/**
 * Finds the layout of any version of any table, by folding its changes out of the slots that carry them.
 *
 * A layout is immutable, so what was built once serves every reader; the next version's costs one change.
 */

import type { Slots } from '../commit/slots.js'
import { assert } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import type { Change } from './change.js'
import { applyChange, type Layout } from './layout.js'
import type { VersionRecord } from './version.js'

/** How many layouts are kept; one is ~300 bytes per fragment. */
const keptLayouts = 256

export class LayoutStore {
  readonly #slots: Slots
  readonly #known = new Map<string, Layout>()

  constructor(slots: Slots) {
    this.#slots = slots
  }

  /** The layout of `record`'s version of `table`. */
  async at(table: string, record: VersionRecord, signal?: AbortSignal): Promise<Layout> {
    const todo: VersionRecord[] = []
    let layout: Layout | undefined
    for (let at: VersionRecord | null = record; at !== null; at = at.previous) {
      layout = this.#known.get(keyOf(table, at.version))
      if (layout !== undefined) break
      todo.push(at)
    }
    const pacer = new Pacer(signal)
    let current = layout ?? null
    for (const next of todo.reverse()) {
      const slot = await this.#slots.get(next.slot, signal)
      const change = slot.header.entries[next.entry]?.ops.find(op => isChangeOf(op, table, next.version))
      assert(change !== undefined, `slot ${next.slot} holds no version ${next.version} of table ${table}`)
      current = applyChange(current, change as unknown as Change, next.slot)
      await pacer.turn()
    }
    assert(current !== null, `table ${table} has no version ${record.version}`)
    this.#keep(keyOf(table, record.version), current)
    return current
  }

  #keep(key: string, layout: Layout): void {
    this.#known.delete(key)
    this.#known.set(key, layout)
    if (this.#known.size > keptLayouts) this.#known.delete(this.#known.keys().next().value!)
  }
}

function keyOf(table: string, version: number): string {
  return `${table}@${version}`
}

function isChangeOf(op: unknown, table: string, version: number): boolean {
  const { op: kind, t, v } = op as { op?: unknown; t?: unknown; v?: unknown }
  return kind === 'change' && t === table && v === version
}
