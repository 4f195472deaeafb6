/**
 * Whether a history kept what a log promises:
 *
 * - the log opens clean, and every entry in it was valid right after those before it: none is half there;
 * - an acknowledged call stands in it once, where its transaction id says, and its answer is what the model says;
 * - what was refused, aborted or failed does not stand in it; what is unknown, at most once; a key, at most once;
 * - a call sees everything that was in the log when it began, and nothing that was not when it was answered: some moment
 *   between the two explains each answer and each refusal;
 * - money is neither made nor lost;
 * - a state that was saved and loaded on the way is the same as one folded from the first slot;
 * - all processes, new and old, end with what the model says, and every row of every version can be read.
 */
import { catalogMachine } from '../../src/catalog/apply.js'
import type { CatalogEntry } from '../../src/catalog/log-types.js'
import type { ExpireOp } from '../../src/catalog/ops.js'
import type { CatalogState } from '../../src/catalog/state.js'
import type { Entry, Genesis } from '../../src/commit/machine.js'
import { decodeGenesis, decodeSlot } from '../../src/commit/slot.js'
import { formatTransactionId, parseTransactionId } from '../../src/commit/transaction-id.js'
import { connect, ErrorCode, type Namespace } from '../../src/index.js'
import type { Change } from '../../src/manifest/change.js'
import type { VersionOp } from '../../src/manifest/version.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { manifestOf } from '../support/lance.js'
import { reachable } from '../support/reachable.js'
import { type Answer, type Op, send } from './calls.js'
import {
  decide,
  emptyModel,
  engineTables,
  type Model,
  manifests,
  oldRows,
  sights,
  sumOfBalances,
  withAdopted,
  withoutVersions,
  withSameRows,
  withTransaction,
} from './model.js'
import { ProcessClock } from './time.js'
import { bank, type Call, type Disk, type History, startBalance, Violation } from './world.js'

/** What there was after a slot, or between two entries of one. */
interface Moment {
  readonly slot: number
  /** The slot ends here. */
  readonly whole: boolean
  readonly model: Model
  /** By maintenance. */
  readonly tidied?: boolean
}

interface Place {
  readonly slot: number
  readonly entry: Entry
  /** The moment before it. */
  readonly before: Model
  readonly after: Model
}

export async function audit(history: History): Promise<void> {
  const { plan, calls, hosts, time, tell } = history
  const { moments, places, adopted } = await replay(history)
  const committed = new Map(
    [...places].map(([call, { slot, entry }]) => [formatTransactionId(slot, entry.txn), call]),
  )
  for (const call of calls) checkCall(call, places.get(call), moments, { calls, committed, adopted })
  const final = moments.at(-1)!.model
  checkBesides(final, history)
  const clock = new ProcessClock(time)
  const fresh = await connect('memory://', { store: history.disk, clock, cacheBytes: 1 << 20 }).catch(
    error => {
      throw new Violation(`a fresh process cannot open the root: ${String(error)}`)
    },
  )
  await compare('a fresh process', fresh, sights(final))
  await compare('a fresh process', fresh, oldRows(final))
  // All processes in some worlds, one in the others: looking at everything costs as much as living it.
  const looked = plan.seed % 4 === 0 ? hosts : [hosts[plan.seed % hosts.length]!]
  for (const host of looked) await compare(host.name, await host.atPeace(), sights(final))
  if (plan.hasIndexes) {
    const { problems } = await fresh.verify()
    for (const { path, what } of problems) throw new Violation(`${path}: ${what}`)
  }
  await fresh.close()
  if (plan.ages !== null) await checkFiles(history)
  for (const { key, staging } of manifests(final)) {
    const bytes = await history.disk.get(key)
    if (bytes === null) throw new Violation(`${key} is a version, and not there`)
    if (!Buffer.from(bytes).includes(staging))
      throw new Violation(`${key} is not the manifest that was committed`)
  }
  tell?.(
    'audit',
    `seed ${plan.seed}: ${moments.at(-1)!.slot} slots, ${places.size} entries, ${calls.length} calls: kept`,
  )
}

/** What a Lance engine wrote without asking is a version, and whoever asked afterwards was told. */
function checkBesides(final: Model, { besides, calls }: History): void {
  for (const { uuid, mark, contents } of engineTables(final)) {
    for (const { version, content, after } of besides.filter(each => each.uuid === uuid)) {
      if (version > mark) throw new Violation(`version ${version} of ${uuid} was written and is not recorded`)
      const recorded = contents.get(version)
      if (recorded !== undefined && recorded !== content) {
        throw new Violation(`version ${version} of ${uuid} is ${recorded}, not ${content}`)
      }
      for (const { op, outcome, number } of calls.slice(after)) {
        if (op.kind !== 'describe' || outcome.kind !== 'done' || outcome.answer.uuid !== uuid) continue
        if (Number(outcome.answer.version) >= version) continue
        throw new Violation(`call ${number} did not see version ${version} of ${uuid}, which was there`)
      }
    }
  }
}

