/** The program of a process: it opens the root, refreshes, writes, and takes positions. */
import {
  clearRecords,
  isLinked,
  markOf,
  syncLogFolder,
  syncTail,
  syncTailFolder,
  validRecords,
} from './disk.js'
import {
  Durability,
  ProcessField as P,
  processAt,
  processBytes,
  SlotField as S,
  SharedField,
  slotAt,
  slotOfEntry,
  slotsMax,
  unlinked,
  viewMax,
} from './layout.js'
import { beginAppend, endOwnTail, ownerStep, refreshFor } from './owner.js'
import {
  At,
  hasTail,
  isHeadThere,
  needsSync,
  nonce,
  ownsHead,
  Purpose,
  type Run,
  rememberShown,
  reopen,
} from './run.js'
import { failFolderSync, sealerStep } from './sealer.js'
import { applyRecords, applySlot, extend, show } from './view.js'

export function step(run: Run, state: Uint8Array, process: number): void {
  const at = state[processAt(process) + P.at]!
  if (at === At.stopped) return
  if (at >= At.sealer) {
    sealerStep(run, state, process, at - At.sealer)
    return
  }
  if (at >= At.owner) {
    ownerStep(run, state, process, at - At.owner)
    return
  }
  if (at === At.idle) {
    begin(run, state, process)
    return
  }
  const next = state.slice()
  switch (at) {
    case At.open:
      open(run, next, process)
      return
    case At.lookForNext:
      lookForNext(run, next, process)
      return
    case At.lookBack:
      lookBack(run, next, process)
      return
    case At.syncFolder:
      failFolderSync(run, state, process)
      syncLogFolder(next)
      next[processAt(process) + P.at] = At.apply
      run.emit(next, null, process, 'syncs the folder of the log', 0, 0)
      return
    case At.apply:
      apply(run, next, process)
      return
    case At.readMark:
      readMark(run, next, process)
      return
    case At.lookForTailName:
      lookForTailName(run, next, process)
      return
    case At.createTail:
    case At.fillTail:
    case At.syncTailName:
      createTail(run, next, process, at)
      return
    default:
      readTail(run, next, process, at)
      return
  }
}

/** Choose what an idle process does next: it writes, takes a position, or refreshes. */
function begin(run: Run, state: Uint8Array, process: number): void {
  const p = processAt(process)
  const isPending = state[p + P.pending] !== 0
  if (state[p + P.mustTakePosition] !== 0 && !run.isAlone) {
    refreshFor(run, state.slice(), process, Purpose.position)
  }
  if (isPending && ownsHead(state, p)) {
    beginAppend(run, state.slice(), process)
    return
  }
  if (isPending || !run.isAlone) {
    refreshFor(run, state.slice(), process, isPending ? Purpose.write : 0)
  }
}

/** Begin a process with the newest checkpoint, or with slot 1. */
export function open(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const shared = run.shared
  const checkpoint = next[shared + SharedField.checkpointSlot]!
  const head = checkpoint === 0 ? 1 : checkpoint
  next[p + P.purpose] = Purpose.open
  rememberShown(run, next, p)
  if (checkpoint !== 0) {
    next[p + P.viewLength] = next[shared + SharedField.checkpointLength]!
    for (let index = 0; index < viewMax; index++) {
      next[p + P.view + index] = next[shared + SharedField.checkpointView + index]!
    }
  }
  next[p + P.head] = head
  next[p + P.headMaker] = next[slotAt(head) + S.maker]!
  next[p + P.headDeclaresTail] = next[slotAt(head) + S.declaresTail]!
  // The checkpoint of a closed slot has all records of its tail. The slot after it says how many these are.
  if (checkpoint !== 0 && run.rules.positionSlot === 'closed') {
    next[p + P.applied] = next[slotAt(head + 1) + S.counted]!
  }
  next[p + P.at] = At.lookForNext
  run.emit(next, null, process, 'starts from slot %', head, 0)
}

export function lookForNext(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const head = next[p + P.head]!
  if ((next[p + P.purpose]! & Purpose.open) === 0) rememberShown(run, next, p)
  if (head < slotsMax && next[slotAt(head + 1) + S.name] !== Durability.absent) {
    next[p + P.at] = needsSync(run, next, process) ? At.syncFolder : At.apply
    run.emit(next, null, process, 'finds slot %', head + 1, 0)
    return
  }
  let violation: string | null = null
  if (run.rules.trims !== null && run.rules.looksBack) next[p + P.at] = At.lookBack
  else violation = reachHead(run, next, process)
  run.emit(next, violation, process, 'finds no slot %', head + 1, 0)
}

