/** Runs the command `sheaf inspect`. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { isInObjectStorage, isLanceAddress, openObjectStorage } from '../../src/engine/object-storage.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { connect, type Namespace } from '../../src/index.js'
import { parseId } from '../../src/protocol/identifiers.js'
import { keysOf } from '../../src/storage/keys-of.js'
import type { Call } from './arguments.js'
import { logOf } from './commit-log.js'
import type { DirectoryFacts, JobFacts, NamespaceFacts, RootFacts, TableFacts } from './inspect-facts.js'
import { describeTable, detailTable } from './inspect-table.js'
import {
  describeDetails,
  describeNamespace,
  describeRest,
  describeRoot,
  describeTree,
} from './inspect-text.js'
import { progressLine } from './progress.js'
import { showCounted } from './quantities.js'
import { untilStopped } from './stopping.js'

/** Number of tables that are read concurrently. They are printed in order. */
const ahead = 8

/**
 * Print facts about a root, a namespace or a table. Tables are printed as they are read; `--json` prints one document
 * at the end. Sets the exit code 1 if a table cannot be read.
 */
export async function inspectDirectory(command: Call<'inspect'>): Promise<void> {
  const { directory, name, json = false, commitLog } = command
  const signal = untilStopped()
  const { log } = await logOf(commitLog)
  await using root = await connect(directory, { create: false, readOnly: true, signal, ...(log && { log }) })
  // Read a snapshot, so that all facts describe the same state.
  await using ns = await root.snapshot({ signal })
  const id = name === undefined ? [] : parseId(name)
  const isTable = name !== undefined && (await tableThere(ns, id, signal))
  if (isTable) {
    const details = await detailTable(ns, id, signal)
    console.log(json ? JSON.stringify(details, null, 2) : describeDetails(details))
    return
  }
  await inspectTree(root, ns, id, { ...command, log }, signal)
}

/** Return true if the name is a table, and false if it is a namespace. Throws TableNotFound if neither exists. */
async function tableThere(ns: Namespace, id: readonly string[], signal: AbortSignal): Promise<boolean> {
  try {
    await ns.operations.tableExists({ id }, { signal })
    return true
  } catch (error) {
    const isNamespace = await ns.operations.namespaceExists({ id }, { signal }).then(
      () => true,
      () => false,
    )
    if (isNamespace) return false
    throw error
  }
}

async function inspectTree(
  root: Namespace,
  ns: Namespace,
  below: readonly string[],
  {
    directory,
    json = false,
    limit = Number.POSITIVE_INFINITY,
    log,
  }: Call<'inspect'> & { readonly log: ExternalLog | undefined },
  signal: AbortSignal,
): Promise<void> {
  const line = progressLine()
  const print = (text: string) => {
    if (!json && text !== '') console.log(text)
  }
  const facts = await rootFacts(root, ns, { directory, log }, signal)
  print(describeRoot(facts))
  const namespaces: NamespaceFacts[] = []
  const tables: TableFacts[] = []
  let left = 0
  for await (const found of walk(ns, below, limit, signal)) {
    if (found.left !== undefined) left = found.left
    if (found.namespace !== undefined) {
      namespaces.push(found.namespace)
      print(describeNamespace(found.namespace))
    }
    if (found.table === undefined) continue
    if (found.table.kind === 'damaged') process.exitCode = 1
    print(describeTree(found.table))
    // Without --json the table is already printed, so neither the facts nor a progress line are needed.
    if (!json) continue
    tables.push(found.table)
    line.show(showCounted(tables.length, 'table'))
  }
  line.clear()
  const jobs = await openOrFailed(root, signal)
  print(describeRest(left, jobs))
  if (json) console.log(JSON.stringify({ root: facts, namespaces, tables, left, jobs }, null, 2))
}

