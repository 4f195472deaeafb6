/** A process ends the tail of another process, and puts the next slot. */
import { isLinked, recordOf, syncLogFolder, syncTail, validRecords } from './disk.js'
import {
  Content,
  Durability,
  ProcessField as P,
  processAt,
  SlotField as S,
  SharedField,
  slotAt,
  slotBytes,
  slotsMax,
  transactionsMax,
} from './layout.js'
import { At, needsSync, nonce, Purpose, type Run, reopen } from './run.js'
import { isInView } from './view.js'

/** Emit one step of `Rules.sealer`. */
export function sealerStep(run: Run, state: Uint8Array, process: number, index: number): void {
  const rules = run.rules
  const p = processAt(process)
  const next = state.slice()
  const head = state[p + P.head]!
  const base = slotAt(head)
  next[p + P.at] = At.sealer + index + 1
  switch (rules.sealer[index]!) {
    case 'seal': {
      const isThere = state[base + S.seal] !== Durability.absent
      if (isThere && !rules.finishesSeals) {
        next[p + P.at] = At.lookForNext
        run.emit(next, null, process, 'finds seal %, and waits for its maker', head, 0)
        return
      }
      if (!isThere) next[base + S.seal] = Durability.cached
      run.emit(next, null, process, isThere ? 'finds seal %' : 'creates seal %', head, 0)
      return
    }
    case 'read': {
      const count = validRecords(state, base, rules.seedsRecords)
      next[p + P.count] = count
      run.emit(next, null, process, 'reads % records of tail %', count, head)
      return
    }
    case 'read mark': {
      // The sealer may read the mark before the records.
      const mark = state[base + S.mark]!
      next[p + P.markRead] = mark
      run.emit(next, null, process, 'reads the mark % of tail %', mark, head)
      return
    }
    case 'sync tail':
      if (isLinked(state, base)) syncTail(next, base, true, false)
      run.emit(next, null, process, 'syncs tail %', head, 0)
      return
    case 'put':
      put(run, next, process, head + 1)
      return
    case 'sync folder':
      failFolderSync(run, state, process)
      syncPut(run, next, process, head + 1)
      return
    case 'delete seal':
      next[base + S.seal] = Durability.absent
      next[p + P.at] = At.apply
      run.emit(next, null, process, 'deletes seal %', head, 0)
      return
  }
}

/** Put a slot that ends the tail of the slot before it. If the slot exists, the process applies it instead. */
export function put(run: Run, next: Uint8Array, process: number, slot: number): void {
  const rules = run.rules
  const p = processAt(process)
  const plan = rules.processes[process]!
  const base = slotAt(slot)
  if (next[base + S.name] !== Durability.absent) {
    next[p + P.count] = 0
    next[p + P.markRead] = 0
    next[p + P.at] = needsSync(run, next, process) ? At.syncFolder : At.apply
    run.emit(next, null, process, 'finds that slot % is taken', slot, 0)
    return
  }
  // This bound limits the search. It is not a rule of the protocol.
  if (slot > (run.isAlone ? slotsMax : rules.slots)) return
  const counted = next[p + P.count]!
  const mark = Math.min(counted, next[p + P.markRead]!)
  const forPosition = (next[p + P.purpose]! & Purpose.position) !== 0
  const entry = forPosition ? 0 : nextTransaction(run, next, process, counted)
  const hasTail = plan.hasTails && slot <= rules.lastTail && !(forPosition && rules.positionSlotHasNoTail)
  next.fill(0, base, base + slotBytes)
  next[base + S.name] = Durability.cached
  next[base + S.content] = rules.syncsTemporary ? Content.durable : Content.cached
  next[base + S.maker] = nonce(next, process)
  next[base + S.declaresTail] = hasTail ? 1 : 0
  next[base + S.counted] = counted
  const carriedFrom = { 'above mark': mark, all: 0, none: counted }[rules.carriesRecords]
  next[base + S.carriedFrom] = carriedFrom
  for (let record = carriedFrom + 1; record <= counted; record++) {
    next[base + S.carried + record - 1] = recordOf(next, slotAt(slot - 1), record)
  }
  next[base + S.entry] = entry
  next[base + S.previous] = next[p + P.headMaker]!
  next[p + P.count] = 0
  next[p + P.markRead] = 0
  const label =
    entry === 0
      ? 'puts slot %, which counts % records'
      : `puts slot % with transaction ${entry}, which counts % records`
  run.emit(next, null, process, label, slot, counted)
}

/** Return the first pending transaction that is neither in the view nor among the counted records. */
function nextTransaction(run: Run, state: Uint8Array, process: number, counted: number): number {
  const p = processAt(process)
  const base = slotAt(state[p + P.head]!)
  for (let transaction = 1; transaction <= transactionsMax; transaction++) {
    if ((state[p + P.pending]! & (1 << (transaction - 1))) === 0) continue
    let isThere = isInView(state, p, transaction)
    if (run.rules.looksForOwnTransactions) {
      for (let record = state[p + P.applied]! + 1; record <= counted; record++) {
        if (recordOf(state, base, record) === transaction) isThere = true
      }
    }
    if (!isThere) return transaction
  }
  return 0
}

/** Make the own slot durable. If the slot before it was trimmed, the own slot is not part of the log. */
function syncPut(run: Run, next: Uint8Array, process: number, slot: number): void {
  const p = processAt(process)
  const { trims, looksBack } = run.rules
  syncLogFolder(next)
  if (trims !== null && looksBack && next[slotAt(slot - 1) + S.name] === Durability.absent) {
    if (slot < next[run.shared + SharedField.checkpointSlot]!) next[slotAt(slot) + S.name] = Durability.absent
    reopen(run, next, process, 'finds that slot % was trimmed', slot - 1)
    return
  }
  const deletion = run.rules.sealer.indexOf('delete seal')
  next[p + P.at] = deletion === -1 ? At.apply : At.sealer + deletion
  run.emit(next, null, process, 'syncs the folder of the log', 0, 0)
}

/** A sync of the folder fails. Then the process shows and writes nothing before it has opened the root again. */
export function failFolderSync(run: Run, state: Uint8Array, process: number): void {
  if (state[run.shared + SharedField.syncFailures] === 0 || run.isAlone) return
  const failed = state.slice()
  failed[run.shared + SharedField.syncFailures]!--
  reopen(run, failed, process, 'fails to sync the folder of the log', 0)
}