export function lookBack(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const head = next[p + P.head]!
  if (!isHeadThere(run, next, p)) {
    reopen(run, next, process, 'finds that slot % was trimmed', head)
    return
  }
  const violation = reachHead(run, next, process)
  run.emit(next, violation, process, 'finds that slot % is still there', head, 0)
}

export function apply(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const rules = run.rules
  const head = next[p + P.head]!
  const base = slotAt(head + 1)
  if (
    rules.processes[process]!.version === 'old' &&
    rules.stopsOldVersions &&
    next[p + P.headDeclaresTail] === 1
  ) {
    next[p + P.at] = At.stopped
    run.emit(next, null, process, 'does not know tails, and stops at slot %', head, 0)
    return
  }
  if (rules.trims !== null) {
    if (rules.looksBack && !isHeadThere(run, next, p)) {
      reopen(run, next, process, 'finds that slot % was trimmed', head)
      return
    }
    const isTailGone = next[slotAt(head) + S.tailName] === unlinked
    if (isTailGone && next[p + P.applied]! < next[base + S.carriedFrom]!) {
      reopen(run, next, process, 'finds that tail % was trimmed', head)
      return
    }
    if (next[base + S.name] === Durability.absent) {
      reopen(run, next, process, 'finds that slot % is gone', head + 1)
      return
    }
  }
  const violation = applySlot(run, next, process, head + 1)
  next[p + P.at] = At.lookForNext
  run.emit(
    next,
    violation,
    process,
    'applies slot %, which counts % records',
    head + 1,
    next[base + S.counted]!,
  )
}

/** There is no slot after the head. So the rest is in the tail of the head. */
function reachHead(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  if (run.rules.processes[process]!.version === 'old') {
    if (!run.rules.stopsOldVersions || next[p + P.headDeclaresTail] === 0)
      return refreshed(run, next, process)
    next[p + P.at] = At.stopped
    return null
  }
  if (!hasTail(run, next, p)) return refreshed(run, next, process)
  next[p + P.at] = (next[p + P.purpose]! & Purpose.open) === 0 ? At.readMark : At.readTail
  return null
}

export function readMark(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const head = next[p + P.head]!
  const mark = markOf(next, slotAt(head), run.rules.seedsRecords)
  const violation = applyRecords(run, next, process, mark) ?? refreshed(run, next, process)
  run.emit(next, violation, process, 'reads the mark % of tail %, and shows the records up to it', mark, head)
}

/** An opening process reads the tail of the last slot. */
export function readTail(run: Run, next: Uint8Array, process: number, at: number): void {
  const p = processAt(process)
  const { open, seedsRecords } = run.rules
  const head = next[p + P.head]!
  const base = slotAt(head)
  const show = (count: number) => applyRecords(run, next, process, count) ?? refreshed(run, next, process)
  if (at === At.syncReadTail) {
    syncTail(next, base, true, false)
    const looks = open === 'sync and look'
    if (looks) next[p + P.at] = At.lookForSeal
    const violation = looks ? null : show(next[p + P.count]!)
    run.emit(next, violation, process, 'syncs tail %', head, 0)
    return
  }
  if (at === At.lookForSeal) {
    const isSealed = next[base + S.seal] !== Durability.absent
    next[p + P.at] = isSealed ? At.sealer : At.lookForSlot
    run.emit(next, null, process, `looks for seal %: ${isSealed ? 'there' : 'absent'}`, head, 0)
    return
  }
  if (at === At.lookForSlot) {
    const isThere = next[slotAt(head + 1) + S.name] !== Durability.absent
    if (isThere) next[p + P.at] = At.syncFolder
    const violation = isThere ? null : show(next[p + P.count]!)
    run.emit(next, violation, process, `looks for slot %: ${isThere ? 'there' : 'absent'}`, head + 1, 0)
    return
  }
  const valid = validRecords(next, base, seedsRecords)
  const mark = markOf(next, base, seedsRecords)
  let violation: string | null = null
  if (open === 'seal' && valid > mark) {
    next[p + P.at] = At.sealer
    run.emit(next, null, process, 'finds % valid records and the mark %, so it will seal', valid, mark)
    return
  }
  if (open === 'seal' || open === 'mark') violation = show(mark)
  else if (open === 'all') violation = show(valid)
  else if (open === 'boot') {
    const isSameBoot = next[base + S.tailBoot] === next[run.shared + SharedField.boot]
    violation = show(isSameBoot ? mark : valid)
  } else {
    next[p + P.count] = valid
    next[p + P.at] = At.syncReadTail
  }
  run.emit(next, violation, process, 'opens the tail with % valid records and the mark %', valid, mark)
}