async function openOrFailed(root: Namespace, signal: AbortSignal): Promise<JobFacts[]> {
  const facts: JobFacts[] = []
  for (const { id, type, table, state } of await root.listJobs({ signal })) {
    if (state !== 'running' && state !== 'failed') continue
    try {
      const { progress, failure } = await root.operations.describeJob({ job_id: id }, { signal })
      facts.push({ id, type, table, state, progress, reason: failure?.message })
    } catch (error) {
      // The engine may have removed the record of the job after the list was read.
      if (!(error instanceof SheafError && error.code === ErrorCode.TransactionNotFound)) throw error
    }
  }
  return facts
}

async function rootFacts(
  root: Namespace,
  ns: Namespace,
  { directory, log: external }: { readonly directory: string; readonly log: ExternalLog | undefined },
  signal: AbortSignal,
): Promise<RootFacts | DirectoryFacts> {
  const { tables } = await ns.operations.listAllTables({}, { signal })
  if (isLanceAddress(directory)) return { path: directory, tables: tables.length }
  const { id, format, log } = root.stats()
  const filesIn = await folderLister(directory, signal)
  const [slots, checkpoints, history] = await Promise.all(['_log', '_ckpt', '_hist'].map(filesIn))
  return {
    path: directory,
    id,
    format,
    ...log,
    files: {
      slots: external === undefined ? slots!.length : await slotsIn(external, signal),
      checkpoints: checkpoints!.length,
      pages: history!.filter(file => file.endsWith('.page')).length,
      packs: history!.filter(file => file.endsWith('.slots')).length,
    },
    tables: tables.length,
  }
}

/** Return a function that lists the names of the files in a folder of the root. */
async function folderLister(
  directory: string,
  signal: AbortSignal,
): Promise<(folder: string) => Promise<readonly string[]>> {
  if (directory.startsWith('memory://') || !isInObjectStorage(directory))
    return folder => readdir(join(directory, folder)).catch(() => [])
  const store = await openObjectStorage(directory)
  return folder => keysOf(store, `${folder}/`, undefined, signal)
}

/** Return the number of slots in a log outside of the files. */
async function slotsIn(log: ExternalLog, signal: AbortSignal): Promise<number> {
  const [first, last] = await Promise.all([log.first(signal), log.last(signal)])
  // Slot 0, and the slots that were not trimmed.
  return 1 + (first === null ? 0 : last - first + 1)
}

interface Found {
  readonly namespace?: NamespaceFacts
  readonly table?: TableFacts
  readonly left?: number
}

/**
 * Walk a namespace: yield its tables, then the namespaces below it, both in order of names. The last item is the number
 * of tables that were left out because of `limit`.
 */
async function* walk(
  ns: Namespace,
  below: readonly string[],
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Found> {
  const waiting: (readonly string[])[] = [below]
  let [shownCount, left] = [0, 0]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const path = id
    if (path.length > 0) {
      const { properties } = await ns.operations.describeNamespace({ id: path }, { signal })
      yield { namespace: { id: path, properties: properties ?? {} } }
    }
    const names = await ns.tableNames(path, { signal })
    const shown = names.slice(0, limit - shownCount)
    shownCount += shown.length
    left += names.length - shown.length
    yield* inOrder(shown, async name => ({ table: await describeTable(ns, [...path, name], signal) }))
    for (const name of [...(await ns.namespaceNames(path, { signal }))].reverse())
      waiting.push([...path, name])
  }
  yield { left }
}

/** Run `work` on each item, up to `ahead` items concurrently, and yield the results in the order of the items. */
async function* inOrder<T, R>(items: readonly T[], work: (item: T) => Promise<R>): AsyncGenerator<R> {
  const begun: Promise<R>[] = []
  for (let next = 0, given = 0; given < items.length; given++) {
    while (next < items.length && begun.length < ahead) {
      const result = work(items[next++]!)
      // Mark a rejection as handled. It is thrown where the result is awaited.
      result.catch(() => {})
      begun.push(result)
    }
    yield await begun.shift()!
  }
}
