/** A process ends a tail, and writes the file of the slot after it. */
import { deleteName, isLinked, recordOf, syncFolder, syncTail, validRecords } from './disk.js'
import {
  Content,
  Durability,
  exists,
  ProcessField as P,
  processAt,
  SlotField as S,
  SharedField,
  slotAt,
  slotsMax,
} from './layout.js'
import { At, failFolderSync, isHeadThere, nonce, Purpose, type Run, reopen } from './run.js'
import { applyRecords, nextTransaction, show } from './view.js'

/** Begin to end a tail, with a seal. */
export function beginEnding(run: Run, next: Uint8Array, process: number, slot: number): void {
  const p = processAt(process)
  next[p + P.target] = slot
  next[p + P.at] = At.sealer
  if (next[p + P.writing] === 0) next[p + P.count] = 0
  if (next[p + P.purpose] !== Purpose.open && !run.rules.decidesAgain && next[p + P.writing] === 0)
    next[p + P.writing] = nextTransaction(next, p)
}

/** The owner ends its full tail. It alone appends, so it knows the last record, and needs no seal. */
export function beginOwnEnd(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { sealer, sealsOwnTail, stopsBeforeEnd } = run.rules
  next[p + P.gaveUp] = 1
  if (sealsOwnTail) {
    beginEnding(run, next, process, next[p + P.base]!)
    return
  }
  // Without `stopsBeforeEnd`, the end was prepared before the last record was appended.
  next[p + P.read] = next[p + P.head]! - next[p + P.base]! - (stopsBeforeEnd ? 0 : 1)
  next[p + P.markRead] = next[slotAt(next[p + P.base]!) + S.mark]!
  next[p + P.at] = At.sealer + sealer.indexOf('put end')
}

/** Emit one step of `Rules.sealer`. */
export function sealerStep(run: Run, state: Uint8Array, process: number, index: number): void {
  const { sealer, finishesSeals, seedsRecords } = run.rules
  const p = processAt(process)
  const next = state.slice()
  const slot = state[p + P.target]!
  const base = slotAt(slot)
  next[p + P.at] = At.sealer + index + 1
  switch (sealer[index]!) {
    case 'look for end': {
      const isThere = exists(state[base + S.end]!)
      const violation = isThere ? afterEnd(run, next, process) : null
      run.emit(next, violation, process, `looks for end %: ${isThere ? 'there' : 'absent'}`, slot, 0)
      return
    }
    case 'seal': {
      const isThere = exists(state[base + S.seal]!)
      if (isThere && !finishesSeals) {
        reopen(run, next, process, 'finds seal %, and waits for its maker', slot)
        return
      }
      if (!isThere) next[base + S.seal] = Durability.cached
      run.emit(next, null, process, isThere ? 'finds seal %' : 'creates seal %', slot, 0)
      return
    }
    case 'read mark':
      next[p + P.markRead] = state[base + S.mark]!
      run.emit(next, null, process, 'reads the mark % of tail %', state[base + S.mark]!, slot)
      return
    case 'read': {
      // Without a tail and without slot B, the log was trimmed past the tail.
      if (!isLinked(state, base) && !exists(state[base + S.name]!)) {
        reopen(run, next, process, 'finds that slot % was trimmed', slot)
        return
      }
      const count = isLinked(state, base) ? validRecords(state, base, seedsRecords) : 0
      next[p + P.read] = count
      run.emit(next, null, process, 'reads % records of tail %', count, slot)
      return
    }
    case 'sync tail':
      if (isLinked(state, base)) syncTail(next, base, true, false)
      run.emit(next, null, process, 'syncs tail %', slot, 0)
      return
    case 'put end':
      putEnd(run, next, process)
      return
    case 'sync folder': {
      failFolderSync(run, state, process)
      syncFolder(next)
      const violation = afterEnd(run, next, process)
      run.emit(next, violation, process, 'syncs _log/', 0, 0)
      return
    }
  }
}

/** Write the end, unless another process has written it. */
function putEnd(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const slot = next[p + P.target]!
  const base = slotAt(slot)
  if (exists(next[base + S.end]!)) {
    const violation = afterEnd(run, next, process)
    run.emit(next, violation, process, 'finds that end % is taken', slot, 0)
    return
  }
  const records = next[p + P.read]!
  const mark = Math.min(records, next[p + P.markRead]!)
  const from = { 'after mark': mark, all: 0, none: records }[run.rules.endCopies]
  next[base + S.end] = Durability.cached
  next[base + S.endRecords] = records
  next[base + S.endFrom] = from
  for (let record = from + 1; record <= records; record++)
    next[base + S.copies + record - 1] = recordOf(next, base, record)
  run.emit(next, null, process, 'writes end %, which says % slots', slot, records)
}

