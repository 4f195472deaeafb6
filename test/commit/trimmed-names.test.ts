/**
 * A small model of a log whose stores keep the names of trimmed slots. It tries every order of the steps of two writers,
 * a reader and a trimmer, with puts that arrive at any later time, also after a trim. It checks two promises:
 *
 * - an acknowledged entry is the one that the log has under its slot;
 * - a process that finds no next slot has applied every entry that was acknowledged before.
 *
 * A trim that deletes names breaks both, unless a process looks back at the slot before (commit/log-follower.ts).
 */
import { expect, test } from 'vitest'

interface Rules {
  /** Whether a trim empties a slot, or deletes its name. */
  readonly trim: 'empties' | 'deletes'
  /** Whether a process checks that its last slot still exists, after each put that wins and each missing slot. */
  readonly looksBack: boolean
  /** Whether slots are trimmed in ascending order. */
  readonly inOrder: boolean
}

const slotsMax = 4
const processes = 2
const empty = -1

interface State {
  /** By slot: the entry in the store, `empty`, or null. */
  readonly stored: readonly (number | null)[]
  /** By slot: the entry that was written first. */
  readonly truth: readonly (number | null)[]
  readonly checkpoint: number
  readonly heads: readonly number[]
  /** By process: the entry of a put that has not arrived, for the slot after its head. 0: there is none. */
  readonly puts: readonly number[]
  /** The slots of acknowledged entries. */
  readonly acknowledged: readonly number[]
  readonly entries: number
}

const first: State = {
  stored: [0, ...Array(slotsMax).fill(null)],
  truth: [0, ...Array(slotsMax).fill(null)],
  checkpoint: 0,
  heads: Array(processes).fill(0),
  puts: Array(processes).fill(0),
  acknowledged: [],
  entries: 1,
}

const replaced = <T>(all: readonly T[], at: number, value: T): T[] => all.with(at, value)

class Broken extends Error {}

/** Return the states that one step leads to. Throws `Broken` if a step breaks a promise. */
function stepsFrom(state: State, rules: Rules): State[] {
  const next: State[] = []
  const { stored, truth, heads, puts, checkpoint, acknowledged, entries } = state
  const end = truth.findLastIndex(entry => entry !== null)
  // Slot 0 is never trimmed, so a checkpoint tells that the slots after it may be trimmed.
  const isGone = (slot: number) => (slot === 0 ? checkpoint > 0 : stored[slot] === null)
  for (let process = 0; process < processes; process++) {
    const head = heads[process]!
    const reopened = { ...state, heads: replaced(heads, process, checkpoint) }
    const own = puts[process]!
    if (head === slotsMax) continue
    const mustReopen = stored[head + 1] === empty || (rules.looksBack && isGone(head))
    if (own === 0 && mustReopen) next.push(reopened)
    else if (own === 0 && stored[head + 1] !== null) {
      next.push({ ...state, heads: replaced(heads, process, head + 1) })
    } else if (own === 0) {
      if (acknowledged.some(slot => slot > head)) throw new Broken('an acknowledged entry is not seen')
      next.push({ ...state, puts: replaced(puts, process, entries), entries: entries + 1 })
    } else {
      // The put arrives.
      const left = { ...state, puts: replaced(puts, process, 0) }
      const slot = head + 1
      if (stored[slot] !== null) {
        next.push(left)
        continue
      }
      const isFirst = truth[slot] === null
      const written = {
        ...left,
        stored: replaced(stored, slot, own),
        truth: isFirst ? replaced(truth, slot, own) : truth,
      }
      if (rules.looksBack && isGone(head)) {
        // The writer finds that the log was trimmed, and removes its slot unless it is the true one.
        next.push({ ...written, stored: isFirst ? written.stored : stored, heads: reopened.heads })
        continue
      }
      if (!isFirst) throw new Broken('an acknowledged entry is not in the log')
      next.push({ ...written, heads: replaced(heads, process, slot), acknowledged: [...acknowledged, slot] })
    }
  }
  if (end > checkpoint) next.push({ ...state, checkpoint: end })
  // The slot of the checkpoint stays.
  const trimmable = stored.flatMap((entry, slot) => {
    return slot > 0 && slot < checkpoint && entry !== null && entry !== empty ? [slot] : []
  })
  const value = rules.trim === 'empties' ? empty : null
  for (const slot of rules.inOrder ? trimmable.slice(0, 1) : trimmable)
    next.push({ ...state, stored: replaced(stored, slot, value) })
  return next
}

/** Visit all states that the rules allow. Returns their number. */
function explore(rules: Rules): number {
  const seen = new Set<string>()
  const waiting: State[] = [first]
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    const key = JSON.stringify(state)
    if (seen.has(key)) continue
    seen.add(key)
    if (state.entries <= slotsMax + 1) waiting.push(...stepsFrom(state, rules))
  }
  return seen.size
}

test('with kept names, no process needs to look back, whatever the order in which slots are trimmed', () => {
  for (const inOrder of [true, false]) {
    expect(explore({ trim: 'empties', looksBack: false, inOrder })).toBeGreaterThan(1000)
  }
})

test('a trim that deletes names needs the look back', () => {
  expect(explore({ trim: 'deletes', looksBack: true, inOrder: true })).toBeGreaterThan(1000)
  expect(() => explore({ trim: 'deletes', looksBack: false, inOrder: true })).toThrow(Broken)
})

test('with deleted names and no look back, a late put is acknowledged, and a process that lags finds a wrong end', () => {
  // Two processes have slot 1 and 2; the second one lags behind at slot 0 with a put that has not arrived.
  const lagging: State = {
    ...first,
    stored: [0, null, 2, null, null],
    truth: [0, 1, 2, null, null],
    checkpoint: 2,
    heads: [2, 0],
    puts: [0, 3],
    acknowledged: [1, 2],
    entries: 4,
  }
  const rules: Rules = { trim: 'deletes', looksBack: false, inOrder: true }
  expect(() => stepsFrom(lagging, rules)).toThrow('an acknowledged entry is not in the log')
  expect(() => stepsFrom({ ...lagging, puts: [0, 0] }, rules)).toThrow('an acknowledged entry is not seen')
  const kept = { ...lagging, stored: [0, empty, 2, null, null] }
  expect(stepsFrom(kept, { ...rules, trim: 'empties' })[1]).toMatchObject({ puts: [0, 0], heads: [2, 0] })
})
