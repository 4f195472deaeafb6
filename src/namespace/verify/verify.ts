/**
 * Checks a whole root: every slot and the chain of them, what is kept of their fold, and every file that a version which is
 * there refers to, each against the checksums that the log has of it. Nothing is believed that can be worked out anew.
 *
 * Reads the root as it was at one slot. Holds what a state takes, and of the rest a piece at a time.
 */
import { catalogMachine } from '../../catalog/apply.js'
import { BlobLog } from '../../commit/blob-log.js'
import { Checkpoints } from '../../commit/checkpoints.js'
import type { Json } from '../../commit/machine.js'
import { Slots } from '../../commit/slots.js'
import { History } from '../../manifest/history.js'
import { type Clock, systemClock } from '../../primitives/clock.js'
import type { BlobStore } from '../../storage/blob-store.js'
import { FileStore } from '../../storage/file-store.js'
import type { Engine } from '../engine.js'
import { pagesOf } from '../upkeep/checkpoint-extra.js'
import { Findings, type Verification, type VerifyOptions } from './findings.js'
import { verifyHistory } from './verify-history.js'
import { type VerifiedLog, verifyLog } from './verify-log.js'
import { verifyTables } from './verify-tables.js'
import type { Verifying } from './verifying.js'

/**
 * Checks the root in a directory, also one that cannot be opened any more. Nobody is told that it is read: in a root that others
 * write to use `Namespace.verify`, or take files for missing that upkeep has deleted meanwhile. Throws code 1 where there is no
 * root, 0 for one that a newer Sheaf wrote, and what the disk throws.
 */
export async function verify(path: string, options: VerifyOptions = {}): Promise<Verification> {
  const store = await FileStore.open(path, { create: false, readOnly: options.repair !== true })
  return verifyStore(store, Number.POSITIVE_INFINITY, options, systemClock)
}

/** Checks a root that is open as it is now: while it does nobody deletes what it shows. */
export async function verifyOpen(
  { root, pins, store, clock }: Engine,
  options: VerifyOptions,
): Promise<Verification> {
  await root.refresh(options.signal)
  const { head } = root
  const unpin = await pins.hold(head, options.signal)
  try {
    return await verifyStore(store, head, options, clock)
  } finally {
    await unpin()
  }
}

/** `last`: the newest slot that is looked at. */
async function verifyStore(
  store: BlobStore,
  last: number,
  options: VerifyOptions,
  clock: Clock,
): Promise<Verification> {
  const findings = new Findings(options)
  const log = new BlobLog(store)
  const verifying: Verifying = {
    store,
    last,
    log,
    slots: new Slots(log, catalogMachine.features),
    checkpoints: new Checkpoints(store, catalogMachine, clock),
    findings,
    signal: options.signal,
  }
  const found = await verifyLog(verifying)
  if (found.checkpoint !== null) await verifyHistory(verifying, found.checkpoint)
  const { state } = found
  if (state !== null) await verifyTables(verifying, state, await historyOf(verifying, found))
  if (options.repair === true) await keepState(verifying, found)
  return findings.result()
}

/** Records from the pages of the checkpoint, and of the slots after it. */
async function historyOf(
  { store, slots, signal }: Verifying,
  { slot, checkpoint }: Pick<VerifiedLog, 'slot' | 'checkpoint'>,
): Promise<History> {
  const history = new History(store, checkpoint === null ? [] : pagesOf(checkpoint), slots)
  for (let number = history.sealed + 1; number <= slot; number++) {
    history.note(await slots.get(number, signal))
  }
  return history
}

/** Where no checkpoint was sound, one is written, if the log tells all of it. */
async function keepState(verifying: Verifying, log: VerifiedLog): Promise<void> {
  const { checkpoints, findings, signal } = verifying
  const { state, slot, checkpoint, whole } = log
  const wasLost = findings.repaired.some(({ kind }) => kind === 'checkpoint')
  if (checkpoint !== null || whole === null || state === null || !wasLost) return
  const history = await historyOf(verifying, log)
  const pages = await history.writePage(slot, signal)
  await checkpoints.write({ ...whole, slot, state }, { pages } as unknown as Json, [], signal)
}