/** The end of the tail is known. Continue with what it was ended for. */
function afterEnd(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const slot = next[p + P.target]!
  const base = slotAt(slot)
  const records = next[base + S.endRecords]!
  const own = next[p + P.writing]! !== 0 && next[p + P.owned] === slot ? next[p + P.count]! : 0
  next[p + P.markRead] = 0
  next[p + P.read] = 0
  if (next[p + P.purpose] === Purpose.open) {
    next[p + P.used] = records
    if (next[base + S.end] === Durability.cached) syncFolder(next)
    next[p + P.at] = At.start
    return null
  }
  next[p + P.ended] = records + 1
  const isInTail = next[p + P.head]! < slot + records
  if (own > 0 && own <= records) {
    next[p + P.at] = At.lookBackOwn
    return null
  }
  next[p + P.count] = 0
  if (!isInTail) {
    next[p + P.writing] = 0
    next[p + P.at] = run.rules.syncsEndFirst ? At.syncEnd : At.putFile
  } else if (run.rules.decidesAgain || next[p + P.writing] === 0) {
    next[p + P.writing] = 0
    next[p + P.at] = At.advance
  } else {
    const violation = applyRecords(next, process, records, true)
    next[p + P.at] = At.putFile
    return violation
  }
  return null
}

/**
 * The owner is answered `won`, because the end counts its record. If the slot before the record is gone, the log was
 * trimmed, and the end may be a new one.
 */
export function lookBackOwn(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const head = next[p + P.head]!
  if (run.rules.trims !== null && run.rules.looksBack && !isHeadThere(run, next, p)) {
    reopen(run, next, process, 'finds that slot % was trimmed', head)
    return
  }
  const violation = applyRecords(next, process, next[p + P.count]!, true) ?? show(run, next, process)
  next.fill(0, p + P.shownBefore, p + P.newestTail)
  next[p + P.at] = At.idle
  run.emit(next, violation, process, 'finds that slot % is still there, and acknowledges its record', head, 0)
}

/** Make the end durable that the process has read. */
export function syncEnd(run: Run, state: Uint8Array, process: number): void {
  const p = processAt(process)
  const next = state.slice()
  next[p + P.at] = At.putFile
  if (state[slotAt(state[p + P.base]!) + S.end] !== Durability.cached) {
    run.step(next, process)
    return
  }
  failFolderSync(run, state, process)
  syncFolder(next)
  run.emit(next, null, process, 'syncs _log/', 0, 0)
}

/** Write the file of the slot after the head. If the slot exists, the process applies it instead. */
export function putFile(run: Run, next: Uint8Array, process: number): void {
  const { rules } = run
  const p = processAt(process)
  const slot = next[p + P.head]! + 1
  const base = slotAt(slot)
  // This bound limits the search. It is not a rule of the protocol.
  if (slot > (run.isAlone ? slotsMax : rules.slots)) return
  if (exists(next[base + S.name]!)) {
    next[p + P.writing] = 0
    next[p + P.at] = At.advance
    run.emit(next, null, process, 'finds that slot % is taken', slot, 0)
    return
  }
  const transaction = next[p + P.writing] || nextTransaction(next, p)
  next.fill(0, base, base + S.seal)
  next[base + S.name] = Durability.cached
  next[base + S.content] = rules.syncsTemporary ? Content.durable : Content.cached
  next[base + S.maker] = nonce(next, process)
  next[base + S.declaresTail] = rules.processes[process]!.hasTails && slot <= rules.lastTail ? 1 : 0
  next[base + S.transaction] = transaction
  next[base + S.previous] = next[p + P.headChecksum]!
  next[p + P.writing] = 0
  next[p + P.at] = At.syncPut
  run.emit(next, null, process, 'writes slot % with transaction %', slot, transaction)
}

/** Make the own slot durable. If the slot before it was trimmed, the own slot is not part of the log. */
export function syncPut(run: Run, state: Uint8Array, process: number): void {
  const p = processAt(process)
  const { trims, looksBack } = run.rules
  failFolderSync(run, state, process)
  const next = state.slice()
  syncFolder(next)
  const head = next[p + P.head]!
  const isHeadGone =
    head > next[p + P.base]!
      ? !isLinked(next, slotAt(next[p + P.base]!))
      : !exists(next[slotAt(head) + S.name]!)
  if (trims !== null && looksBack && isHeadGone) {
    if (head + 1 < next[run.shared + SharedField.checkpointSlot]!) deleteName(next, slotAt(head + 1), S.name)
    reopen(run, next, process, 'finds that slot % was trimmed', head)
    return
  }
  next[p + P.at] = At.applyFile
  run.emit(next, null, process, 'syncs _log/', 0, 0)
}