/** What may still be there is there, as it was when it was last looked at; nothing else is older than the sweep floor. */
async function checkFiles({ disk, plan, time }: History): Promise<void> {
  const report = await reachable(disk, new ProcessClock(time))
  for (const key of report.missing) throw new Violation(`${key} is needed, and not there`)
  // Whoever swept last may have been before the last orphans.
  if (plan.ages === null) return
  for (const key of report.needless) throw new Violation(`${key} is needed by nothing, and still there`)
}

/** Runs the log through the model. */
async function replay({ plan, disk, calls, callOf, besides, tell }: History) {
  const contents = new Map(
    [
      ...besides.map(({ content }) => content),
      ...calls.flatMap(({ op }) => (op.kind === 'commitManifest' ? op.staging : [])),
    ].map(content => [crc32(manifestOf(content)), content]),
  )
  /** What entries recorded that nobody asked for, by their transaction. */
  const adopted = new Map<string, readonly string[]>()
  const moments: Moment[] = [{ slot: 0, whole: true, model: emptyModel }]
  const places = new Map<Call, Place>()
  const { genesis } = decodeGenesis(await bytesOf(disk, 0), catalogMachine.features)
  const reloadedAt = 1 + (plan.seed % disk.head)
  let folded = catalogMachine.initial(genesis)
  let reloaded = folded
  let model = emptyModel
  for (let number = 1; number <= disk.head; number++) {
    const { header } = decodeSlot(await bytesOf(disk, number), number, catalogMachine.features)
    if (number === reloadedAt) reloaded = load(genesis, save(folded))
    for (const [i, entry] of (header.entries as readonly CatalogEntry[]).entries()) {
      const at = { slot: number, entry: i, ts: header.ts }
      folded = catalogMachine.apply(folded, entry, at)
      reloaded = catalogMachine.apply(reloaded, entry, at)
      const before = model
      const whole = i === header.entries.length - 1
      const adoptions = adoptionsIn(entry)
      const record = () => {
        for (const { t, v, manifest } of adoptions) {
          const content = contents.get(manifest.crc ?? -1)
          if (content === undefined)
            throw new Violation(`version ${v} of ${t} is recorded, and nobody wrote it`)
          model = withAdopted(model, t, v, content, header.ts)
          adopted.set(entry.txn, [...(adopted.get(entry.txn) ?? []), content])
        }
      }
      if (adoptions.length === entry.ops.length) {
        tell?.('audit', `slot ${number}, entry ${i}: recorded ${JSON.stringify(entry.ops)}`)
        record()
        model = withTransaction(model, formatTransactionId(number, entry.txn))
        moments.push({ slot: number, whole, model })
        continue
      }
      const call = committerOf(entry, number, calls, places) ?? callerOf(entry, callOf)
      if (call === undefined) {
        if (!isMaintenance(entry)) {
          throw new Violation(`slot ${number} holds an entry nobody asked for: ${JSON.stringify(entry)}`)
        }
        tell?.('audit', `slot ${number}, entry ${i}: maintenance ${JSON.stringify(entry.ops)}`)
        for (const { t, runs } of expiriesIn(entry)) model = withoutVersions(model, t, runs)
        for (const { t } of compactionsIn(entry)) model = withSameRows(model, t, header.ts)
        moments.push({ slot: number, whole, model, tidied: true })
        continue
      }
      const transaction = formatTransactionId(number, entry.txn)
      tell?.('audit', `slot ${number}, entry ${i}: call ${call.number} ${JSON.stringify(call.op)}`)
      if (places.has(call)) throw new Violation(`call ${call.number} stands in the log twice: ${transaction}`)
      const facts = { ts: header.ts, uuids: declaredIn(entry), transaction }
      const verdict = decide(before, call.op, call.key, facts)
      if (!('next' in verdict) || verdict.next === undefined) {
        const why = 'refused' in verdict ? `is refused with code ${verdict.refused}` : 'has nothing to do'
        throw new Violation(`call ${call.number} was committed in slot ${number}, where it ${why}`)
      }
      if (call.outcome.kind === 'done') {
        checkEqual(`the answer of call ${call.number}`, call.outcome.answer, verdict.answer)
      }
      model = verdict.next
      record()
      places.set(call, { slot: number, entry, before, after: model })
      moments.push({ slot: number, whole, model })
      const sum = sumOfBalances(model, bank)
      if (sum !== 0 && sum !== startBalance * plan.accounts) {
        throw new Violation(`after call ${call.number} in slot ${number} the accounts hold ${sum}`)
      }
    }
  }
  const [straight, detour] = [save(folded), save(reloaded)]
  if (straight.join() !== detour.join()) {
    throw new Violation(
      `a state loaded before slot ${reloadedAt} ends as ${detour.join()}, not ${straight.join()}`,
    )
  }
  return { moments, places, adopted }
}

