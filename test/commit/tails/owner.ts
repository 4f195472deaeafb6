/** The owner of a tail creates it, appends records to it, and ends it. */
import { clearRecords, deleteName, isLinked, recordAt, syncFolder, syncTail, validRecords } from './disk.js'
import {
  Durability,
  exists,
  ProcessField as P,
  processAt,
  RecordState,
  recordChecksum,
  SlotField as S,
  SharedField,
  slotAt,
} from './layout.js'
import { At, mayAppend, mayHaveTail, nonce, Purpose, type Run, reopen } from './run.js'
import { beginEnding, beginOwnEnd } from './sealer.js'
import { append, applyRecords, nextTransaction, show } from './view.js'

/** Append the slot after the head: to the own tail, or to a file after the tail of the base has ended. */
export function beginAppend(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { rules } = run
  const { version, readOnly } = rules.processes[process]!
  if (readOnly === true) return
  const slot = next[p + P.base]!
  const base = slotAt(slot)
  next[p + P.purpose] = Purpose.write
  next[p + P.target] = slot
  if (mayAppend(run, next, p)) {
    const records = next[p + P.head]! - slot
    const isCreated =
      next[base + S.tailName] !== Durability.absent && next[base + S.tailSeed] === nonce(next, process)
    if (!isCreated) next[p + P.at] = At.createTail
    else if (records < rules.recordsPerTail) next[p + P.at] = At.owner
    else beginOwnEnd(run, next, process)
    return
  }
  const isPast = next[p + P.ended] !== 0 && next[p + P.head] === slot + next[p + P.ended]! - 1
  if (version === 'by name') next[p + P.at] = At.lookForTailName
  else if (version !== 'old' && mayHaveTail(run, next, p) && !isPast) beginEnding(run, next, process, slot)
  else next[p + P.at] = rules.syncsEndFirst && version !== 'old' ? At.syncEnd : At.putFile
}

/** One step of the creation of the own tail. */
export function createTail(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { syncsTailName, syncsZeroFill, looksForBase, trims } = run.rules
  const slot = next[p + P.base]!
  const base = slotAt(slot)
  const at = next[p + P.at]!
  const last = looksForBase && trims !== null ? At.lookForBase : At.owner
  const named = syncsTailName ? At.syncTailName : last
  if (at === At.createTail) {
    if (isLinked(next, base)) {
      beginEnding(run, next, process, slot)
      run.emit(next, null, process, 'finds another tail %', slot, 0)
      return
    }
    clearRecords(next, base)
    next[base + S.tailName] = Durability.cached
    next[base + S.zeroFill] = syncsZeroFill ? Durability.durable : Durability.cached
    next[base + S.tailSeed] = nonce(next, process)
    next[base + S.tailBoot] = next[run.shared + SharedField.boot]!
    next[p + P.at] = named
    run.emit(next, null, process, 'creates tail %', slot, 0)
    return
  }
  if (at === At.syncTailName) {
    syncFolder(next)
    next[p + P.at] = last
    run.emit(next, null, process, 'syncs _log/', 0, 0)
    return
  }
  if (exists(next[base + S.name]!) && next[base + S.maker] === nonce(next, process)) {
    next[p + P.at] = At.owner
    run.emit(next, null, process, 'finds that slot % is still there', slot, 0)
    return
  }
  deleteName(next, base, S.tailName)
  reopen(run, next, process, 'finds that slot % was trimmed, deletes its tail', slot)
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
  const proceed = () => {
    next[p + P.at] = index + 1 < owner.length ? At.owner + index + 1 : At.idle
    if (index + 1 === owner.length) next.fill(0, p + P.shownBefore, p + P.newestTail)
  }
  switch (step) {
    case 'write':
      write(run, next, process, proceed)
      return
    case 'sync':
      if (state[run.shared + SharedField.syncFailures] !== 0 && !run.isAlone) {
        const failed = state.slice()
        failed[run.shared + SharedField.syncFailures]!--
        syncTail(failed, base, false, true)
        failed[p + P.gaveUp] = 1
        failed[p + P.writing] = 0
        beginEnding(run, failed, process, slot)
        run.emit(failed, null, process, 'fails to sync tail %, and gives it up', file, 0)
      }
      syncTail(next, base, run.rules.recordSyncCoversZeroFill, false)
      proceed()
      run.emit(next, null, process, 'syncs tail %', file, 0)
      return
    case 'look for seal':
    case 'look for end': {
      const field = step === 'look for seal' ? S.seal : S.end
      const isThere = exists(state[slotAt(slot) + field]!)
      if (isThere) foundSeal(run, next, process)
      else proceed()
      const label = `${step.replace('look', 'looks')} %: ${isThere ? 'there' : 'absent'}`
      if (next[p + P.at] === At.open) reopen(run, next, process, label, slot)
      else run.emit(next, null, process, label, slot, 0)
      return
    }
    case 'look at tail':
      lookAtTail(run, next, process, proceed)
      return
    case 'mark':
      next[base + S.mark] = Math.max(state[base + S.mark]!, state[p + P.count]!)
      proceed()
      run.emit(next, null, process, 'sets the mark % of tail %', state[p + P.count]!, file)
      return
    case 'acknowledge': {
      const applied =
        file === slot
          ? applyRecords(next, process, state[p + P.count]!, false)
          : append(next, process, state[p + P.writing]!)
      if (file !== slot) next[p + P.headChecksum] = recordChecksum(next[p + P.baseMaker]!)
      const violation = applied ?? show(run, next, process)
      proceed()
      run.emit(next, violation, process, 'acknowledges transaction %', state[p + P.writing]!, 0)
      return
    }
  }
}

/** Write the next record. */
function write(run: Run, next: Uint8Array, process: number, proceed: () => void): void {
  const p = processAt(process)
  const file = next[p + P.handle]!
  const base = slotAt(file)
  const isStale = file !== next[p + P.owned]
  const count = isStale ? validRecords(next, base, false) + 1 : next[p + P.head]! - file + 1
  const transaction = nextTransaction(next, p)
  if (count > run.rules.recordsPerTail || transaction === 0) {
    next[p + P.at] = At.idle
    next[p + P.gaveUp] = 1
    run.emit(next, null, process, 'has nothing to write to tail %', file, 0)
    return
  }
  next[recordAt(base, count)] = transaction
  next[recordAt(base, count) + 1] = RecordState.cached
  next[p + P.count] = count
  next[p + P.writing] = transaction
  proceed()
  run.emit(next, null, process, 'writes transaction % to tail %', transaction, file)
}

/** The owner appends no more. The end decides about its record. */
function foundSeal(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const slot = next[p + P.owned]!
  next[p + P.gaveUp] = 1
  if (run.rules.owner.includes('look at tail') && !isLinked(next, slotAt(slot))) next[p + P.at] = At.open
  else beginEnding(run, next, process, slot)
}

function lookAtTail(run: Run, next: Uint8Array, process: number, proceed: () => void): void {
  const p = processAt(process)
  const file = next[p + P.handle]!
  if (!isLinked(next, slotAt(file))) {
    reopen(run, next, process, 'finds that its tail % was trimmed', file)
    return
  }
  proceed()
  if (run.rules.trims === null) run.step(next, process)
  else run.emit(next, null, process, 'finds that its tail % is still there', file, 0)
}
