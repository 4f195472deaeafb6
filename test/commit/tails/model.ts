/**
 * The model of the commit protocol with tails. One step is one system call of one process, a crash of a process, a power
 * loss, a deletion of the trimmer, or one read of a copy. A process may be paused for any time between two of its
 * steps: the search tries every order.
 *
 * A violation begins with its kind:
 *
 * - `twice`: a transaction is applied twice.
 * - `changed`: two processes disagree about the order or about a position, or a process takes back what was shown.
 * - `lost`: a refresh, or an opening, does not show a transaction that was acknowledged before it began.
 * - `stale`: a refresh does not show what another process showed before it began.
 * - `corrupt`: a slot is torn, no file has a slot of an ended tail, or a checkpoint belongs to another slot.
 * - `fork`: the file of a slot does not follow the slot before it.
 * - `invented`: a transaction appears that nobody requested.
 * - `copy lost`, `copy changed`, `copy broken`: an opened copy lacks acknowledged transactions, is not a prefix of the
 *   order, or does not open.
 * - `stuck`: a process that runs alone never commits its transactions.
 *
 * Bounds: at most three processes, four transactions, three records in a tail, and six slots. Not in the model: a mark
 * that is read in part, calls whose outcome is unknown, concurrent calls of one process, network file systems, and two
 * processes that hinder each other for ever.
 */
import { copySteps } from './copy.js'
import { forgetDurability } from './disk.js'
import { crash, losePower, trim } from './faults.js'
import {
  copyBytes,
  Durability,
  ProcessField as P,
  processAt,
  processBytes,
  processesStart,
  SlotField as S,
  SharedField,
  sharedBytes,
  slotAt,
} from './layout.js'
import { step } from './process.js'
import type { Rules } from './rules.js'
import { At, type Run } from './run.js'
import type { Emit, Fingerprints, Searchable } from './search.js'
import { startBase } from './view.js'

/** A process that runs alone commits its transactions within this number of steps. */
const aloneStepsMax = 200

/** The states and steps under the given rules. */
export class TailModel implements Searchable {
  readonly #run: Run
  readonly #bytes: number

  constructor(rules: Rules) {
    const shared = processesStart + rules.processes.length * processBytes
    const run: Run = {
      rules,
      shared,
      isAlone: false,
      emit: () => {},
      step: (state, process) => step(run, state, process),
    }
    this.#run = run
    this.#bytes = shared + sharedBytes + (rules.copy === null ? 0 : copyBytes)
  }

  /** Slot 1 is durable. Process 0 wrote it, and owns its tail. All processes have applied it. */
  initial(): Uint8Array {
    const rules = this.#run.rules
    const state = new Uint8Array(this.#bytes)
    const base = slotAt(1)
    state[base + S.name] = Durability.durable
    state[base + S.maker] = 1
    state[base + S.declaresTail] = rules.declaresTails ? 1 : 0
    if (rules.startsWithTail) {
      state[base + S.tailName] = Durability.durable
      state[base + S.zeroFill] = Durability.durable
      state[base + S.tailSeed] = 1
    }
    for (const [process, plan] of rules.processes.entries()) {
      const p = processAt(process)
      state[p + P.at] = At.idle
      state[p + P.head] = 1
      startBase(state, p, 1)
      for (const transaction of plan.transactions) state[p + P.pending]! |= 1 << (transaction - 1)
    }
    state[processesStart + P.owned] = 1
    state[processesStart + P.handle] = 1
    const shared = this.#run.shared
    state[shared + SharedField.crashes] = rules.crashes
    state[shared + SharedField.powerLosses] = rules.powerLosses
    state[shared + SharedField.syncFailures] = rules.syncFailures
    forgetDurability(state, shared)
    return state
  }

  successors(state: Uint8Array, emit: Emit): void {
    const run = this.#run
    run.emit = (next, violation, actor, label, a, b) => {
      forgetDurability(next, run.shared)
      emit(next, violation, actor, label, a, b)
    }
    for (let process = 0; process < run.rules.processes.length; process++) step(run, state, process)
    crash(run, state)
    losePower(run, state)
    trim(run, state)
    copySteps(state, run.shared, run.rules, run.emit)
  }

  /** Check that every process with pending transactions, if it runs alone, commits them. */
  check(state: Uint8Array, known: Fingerprints): string | null {
    if (!this.#run.rules.checksProgress) return null
    for (let process = 0; process < this.#run.rules.processes.length; process++) {
      const path: Uint8Array[] = []
      for (let now = state; this.#isBusy(now, process); ) {
        if (known.has(now, process + 1)) break
        path.push(now)
        const next = path.length > aloneStepsMax ? null : this.#stepAlone(now, process)
        if (next === null) return `stuck: process ${process} alone never commits its transactions`
        now = next
      }
      for (const good of path) known.add(good, process + 1)
    }
    return null
  }

  #isBusy(state: Uint8Array, process: number): boolean {
    const p = processAt(process)
    return state[p + P.pending] !== 0 && state[p + P.at] !== At.stopped
  }

  #stepAlone(state: Uint8Array, process: number): Uint8Array | null {
    const run = this.#run
    const { emit } = run
    const found: Uint8Array[] = []
    run.isAlone = true
    run.emit = next => {
      found.push(next)
    }
    step(run, state, process)
    run.isAlone = false
    run.emit = emit
    const first = found[0]
    if (first === undefined) return null
    forgetDurability(first, run.shared)
    return first
  }
}