function save(state: CatalogState): readonly string[] {
  return [...catalogMachine.save(state)]
}

function load(genesis: Genesis, texts: readonly string[]): CatalogState {
  const loader = catalogMachine.load(genesis)
  for (const text of texts) loader.add(text)
  return loader.end()
}

function checkCall(
  call: Call,
  place: Place | undefined,
  moments: readonly Moment[],
  {
    calls,
    committed,
    adopted,
  }: {
    readonly calls: readonly Call[]
    /** The calls that stand in the log, by transaction id. */
    readonly committed: ReadonlyMap<string, Call>
    readonly adopted: ReadonlyMap<string, readonly string[]>
  },
): void {
  const { outcome, number, ceiling } = call
  switch (outcome.kind) {
    case 'unknown':
      return
    case 'aborted':
    case 'failed':
      if (place !== undefined) {
        throw new Violation(
          `call ${number} was ${outcome.kind} (${outcome.message}) and stands in slot ${place.slot}`,
        )
      }
      return
    case 'refused':
      if (place !== undefined) {
        throw new Violation(
          `call ${number} was refused (${outcome.message}) and stands in slot ${place.slot}`,
        )
      }
      if (
        !isExplained(call, moments, outcome.code) &&
        !isOvertaken(call, calls) &&
        !isTidiedAway(call, moments, outcome.code)
      ) {
        throw new Violation(
          `nothing explains why call ${number} was refused, code ${outcome.code}: ${outcome.message}`,
        )
      }
      return
    case 'done': {
      const named = outcome.transaction === undefined ? null : parseTransactionId(outcome.transaction)
      if (place === undefined) {
        const { op } = call
        // Another process may have recorded the manifest, which had its name already.
        const isRecorded = op.kind === 'commitManifest' && adopted.get(named?.txn ?? '')?.includes(op.staging)
        if (
          named !== null &&
          isRecorded !== true &&
          !isSentBefore(call, committed.get(outcome.transaction!))
        ) {
          throw new Violation(
            `call ${number} was acknowledged as ${outcome.transaction}, and is not in the log`,
          )
        }
        if (!isExplained(call, moments, null)) {
          throw new Violation(
            `nothing explains the answer of call ${number}: ${JSON.stringify(outcome.answer)}`,
          )
        }
        return
      }
      if (named !== null && (named.slot !== place.slot || named.txn !== place.entry.txn)) {
        throw new Violation(
          `call ${number} was acknowledged as ${outcome.transaction}, and stands in slot ${place.slot}`,
        )
      }
      if (place.slot > ceiling) {
        throw new Violation(`call ${number} was acknowledged before slot ${place.slot} was written`)
      }
    }
  }
}

/** Whether `call` is `other` sent again, and so is answered with its transaction. */
function isSentBefore({ key, op }: Call, other: Call | undefined): boolean {
  if (other === undefined || JSON.stringify(other.op) !== JSON.stringify(op)) return false
  return op.kind === 'commitManifest' || (key !== undefined && other.key === key)
}

/** Whether there was a moment while `call` ran at which its outcome was the right one. */
function isExplained(call: Call, moments: readonly Moment[], code: number | null): boolean {
  const { op, key, floor, ceiling, outcome } = call
  for (const { slot, whole, model } of moments) {
    if (slot > ceiling) break
    if (slot < floor || (slot === floor && !whole)) continue
    const verdict = decide(model, op, key)
    if (code !== null) {
      if ('refused' in verdict && verdict.refused === code) return true
    } else if ('answer' in verdict && !('next' in verdict) && outcome.kind === 'done') {
      if (isEqual(verdict.answer, outcome.answer)) return true
    }
  }
  return false
}

/** Whoever meets another call on the way may be told to try again. */
function isOvertaken({ outcome, number, endedBefore }: Call, calls: readonly Call[]): boolean {
  if (outcome.kind !== 'refused' || outcome.code !== ErrorCode.ConcurrentModification) return false
  return calls.some(
    other => other.number !== number && other.number < endedBefore && other.endedBefore > number,
  )
}

