/**
 * The smallest machine that notices everything: a sum, and who added to it in which order. An entry says the sum it
 * was decided on, so applying one that was decided on another state fails.
 */
import type { CommitLog } from '../../src/commit/commit-log.js'
import type {
  EarlierState,
  Entry,
  Genesis,
  Json,
  Machine,
  Position,
  Propose,
} from '../../src/commit/machine.js'
import { assert, corrupted } from '../../src/errors.js'

export interface Tally {
  readonly sum: number
  readonly notes: readonly string[]
}

type Addition = { readonly from: number; readonly add: number; readonly note: string }

export const tally: Machine<Tally> = {
  features: new Set(['tally']),
  initial: () => ({ sum: 0, notes: [] }),
  apply(state: Tally, entry: Entry, _at: Position): Tally {
    let { sum, notes } = state
    for (const op of entry.ops as unknown as readonly Addition[]) {
      assert(op.from === sum, `${op.note} was decided on ${op.from}, not ${sum}`)
      sum += op.add
      notes = [...notes, op.note]
    }
    return { sum, notes }
  },
  *save({ sum, notes }: Tally, before?: EarlierState<Tally>): Iterable<string> {
    yield JSON.stringify({ sum, count: notes.length })
    for (const note of notes.slice(before?.state.notes.length)) yield JSON.stringify(note)
  },
  load(_genesis: Genesis, before?: Tally) {
    let start: { readonly sum: number; readonly count: number } | null = null
    const notes = [...(before?.notes ?? [])]
    return {
      add(text: string): void {
        if (start === null) start = JSON.parse(text)
        else notes.push(JSON.parse(text))
      },
      end(): Tally {
        if (start?.count !== notes.length) throw corrupted(`there are ${notes.length} notes`)
        return { sum: start.sum, notes }
      },
    }
  },
}

/** Proposes to add `n` under a name. */
export function add(n: number, note: string, blobs: readonly Uint8Array[] = []): Propose<Tally> {
  return ({ sum }) => ({ ops: [{ from: sum, add: n, note } as Json], res: { sum: sum + n }, blobs })
}

/** `inner` with some of its calls replaced. */
export function steered(inner: CommitLog, over: Partial<CommitLog>): CommitLog {
  return {
    read: (slot, signal) => inner.read(slot, signal),
    append: (slot, bytes) => inner.append(slot, bytes),
    last: (signal, after) => inner.last(signal, after),
    has: (...of) => inner.has(...of),
    remove: slot => inner.remove(slot),
    ...(inner.peek === undefined ? {} : { peek: (slot: number) => inner.peek!(slot) }),
    ...over,
  }
}

/** A promise and its ends. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>(resolve => {
    open = resolve
  })
  return { opened, open }
}
