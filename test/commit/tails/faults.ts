/** Crashes, power losses, and the trimmer. */
import { isCopying, mayDelete } from './copy.js'
import { deleteName, forEachPowerLoss, isLinked } from './disk.js'
import {
  exists,
  ProcessField as P,
  processAt,
  recordChecksum,
  SlotField as S,
  SharedField,
  sharedBytes,
  slotAt,
} from './layout.js'
import type { FileKind } from './rules.js'
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
  const { rules } = run
  const comparesBoots = rules.open === 'boot' || rules.processes.some(({ readOnly }) => readOnly === true)
  forEachPowerLoss(state, !rules.seedsRecords, (next, lost) => {
    next[shared + SharedField.powerLosses]!--
    if (comparesBoots) next[shared + SharedField.boot]!++
    // The root may lose unacknowledged transactions that the copy has.
    next.fill(0, shared + SharedField.copyLength, shared + sharedBytes)
    for (let process = 0; process < rules.processes.length; process++) {
      if (next[processAt(process) + P.at] !== At.stopped) forget(next, process, true)
    }
    run.emit(next, null, -1, `the power fails: ${lost} is lost`, 0, 0)
  })
}

const fields = { slot: S.name, tail: S.tailName, seal: S.seal, end: S.end } as const

/** The deletions of `trim`, in order. */
function deletionsOf(run: Run): (readonly [FileKind, number])[] {
  const { trims, trimsBefore, trimsInOrder } = run.rules
  const slots = Array.from({ length: trimsBefore - 1 }, (_, index) => index + 1)
  const kinds = trims ?? []
  const of = (some: readonly FileKind[]) => slots.flatMap(slot => some.map(kind => [kind, slot] as const))
  if (trimsInOrder) return of(kinds)
  return [...of(['slot']), ...of(kinds.filter(kind => kind !== 'slot'))]
}

export function trim(run: Run, state: Uint8Array): void {
  const { trims, trimsBefore, copy } = run.rules
  if (trims === null) return
  const shared = run.shared
  const done = state[shared + SharedField.trimmed]!
  if (done === 0) {
    writeCheckpoint(run, state, trimsBefore)
    return
  }
  const deletions = deletionsOf(run)
  for (let at = done - 1; at < deletions.length; at++) {
    const [kind, slot] = deletions[at]!
    const base = slotAt(slot)
    // Stop before a tail that has slots which cannot be deleted.
    if (kind !== 'slot' && isLinked(state, base) && !endsBy(run, state, slot)) return
    if (!exists(state[base + fields[kind]]!)) continue
    if (copy !== null && !mayDelete(state, shared, copy)) return
    const next = state.slice()
    next[shared + SharedField.trimmed] = at + 2
    deleteName(next, base, fields[kind])
    run.emit(next, null, -1, `the trimmer deletes ${kind} %`, slot, 0)
    return
  }
}

/** Return whether the tail of a slot has ended before the checkpoint. */
function endsBy(run: Run, state: Uint8Array, slot: number): boolean {
  const { keepsTails, usesFileAfter, trimsBefore } = run.rules
  if (!keepsTails) return true
  const base = slotAt(slot)
  if (exists(state[base + S.end]!)) return slot + state[base + S.endRecords]! < trimsBefore
  for (let after = slot + 1; usesFileAfter && after <= trimsBefore; after++) {
    if (exists(state[slotAt(after) + S.name]!)) return true
  }
  return false
}

/** Write a checkpoint of a slot that was shown. */
function writeCheckpoint(run: Run, state: Uint8Array, slot: number): void {
  const shared = run.shared
  if (state[shared + SharedField.shownLength]! < slot - 1) return
  const next = state.slice()
  next[shared + SharedField.trimmed] = 1
  next[shared + SharedField.checkpointSlot] = slot
  for (let index = 0; index < slot - 1; index++)
    next[shared + SharedField.checkpointView + index] = state[shared + SharedField.shown + index]!
  let base = slot
  while (base > 1 && !exists(state[slotAt(base) + S.name]!)) base--
  const maker = state[slotAt(base) + S.maker]!
  next[shared + SharedField.checkpointChecksum] = base === slot ? maker : recordChecksum(maker)
  run.emit(next, null, -1, 'the trimmer writes a checkpoint of slot %', slot, 0)
}