export function createTail(run: Run, next: Uint8Array, process: number, at: number): void {
  const p = processAt(process)
  const { syncsTailName, syncsZeroFill } = run.rules
  const slot = next[p + P.owned]!
  const base = slotAt(slot)
  if (at === At.createTail) {
    clearRecords(next, base)
    next[base + S.tailName] = Durability.cached
    next[base + S.zeroFill] = Durability.cached
    next[base + S.tailSeed] = nonce(next, process)
    next[base + S.tailBoot] = next[run.shared + SharedField.boot]!
    if (syncsZeroFill) next[p + P.at] = At.fillTail
    else next[p + P.at] = syncsTailName ? At.syncTailName : At.idle
    run.emit(next, null, process, 'creates tail %', slot, 0)
    return
  }
  if (at === At.fillTail) {
    if (next[base + S.zeroFill] === Durability.cached) next[base + S.zeroFill] = Durability.durable
    next[p + P.at] = syncsTailName ? At.syncTailName : At.idle
    run.emit(next, null, process, 'syncs the zero-fill of tail %', slot, 0)
    return
  }
  syncTailFolder(next)
  next[p + P.at] = At.idle
  run.emit(next, null, process, 'syncs the folder of tails', 0, 0)
}

export function lookForTailName(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const head = next[p + P.head]!
  const isThere = isLinked(next, slotAt(head))
  next[p + P.at] = At.sealer + (isThere ? 0 : run.rules.sealer.indexOf('put'))
  run.emit(next, null, process, `looks for tail %: ${isThere ? 'there' : 'absent'}`, head, 0)
}

/** The refresh has reached the end. Show the state, and continue with what the refresh was for. */
function refreshed(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const rules = run.rules
  const length = next[p + P.viewLength]!
  if (length < next[p + P.acknowledgedBefore]!)
    return `lost: process ${process} does not show a transaction that was acknowledged before it looked`
  if (length < next[p + P.shownBefore]!)
    return `stale: process ${process} does not show a transaction that was shown before it looked`
  const violation = show(run, next, process)
  const purpose = next[p + P.purpose]!
  next.fill(0, p + P.shownBefore, p + processBytes)
  next[p + P.at] = At.idle
  if (violation !== null) return violation
  if ((purpose & Purpose.position) !== 0) return takePosition(run, next, process)
  if ((purpose & Purpose.write) === 0 || next[p + P.pending] === 0 || ownsHead(next, p)) return null
  next[p + P.purpose] = Purpose.write
  const { version } = rules.processes[process]!
  if (version === 'by name') next[p + P.at] = At.lookForTailName
  else {
    const isSealing = version !== 'old' && hasTail(run, next, p)
    next[p + P.at] = At.sealer + (isSealing ? 0 : rules.sealer.indexOf('put'))
  }
  return null
}

/** Take a pin or a checkpoint of the shown state. If the newest slot has a tail, end the tail first. */
function takePosition(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const shared = run.shared
  const { endsTailForPosition, positionSlotHasNoTail, positionSlot, processes } = run.rules
  const isOpen = hasTail(run, next, p)
  const isClosed = positionSlot === 'closed'
  // If slots that end a tail for a position have a tail themselves, only records in the tail are a reason to end it.
  const mustEnd = isOpen && (positionSlotHasNoTail || next[p + P.applied]! > 0)
  if (mustEnd && endsTailForPosition && !isClosed) {
    next[p + P.purpose] = Purpose.position
    if (ownsHead(next, p)) endOwnTail(run, next, process)
    else next[p + P.at] = At.sealer
    return null
  }
  const head = next[p + P.head]!
  const slot = isOpen && isClosed ? head - 1 : head
  let length = next[p + P.viewLength]!
  if (processes[process]!.takes === 'pin') {
    next[shared + SharedField.pin] = slot + 1
    next[shared + SharedField.pinLength] = length
  } else {
    if (slot === 0) return null
    if (isClosed) while (length > 0 && slotOfEntry(next[p + P.view + length - 1]!) > slot) length--
    next[shared + SharedField.checkpointSlot] = slot
    next[shared + SharedField.checkpointLength] = length
    for (let index = 0; index < length; index++) {
      next[shared + SharedField.checkpointView + index] = next[p + P.view + index]!
    }
  }
  next[p + P.mustTakePosition] = 0
  for (let index = length; index < next[shared + SharedField.shownLength]!; index++) {
    const violation = extend(run, next, index, next[shared + SharedField.shown + index]!)
    if (violation !== null) return violation
  }
  return null
}
