/** The owner of a tail appends records to it, and ends it. */
import { recordAt, recordOf, syncTail, validRecords } from './disk.js'
import {
  Durability,
  ProcessField as P,
  processAt,
  processBytes,
  RecordState,
  SlotField as S,
  SharedField,
  slotAt,
  transactionsMax,
  unlinked,
} from './layout.js'
import { At, Purpose, type Run, reopen } from './run.js'
import { append, applyRecords, show } from './view.js'

/** The owner appends a record. If its tail is full, it ends the tail. */
export function beginAppend(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { recordsPerTail } = run.rules
  const base = slotAt(next[p + P.owned]!)
  if (next[base + S.tailName] === Durability.absent) next[p + P.at] = At.createTail
  else if (next[p + P.applied]! < recordsPerTail) {
    next[p + P.at] = At.owner
    next[p + P.count] = next[p + P.applied]!
  } else {
    next[p + P.purpose] = Purpose.write
    endOwnTail(run, next, process)
  }
  run.step(next, process)
}

/** The owner is the only writer of records. So it knows the end of the tail, and needs no seal to stop itself. */
export function endOwnTail(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { sealer, sealsOwnTail, stopsBeforeEnd } = run.rules
  next[p + P.gaveUp] = 1
  if (sealsOwnTail) {
    next[p + P.at] = At.sealer
    return
  }
  // Without `stopsBeforeEnd`, the slot states the end before the last record was appended.
  const count = next[p + P.applied]! - (stopsBeforeEnd ? 0 : 1)
  next[p + P.count] = count
  next[p + P.markRead] = next[slotAt(next[p + P.owned]!) + S.mark]!
  next[p + P.at] = At.sealer + sealer.indexOf('put')
}

/** Begin a refresh. */
export function refreshFor(run: Run, next: Uint8Array, process: number, purpose: number): void {
  const p = processAt(process)
  next[p + P.purpose] = purpose
  next[p + P.at] = At.lookForNext
  run.step(next, process)
}

/** Emit one step of `Rules.owner`. */
export function ownerStep(run: Run, state: Uint8Array, process: number, index: number): void {
  const { owner } = run.rules
  const p = processAt(process)
  const next = state.slice()
  const slot = state[p + P.owned]!
  const file = state[p + P.handle]!
  const base = slotAt(file)
  const step = owner[index]!
  const advance = () => {
    if (index + 1 < owner.length) next[p + P.at] = At.owner + index + 1
    else {
      next.fill(0, p + P.shownBefore, p + processBytes)
      next[p + P.at] = At.idle
    }
  }
  switch (step) {
    case 'write': {
      const transaction = writeRecord(run, next, process)
      if (transaction === 0) {
        next[p + P.gaveUp] = 1
        refreshFor(run, next, process, Purpose.write)
        return
      }
      advance()
      run.emit(next, null, process, 'writes transaction % to tail %', transaction, file)
      return
    }
    case 'sync': {
      if (run.rules.writesBatches) {
        const more = state.slice()
        const transaction = writeRecord(run, more, process)
        if (transaction !== 0)
          run.emit(more, null, process, 'writes transaction % to tail % too', transaction, file)
      }
      if (state[run.shared + SharedField.syncFailures] !== 0) {
        const failed = state.slice()
        failed[run.shared + SharedField.syncFailures]!--
        syncTail(failed, base, false, true)
        leaveTail(failed, p)
        run.emit(failed, null, process, 'fails to sync tail %, and gives it up', file, 0)
      }
      syncTail(next, base, run.rules.recordSyncCoversZeroFill, false)
      advance()
      run.emit(next, null, process, 'syncs tail %', file, 0)
      return
    }
    case 'look for seal':
    case 'look for slot': {
      const isSeal = step === 'look for seal'
      const isThere = state[isSeal ? slotAt(slot) + S.seal : slotAt(slot + 1) + S.name] !== Durability.absent
      if (isThere) leaveTail(next, p)
      else advance()
      const label = `looks for ${isSeal ? 'seal' : 'slot'} %: ${isThere ? 'there' : 'absent'}`
      run.emit(next, null, process, label, isSeal ? slot : slot + 1, 0)
      return
    }
    case 'look at link':
      if (state[base + S.tailName] === unlinked) {
        reopen(run, next, process, 'finds that its tail % has no name', file)
        return
      }
      advance()
      if (run.rules.trims === null) {
        run.step(next, process)
        return
      }
      run.emit(next, null, process, 'finds that its tail % has a name', file, 0)
      return
    case 'mark':
      next[base + S.mark] = Math.max(state[base + S.mark]!, state[p + P.count]!)
      advance()
      run.emit(next, null, process, 'publishes the mark % of tail %', state[p + P.count]!, file)
      return
    case 'acknowledge': {
      const isStale = file !== slot
      const violation =
        (isStale
          ? append(run, next, process, slot, state[p + P.writing]!)
          : applyRecords(run, next, process, state[p + P.count]!)) ?? show(run, next, process)
      advance()
      run.emit(next, violation, process, 'acknowledges transaction %', state[p + P.writing]!, 0)
      return
    }
  }
}

/** Write the next record. Returns its transaction; 0 if the tail is full, or if there is nothing to write. */
function writeRecord(run: Run, next: Uint8Array, process: number): number {
  const p = processAt(process)
  const file = next[p + P.handle]!
  const base = slotAt(file)
  const isStale = file !== next[p + P.owned]
  const count = (isStale ? validRecords(next, base, false) : next[p + P.count]!) + 1
  if (count > run.rules.recordsPerTail) return 0
  for (let transaction = 1; transaction <= transactionsMax; transaction++) {
    if ((next[p + P.pending]! & (1 << (transaction - 1))) === 0) continue
    let isWritten = false
    for (let record = next[p + P.applied]! + 1; record < count; record++) {
      if (recordOf(next, base, record) === transaction) isWritten = true
    }
    if (isWritten) continue
    next[recordAt(base, count)] = transaction
    next[recordAt(base, count) + 1] = RecordState.cached
    next[p + P.count] = count
    next[p + P.writing] = transaction
    return transaction
  }
  return 0
}

/** Never write to the tail again. Slot N+1 decides what counts. */
function leaveTail(next: Uint8Array, p: number): void {
  next.fill(0, p + P.shownBefore, p + processBytes)
  next[p + P.gaveUp] = 1
  next[p + P.at] = At.lookForNext
  next[p + P.purpose] = Purpose.write
}
