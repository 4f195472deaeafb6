/**
 * Checks a whole root: all slots and their chain, all files that are derived from the log, and all files to which a
 * live version refers. Files are checked against their checksums in the log. Derived data is computed again from the
 * log, and compared.
 *
 * The verification reads the state of the root at one slot. In memory it keeps one catalog state, and of all other data
 * only parts of limited size.
 */
import { catalogMachine } from '../catalog/apply.js'
import type { CatalogState } from '../catalog/state.js'
import type { Verification, VerifyOptions } from '../client/verification.js'
import { Checkpoints, type FoundCheckpoint } from '../commit/checkpoints.js'
import { type ExternalLog, refusePointer } from '../commit/external-log.js'
import { openFileLog } from '../commit/file-log.js'
import { Packs } from '../commit/packs.js'
import { decodeGenesis } from '../commit/slot.js'
import { Slots } from '../commit/slots.js'
import type { TailedLog } from '../commit/tailed-log.js'
import { Analyzers } from '../indexes/text/analysis/analyzers.js'
import { nextExtra, packsOf, pagesOf } from '../maintenance/checkpoint-extra.js'
import { writeCheckpoint } from '../maintenance/checkpointing.js'
import { History } from '../manifest/history.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import type { Engine } from '../root/engine.js'
import { type HeldRoot, holdNewest } from '../root/hold-newest.js'
import type { BlobStore } from '../storage/blob-store.js'
import { FileStore } from '../storage/file-store.js'
import { damageOf, Findings } from './findings.js'
import { verifyHistory } from './verify-history.js'
import { type VerifiedLog, verifyLog } from './verify-log.js'
import { verifyNames } from './verify-names.js'
import { verifyReplaced } from './verify-replaced.js'
import { verifyTables } from './verify-tables.js'
import { Overtaken, type Verifying } from './verifying.js'

/** Check the root in the directory `path`. Implements the function `verify` of the API. */
export async function verifyAt(path: string, options: VerifyOptions = {}): Promise<Verification> {
  const store = await FileStore.open(path, { create: false, readOnly: options.repair !== true })
  const hold = async () => ({ head: Number.POSITIVE_INFINITY, release: async () => {} })
  return verifyStore({ store, clock: systemClock }, hold, options, new Analyzers())
}

/**
 * Check an open root in its newest state. A pin prevents other processes from deleting files of this state during the
 * check. If the root was opened read-only, there is no pin. Then deleted files stay only as long as orphaned files
 * (`keepOrphansMs`).
 */
export async function verifyHeld(engine: Engine, options: VerifyOptions): Promise<Verification> {
  const { source } = engine
  return verifyStore(engine, () => holdNewest(engine, options.signal), options, source.analyzers)
}

/** Check a root. Starts again if maintenance deleted files that the check needs. */
async function verifyStore(
  { store, clock, externalLog }: Pick<Engine, 'store' | 'clock' | 'externalLog'>,
  hold: () => Promise<Pick<HeldRoot, 'head' | 'release'>>,
  options: VerifyOptions,
  analyzers: Analyzers,
): Promise<Verification> {
  const findings = new Findings(options)
  for (;;) {
    const { head, release } = await hold()
    const own = externalLog === undefined ? await openFileLog(store, { clock, readOnly: true }) : null
    const log = own?.log ?? externalLog!
    try {
      await verifyOnce({ store, log, clock }, head, findings, options, analyzers)
      return findings.result()
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error
      findings.startOver()
    } finally {
      own?.log.close()
      await release()
    }
  }
}

async function verifyOnce(
  {
    store,
    log,
    clock,
  }: { readonly store: BlobStore; readonly log: TailedLog | ExternalLog; readonly clock: Clock },
  last: number,
  findings: Findings,
  { repair = false, signal }: VerifyOptions,
  analyzers: Analyzers,
): Promise<void> {
  const checkpoints = new Checkpoints(store, catalogMachine, clock)
  const root = await rootOf(log, store.name, signal)
  if (root !== null) checkpoints.belongTo(root)
  const found: FoundCheckpoint<CatalogState>[] = []
  for await (const each of checkpoints.each(signal)) {
    // Skip readable checkpoints of later slots, which were written after the check began.
    if (each.slot <= last || each.error !== null) found.push(each)
  }
  const newest = found.find(({ checkpoint }) => checkpoint !== null)?.checkpoint
  const packs = new Packs(store, newest == null ? [] : packsOf(newest))
  const refreshPacks = async () => {
    const note = await checkpoints.newestNote()
    if (note !== null) packs.adopt(packsOf(note))
  }
  const slots = new Slots(log, catalogMachine.features, undefined, { packs, lookAgain: refreshPacks })
  const verifying: Verifying = {
    store,
    last,
    log,
    slots,
    packs,
    checkpoints,
    found,
    analyzers,
    findings,
    signal,
  }
  const verified = await verifyLog(verifying)
  if (verified.checkpoint !== null) await verifyHistory(verifying, verified.checkpoint)
  await verifyReplaced(verifying)
  const { state } = verified
  if (state !== null) await verifyTables(verifying, state, await historyOf(verifying, verified))
  await verifyNames(verifying)
  if (repair) await writeLostCheckpoint(verifying, verified)
}

/** Return the id of the root. Returns null if the genesis slot is missing or damaged, which `verifyLog` reports. */
async function rootOf(
  log: TailedLog | ExternalLog,
  store: string,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const bytes = await log.read(0, signal)
  try {
    if (bytes === null) return null
    refusePointer(bytes, store)
    return decodeGenesis(bytes, catalogMachine.features).genesis.root
  } catch (error) {
    damageOf(error)
    return null
  }
}

/** Return the history: the records in the pages of the checkpoint, and those of the slots after it. */
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

/**
 * Write a checkpoint if all checkpoints were damaged and were deleted as a repair. This is possible only if the log is
 * whole.
 */
async function writeLostCheckpoint(verifying: Verifying, log: VerifiedLog): Promise<void> {
  const { checkpoints, packs, findings, signal } = verifying
  const { state, slot, checkpoint, whole } = log
  const wasLost = findings.repaired.some(({ kind }) => kind === 'checkpoint')
  if (checkpoint !== null || whole === null || state === null || !wasLost) return
  const history = await historyOf(verifying, log)
  const pages = await history.writePage(slot, signal)
  const extra = nextExtra({ pages: [] }, pages, packs.infos, whole.ts, whole.ts)
  await writeCheckpoint(checkpoints, { ...whole, slot, state }, extra, null, signal)
}
