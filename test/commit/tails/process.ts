/** The program of a process: it opens the root, refreshes, and writes. */
import { isLinked, markOf, syncFolder, syncTail, validRecords } from './disk.js'
import {
  Durability,
  exists,
  ProcessField as P,
  processAt,
  processBytes,
  recordChecksum,
  SlotField as S,
  SharedField,
  slotAt,
  slotsMax,
  viewMax,
} from './layout.js'
import { beginAppend, createTail, ownerStep } from './owner.js'
import type { Rules } from './rules.js'
import {
  At,
  failFolderSync,
  isHeadThere,
  mayAppend,
  mayHaveTail,
  Purpose,
  type Run,
  refreshFor,
  reopen,
} from './run.js'
import { beginEnding, lookBackOwn, putFile, sealerStep, syncEnd, syncPut } from './sealer.js'
import { applyFile, applyRecords, show, startBase } from './view.js'

type Step = (run: Run, next: Uint8Array, process: number) => void

const steps: Readonly<Record<number, Step>> = {
  [At.open]: open,
  [At.listTails]: listTails,
  [At.lookForNewestEnd]: lookForNewestEnd,
  [At.readNewestTail]: readNewestTail,
  [At.syncNewestTail]: syncNewestTail,
  [At.lookForNewestSeal]: lookForNewestSeal,
  [At.start]: start,
  [At.lookForEnd]: lookForEnd,
  [At.readMark]: readMark,
  [At.advance]: advance,
  [At.lookBack]: lookBack,
  [At.applyFile]: apply,
  [At.lookForTailName]: lookForTailName,
  [At.createTail]: createTail,
  [At.fillTail]: createTail,
  [At.syncTailName]: createTail,
  [At.lookForBase]: createTail,
  [At.putFile]: putFile,
  [At.lookBackOwn]: lookBackOwn,
}

export function step(run: Run, state: Uint8Array, process: number): void {
  const at = state[processAt(process) + P.at]!
  if (at === At.stopped) return
  const next = state.slice()
  if (at >= At.sealer) sealerStep(run, state, process, at - At.sealer)
  else if (at >= At.owner) ownerStep(run, state, process, at - At.owner)
  else if (at === At.idle) begin(run, state, process)
  else if (at === At.syncEnd) syncEnd(run, state, process)
  else if (at === At.syncPut) syncPut(run, state, process)
  else if (at === At.syncFolder) {
    failFolderSync(run, state, process)
    syncFolder(next)
    next[processAt(process) + P.at] = At.advance
    run.emit(next, null, process, 'syncs _log/', 0, 0)
  } else steps[at]!(run, next, process)
}

/** Choose what an idle process does next: it writes, or refreshes. */
function begin(run: Run, state: Uint8Array, process: number): void {
  const p = processAt(process)
  const isPending = state[p + P.pending] !== 0
  const next = state.slice()
  if (isPending && mayAppend(run, state, p)) {
    beginAppend(run, next, process)
    run.step(next, process)
  } else if (isPending || !run.isAlone) {
    refreshFor(run, next, process, isPending ? Purpose.write : Purpose.read)
    run.step(next, process)
  }
}

function open(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  refreshFor(run, next, process, Purpose.open)
  next[p + P.at] = At.listTails
  run.step(next, process)
}

/** List `_log/`. */
function listTails(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  let newest = 0
  let after = 0
  for (let slot = 1; slot <= slotsMax; slot++) {
    if (newest > 0 && after === 0 && exists(next[slotAt(slot) + S.name]!)) after = slot
    if (!isLinked(next, slotAt(slot))) continue
    newest = slot
    after = 0
  }
  next[p + P.newestTail] = newest
  next[p + P.fileAfter] = after
  next[p + P.at] =
    newest === 0 || run.rules.processes[process]!.version === 'old' ? At.start : At.lookForNewestEnd
  run.emit(next, null, process, 'lists _log/: the newest tail is %', newest, 0)
}

function lookForNewestEnd(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const newest = next[p + P.newestTail]!
  const base = slotAt(newest)
  const isThere = exists(next[base + S.end]!)
  const after = next[p + P.fileAfter]!
  const isStale = run.rules.usesFileAfter && after > 0 && newest + next[base + S.endRecords]! >= after
  if (isThere && !isStale) {
    next[p + P.fileAfter] = 0
    next[p + P.used] = next[base + S.endRecords]!
    // The process syncs `_log/` before it shows a slot of the tail.
    if (next[base + S.end] === Durability.cached) syncFolder(next)
    next[p + P.at] = At.start
  } else if (after > 0 && run.rules.usesFileAfter) {
    next[p + P.used] = Math.min(validRecords(next, base, run.rules.seedsRecords), after - 1 - newest)
    next[p + P.at] = At.start
  } else next[p + P.at] = At.readNewestTail
  run.emit(next, null, process, `looks for end %: ${isThere ? 'there' : 'absent'}`, newest, 0)
}