/** Whether maintenance took away what a call was about to read, to commit, or to look up. */
function isTidiedAway({ op, floor, ceiling }: Call, moments: readonly Moment[], code: number): boolean {
  const tidied = moments.filter(moment => moment.tidied)
  if (op.kind === 'describeTransaction' || op.kind === 'note') {
    // What was committed before a checkpoint may be forgotten.
    return code === ErrorCode.TransactionNotFound && tidied.some(({ slot }) => slot <= ceiling)
  }
  if (code !== ErrorCode.ConcurrentModification && code !== ErrorCode.TableVersionNotFound) return false
  return tidied.some(({ slot }) => slot >= floor && slot <= ceiling)
}

async function compare(
  who: string,
  ns: Namespace,
  expected: Iterable<readonly [op: Op, answer: Answer]>,
): Promise<void> {
  for (const [op, answer] of expected) {
    try {
      checkEqual(`${who}: ${JSON.stringify(op)}`, (await send(ns, op, {})).answer, answer)
    } catch (error) {
      if (error instanceof Violation) throw error
      throw new Violation(`${who}: ${JSON.stringify(op)} fails: ${String(error)}`, { cause: error })
    }
  }
}

function checkEqual(what: string, actual: Answer, expected: Answer): void {
  if (isEqual(actual, expected)) return
  throw new Violation(`${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`)
}

function isEqual(a: Answer, b: Answer): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

async function bytesOf(disk: Disk, slot: number): Promise<Uint8Array> {
  const bytes = disk.log.get(slot)
  if (bytes === undefined) throw new Violation(`slot ${slot} is missing`)
  return bytes
}

function opsOf(entry: Entry): readonly { readonly op: string; readonly t?: string }[] {
  return entry.ops as unknown as readonly { readonly op: string; readonly t?: string }[]
}

function declaredIn(entry: Entry): readonly string[] {
  return opsOf(entry).flatMap(({ op, t }) => (op === 'declare' && t !== undefined ? [t] : []))
}

/** Who asked for a manifest of a Lance engine: a call that was sent several times may have committed it each time. */
function committerOf(
  { txn, ops }: Entry,
  slot: number,
  calls: readonly Call[],
  places: ReadonlyMap<Call, Place>,
): Call | undefined {
  const [made] = ops as unknown as readonly VersionOp[]
  const staged = made?.op === 'version' ? made.manifest.staged : undefined
  if (staged === undefined) return undefined
  const sent = calls.filter(call => {
    const { op, floor, ceiling } = call
    return (
      op.kind === 'commitManifest' &&
      op.staging === staged &&
      slot > floor &&
      slot <= ceiling &&
      !places.has(call)
    )
  })
  const transaction = formatTransactionId(slot, txn)
  const named = sent.find(({ outcome }) => outcome.kind === 'done' && outcome.transaction === transaction)
  return named ?? sent.find(({ outcome }) => outcome.kind === 'unknown') ?? sent[0]
}

/** Who asked for an entry. What maintenance commits may look as if a call did that runs at the same time. */
function callerOf(entry: Entry, callOf: History['callOf']): Call | undefined {
  const call = callOf.get(entry.txn)
  if (call === undefined || !isMaintenance(entry)) return call
  const deletes = opsOf(entry).some(({ op }) => op === 'expire')
  return deletes && ['deleteVersions', 'batchCommit'].includes(call.op.kind) ? call : undefined
}

/** Versions that a process found at the location of a table and recorded. */
function adoptionsIn(entry: Entry): readonly VersionOp[] {
  const versions = opsOf(entry).filter(({ op }) => op === 'version') as unknown as readonly VersionOp[]
  return versions.filter(({ kind, manifest }) => kind === 'lance' && manifest.staged === undefined)
}

/** What processes commit on their own. */
function isMaintenance(entry: Entry): boolean {
  const compactions = compactionsIn(entry)
  return opsOf(entry).every(
    op =>
      ['checkpoint', 'dropped', 'expire', 'job', 'sweep'].includes(op.op) ||
      compactions.includes(op as never),
  )
}

/** Changes after which the same rows are there. */
function compactionsIn(entry: Entry): readonly Change[] {
  const changes = opsOf(entry).filter(({ op }) => op === 'change') as unknown as readonly Change[]
  return changes.filter(({ kind }) => kind === 'compaction' || kind === 'index')
}

function expiriesIn(entry: Entry): readonly ExpireOp[] {
  return opsOf(entry).filter(({ op }) => op === 'expire') as unknown as readonly ExpireOp[]
}
