/** Crashes, power losses, and the trimmer. */
import { isCopying, mayDelete } from './copy.js'
import { countedRecord, forEachPowerLoss } from './disk.js'
import {
  Durability,
  ProcessField as P,
  processAt,
  SlotField as S,
  SharedField,
  sharedBytes,
  slotAt,
  unlinked,
  viewEntry,
} from './layout.js'
import { At, forget, type Run } from './run.js'

/** The number of times that a process is started again. */
const incarnationsMax = 4

export function crash(run: Run, state: Uint8Array): void {
  if (state[run.shared + SharedField.crashes] === 0) return
  for (let process = 0; process < run.rules.processes.length; process++) {
    const p = processAt(process)
    const at = state[p + P.at]
    if (at === At.open || at === At.stopped || state[p + P.incarnation]! >= incarnationsMax) continue
    const next = state.slice()
    next[run.shared + SharedField.crashes]!--
    forget(next, process, true)
    run.emit(next, null, process, 'crashes, and is started again', 0, 0)
  }
}

export function losePower(run: Run, state: Uint8Array): void {
  const shared = run.shared
  // A copy that is still being written is lost too, so there is nothing to check.
  if (state[shared + SharedField.powerLosses] === 0 || isCopying(state, shared)) return
  forEachPowerLoss(state, !run.rules.seedsRecords, (next, lost) => {
    next[shared + SharedField.powerLosses]!--
    if (run.rules.open === 'boot') next[shared + SharedField.boot]!++
    // The root may lose unacknowledged transactions that the copy has.
    next.fill(0, shared + SharedField.copyLength, shared + sharedBytes)
    for (let process = 0; process < run.rules.processes.length; process++) {
      if (next[processAt(process) + P.at] !== At.stopped) forget(next, process, true)
    }
    run.emit(next, null, -1, `the power fails: ${lost} is lost`, 0, 0)
  })
}

export function trim(run: Run, state: Uint8Array): void {
  const { trims, trimsAfter, copy } = run.rules
  if (trims === null) return
  const shared = run.shared
  const done = state[shared + SharedField.trimmed]!
  if (done === 0) {
    if (state[slotAt(trimsAfter) + S.name] !== Durability.durable) return
    const next = state.slice()
    next[shared + SharedField.trimmed] = 1
    writeCheckpoint(run, next, trimsAfter)
    run.emit(next, null, -1, 'the trimmer writes a checkpoint of slot %', trimsAfter, 0)
    return
  }
  const deletion = trims[done - 1]
  if (deletion === undefined) return
  const [what, slot] = deletion
  if (copy !== null && !mayDelete(state, shared, copy, what)) return
  const next = state.slice()
  const base = slotAt(slot)
  next[shared + SharedField.trimmed] = done + 1
  if (what === 'slot') next[base + S.name] = Durability.absent
  else if (what === 'seal') next[base + S.seal] = Durability.absent
  else if (next[base + S.tailName] !== Durability.absent) next[base + S.tailName] = unlinked
  run.emit(next, null, -1, `the trimmer deletes ${what} %`, slot, 0)
}

/** Write a checkpoint of a slot from the log. */
function writeCheckpoint(run: Run, next: Uint8Array, last: number): void {
  const shared = run.shared
  let length = 0
  const add = (slot: number, transaction: number) => {
    next[shared + SharedField.checkpointView + length++] = viewEntry(slot, transaction)
  }
  for (let slot = 2; slot <= last; slot++) {
    const base = slotAt(slot)
    for (let record = 1; record <= next[base + S.counted]!; record++) {
      add(slot - 1, countedRecord(next, slotAt(slot - 1), base, record))
    }
    if (next[base + S.entry] !== 0) add(slot, next[base + S.entry]!)
  }
  next[shared + SharedField.checkpointSlot] = last
  next[shared + SharedField.checkpointLength] = length
}