function openRule(rules: Rules, process: number): Rules['open'] {
  return rules.processes[process]!.readOnly === true ? rules.openReadOnly : rules.open
}

/** The newest tail has no end. Look for valid records after its mark. */
function readNewestTail(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { seedsRecords } = run.rules
  const rule = openRule(run.rules, process)
  const newest = next[p + P.newestTail]!
  const base = slotAt(newest)
  const valid = validRecords(next, base, seedsRecords)
  const mark = markOf(next, base, seedsRecords)
  const isSameBoot = next[base + S.tailBoot] === next[run.shared + SharedField.boot]
  const usesMark = valid === mark || rule === 'mark' || (rule === 'boot' && isSameBoot)
  next[p + P.used] = usesMark ? mark : valid
  next[p + P.at] = At.start
  if (!usesMark && rule === 'end') {
    next[p + P.used] = mark
    beginEnding(run, next, process, newest)
  } else if (!usesMark && (rule === 'sync' || rule === 'sync and look')) next[p + P.at] = At.syncNewestTail
  run.emit(next, null, process, 'finds % valid records and the mark % in the newest tail', valid, mark)
}

function syncNewestTail(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  syncTail(next, slotAt(next[p + P.newestTail]!), true, false)
  next[p + P.at] = run.rules.open === 'sync' ? At.start : At.lookForNewestSeal
  run.emit(next, null, process, 'syncs tail %', next[p + P.newestTail]!, 0)
}

function lookForNewestSeal(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const newest = next[p + P.newestTail]!
  const isSealed = exists(next[slotAt(newest) + S.seal]!)
  if (isSealed) beginEnding(run, next, process, newest)
  else next[p + P.at] = At.start
  run.emit(next, null, process, `looks for seal %: ${isSealed ? 'there' : 'absent'}`, newest, 0)
}

/** Start from the newest checkpoint, or from slot 1. The checkpoint may name a slot inside a tail. */
function start(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const shared = run.shared
  const head = Math.max(1, next[shared + SharedField.checkpointSlot]!)
  const newest = next[p + P.newestTail]!
  const isInNewest = head > newest && head <= newest + next[p + P.used]! && isLinked(next, slotAt(newest))
  let base = isInNewest ? newest : head
  while (
    base > 1 &&
    (base === head ? isInNewest || !exists(next[slotAt(base) + S.name]!) : !isLinked(next, slotAt(base)))
  )
    base--
  for (let index = 0; index < Math.min(head - 1, viewMax); index++)
    next[p + P.view + index] = next[shared + SharedField.checkpointView + index]!
  next[p + P.head] = head
  startBase(next, p, base)
  const { declaresTail } = S
  if (base < head) {
    // The file of the base may be deleted. Its checksum is in the head of the tail.
    next[p + P.baseMaker] = next[slotAt(base) + S.tailSeed]!
    next[p + P.baseDeclaresTail] = 1
    next[p + P.headChecksum] = recordChecksum(next[p + P.baseMaker]!)
  } else next[p + P.baseDeclaresTail] = next[slotAt(base) + declaresTail]!
  const expected = next[shared + SharedField.checkpointChecksum]!
  const isWrong = head > 1 && next[p + P.headChecksum] !== expected
  next[p + P.at] = At.lookForEnd
  const violation = isWrong ? `corrupt: slot ${head} is not the slot of the checkpoint` : null
  run.emit(next, violation, process, 'starts from slot %, with the base %', head, base)
}

/** Look for the end of the tail of the base. */
function lookForEnd(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { version } = run.rules.processes[process]!
  if (version === 'old' && run.rules.stopsOldVersions && next[p + P.baseDeclaresTail] === 1) {
    next[p + P.at] = At.stopped
    run.emit(next, null, process, 'does not know tails, and stops at slot %', next[p + P.base]!, 0)
    return
  }
  if (version === 'old' || next[p + P.ended] !== 0 || !mayHaveTail(run, next, p)) {
    next[p + P.at] = At.advance
    run.step(next, process)
    return
  }
  const slot = next[p + P.base]!
  const base = slotAt(slot)
  const isThere = exists(next[base + S.end]!)
  // Without its own end, a later file shows that the tail has ended.
  const isLeft = run.rules.usesFileAfter && next[p + P.newestTail] === slot && next[p + P.fileAfter] !== 0
  if (isLeft) next[p + P.ended] = next[p + P.used]! + 1
  else if (isThere) next[p + P.ended] = next[base + S.endRecords]! + 1
  next[p + P.at] = next[p + P.ended] !== 0 ? At.advance : At.readMark
  run.emit(next, null, process, `looks for end %: ${isThere ? 'there' : 'absent'}`, slot, 0)
}

/** The tail has no end: apply the slots up to the mark. */
function readMark(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const slot = next[p + P.base]!
  const base = slotAt(slot)
  const used = next[p + P.newestTail] === slot ? next[p + P.used]! : 0
  const mark = Math.max(markOf(next, base, run.rules.seedsRecords), used)
  if (next[p + P.head]! < slot + mark && !isLinked(next, base)) {
    reopen(run, next, process, 'finds that tail % was trimmed', slot)
    return
  }
  const violation = applyRecords(next, process, mark, false)
  next[p + P.at] = At.lookBack
  const isChecked = run.rules.trims !== null && run.rules.looksBack
  const wrong = violation ?? (isChecked ? null : refreshed(run, next, process))
  run.emit(next, wrong, process, 'reads the mark % of tail %', mark, slot)
}

/** The tail of the base has ended, or the base has none. Apply its slots, and look for the file of the next one. */
function advance(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { syncsBeforeApply, trims, looksBack } = run.rules
  const slot = next[p + P.base]!
  const base = slotAt(slot)
  const ended = Math.max(0, next[p + P.ended]! - 1)
  const head = next[p + P.head]!
  if (head < slot + ended) {
    if (syncsBeforeApply && next[base + S.end] === Durability.cached) {
      next[p + P.at] = At.syncFolder
      run.step(next, process)
      return
    }
    // A late writer may write another end after a trim.
    const isSame = exists(next[base + S.end]!) && next[base + S.endRecords] === ended
    const isCopied = isSame && head - slot >= next[base + S.endFrom]!
    if (!isCopied && !isLinked(next, base)) {
      reopen(run, next, process, 'finds that tail % was trimmed', slot)
      return
    }
    const violation = applyRecords(next, process, ended, true)
    run.emit(next, violation, process, 'applies the slots of tail %, which has % slots', slot, ended)
    return
  }
  const isThere = head < slotsMax && exists(next[slotAt(head + 1) + S.name]!)
  if (isThere) {
    const isCached = next[slotAt(head + 1) + S.name] === Durability.cached
    if (syncsBeforeApply && isCached) {
      next[p + P.at] = At.syncFolder
      run.step(next, process)
      return
    }
    next[p + P.at] = At.applyFile
    run.emit(next, null, process, 'finds slot %', head + 1, 0)
    return
  }
  next[p + P.at] = At.lookBack
  const violation = trims !== null && looksBack ? null : refreshed(run, next, process)
  run.emit(next, violation, process, 'finds no slot %', head + 1, 0)
}

function lookBack(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const head = next[p + P.head]!
  if (!isHeadThere(run, next, p)) {
    reopen(run, next, process, 'finds that slot % was trimmed', head)
    return
  }
  const violation = refreshed(run, next, process)
  run.emit(next, violation, process, 'finds that slot % is still there', head, 0)
}

function apply(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const { trims, looksBack } = run.rules
  const head = next[p + P.head]!
  if (trims !== null && looksBack && !isHeadThere(run, next, p)) {
    reopen(run, next, process, 'finds that slot % was trimmed', head)
    return
  }
  if (!exists(next[slotAt(head + 1) + S.name]!)) {
    reopen(run, next, process, 'finds that slot % is gone', head + 1)
    return
  }
  const violation = applyFile(run, next, process)
  next[p + P.at] = At.lookForEnd
  run.emit(next, violation, process, 'applies slot %', head + 1, 0)
}

function lookForTailName(run: Run, next: Uint8Array, process: number): void {
  const p = processAt(process)
  const slot = next[p + P.base]!
  const isThere = isLinked(next, slotAt(slot))
  if (isThere) beginEnding(run, next, process, slot)
  else next[p + P.at] = At.putFile
  run.emit(next, null, process, `looks for tail %: ${isThere ? 'there' : 'absent'}`, slot, 0)
}

/** The refresh has reached the end of the log. Show the state, and continue with what the refresh was for. */
function refreshed(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const length = next[p + P.head]! - 1
  if (length < next[p + P.acknowledgedBefore]!)
    return `lost: process ${process} does not show a transaction that was acknowledged before it looked`
  if (length < next[p + P.shownBefore]!)
    return `stale: process ${process} does not show a transaction that was shown before it looked`
  const violation = show(run, next, process)
  const isWriting = next[p + P.purpose] === Purpose.write
  next.fill(0, p + P.shownBefore, p + P.newestTail)
  if (next[p + P.base] !== next[p + P.newestTail] || next[p + P.ended] !== 0)
    next.fill(0, p + P.newestTail, p + processBytes)
  next[p + P.at] = At.idle
  if (violation !== null || !isWriting || next[p + P.pending] === 0) return violation
  beginAppend(run, next, process)
  return null
}
