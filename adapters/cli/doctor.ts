/** Runs the command `sheaf doctor`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isInObjectStorage, openObjectStorage } from '../../src/engine/object-storage.js'
import { ErrorCode, quote, SheafError } from '../../src/errors.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { ioError } from '../../src/storage/io-error.js'
import { networkFileSystemOf } from '../../src/storage/network-file-system.js'
import {
  type CallLatency,
  type CheckStoreOptions,
  checkStore,
  type StoreCheckResult,
} from '../storage/public.js'
import type { Call } from './arguments.js'
import { Misuse } from './misuse.js'
import { progressLine } from './progress.js'
import { showTime } from './quantities.js'
import { untilStopped } from './stopping.js'

/**
 * Check whether a directory or a bucket can store a root. Prints a line for each check, the latencies, and a sentence
 * that says whether it can. Sets the exit code 1 if it cannot.
 */
export async function checkDirectory({ directory, json = false }: Call<'doctor'>): Promise<void> {
  const signal = untilStopped()
  await using place = await openPlace(directory)
  const fit = await examine(place, directory, { json, print: text => console.log(text), signal })
  if (!fit) process.exitCode = 1
}

/** A place for the files of the checks. */
interface Place extends AsyncDisposable {
  readonly store: BlobStore
  /** The name of the network file system that contains the place, or null. */
  readonly network: string | null
}

/** Open a bucket, or a new folder in a local directory, which is deleted when the place is disposed. */
async function openPlace(directory: string): Promise<Place> {
  if (directory.startsWith('memory://'))
    throw new Misuse('doctor needs a directory or a bucket, not memory://')
  if (isInObjectStorage(directory))
    return { store: await openObjectStorage(directory), network: null, async [Symbol.asyncDispose]() {} }
  // Opening the directory read-only reports that it is missing, or a file.
  await FileStore.open(directory, { create: false, readOnly: true })
  const folder = await mkdtemp(join(directory, '_check-')).catch(cause => {
    throw ioError(cause, 'create a folder in', directory)
  })
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const store = await FileStore.open(folder, { create: false, readOnly: false })
    return { store, network: networkFileSystemOf(resolve(directory)), [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

interface ExamineOptions extends Pick<CheckStoreOptions, 'races' | 'listed' | 'streamed' | 'signal'> {
  /** Print one JSON document instead of text. */
  readonly json: boolean
  /** Receives texts for standard output, without the last line end. */
  readonly print: (text: string) => void
}

/**
 * Check a store, and print the results. `name`: the name of the store that the user typed. Returns whether the store can
 * store a root. Throws the error of the first call if the store cannot be used at all.
 */
export async function examine(
  { store, network }: Pick<Place, 'store' | 'network'>,
  name: string,
  { json, print, ...options }: ExamineOptions,
): Promise<boolean> {
  // Wrong credentials, a missing bucket and an unreachable server are errors of this call, not results of all checks.
  for await (const _ of store.list('_check-', undefined, options.signal)) break
  const line = progressLine()
  const { checks, latencies } = await checkStore(store, {
    ...options,
    onStart: check => line.show(`checking: ${check}`),
    onResult(result) {
      line.clear()
      if (!json) print(describeCheck(result))
    },
  }).finally(() => line.clear())
  const failed = checks.filter(({ passed }) => !passed)
  const fit = failed.length === 0
  const verdict = fit ? describeFit(name, network) : describeUnfit(name, failed)
  if (json)
    print(JSON.stringify({ path: name, fit, verdict, checks: checks.map(checkFacts), latencies }, null, 2))
  else print([...describeLatencies(latencies), '', verdict].join('\n'))
  return fit
}

function checkFacts({ name, risk, passed, error, ms }: StoreCheckResult) {
  return { name, risk, passed, ms: Math.round(ms), error: passed ? null : reasonOf(error) }
}

function describeCheck({ name, passed, error, ms }: StoreCheckResult): string {
  const result = `${passed ? 'passed' : 'FAILED'}  ${name}  (${showTime(ms)})`
  return passed ? result : `${result}\n        ${reasonOf(error)}`
}

/** Return the message of an error, with the message of its cause, which may be what the server answered. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof SheafError ? `${message}; got: ${cause.message}` : message
}

/** Return the lines of a table with the latencies. */
function describeLatencies(latencies: Readonly<Record<string, CallLatency>>): readonly string[] {
  const [first] = Object.values(latencies)
  if (first === undefined) return []
  const row = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(9)}${cells.map(cell => cell.padStart(9)).join('')}`
  return [
    '',
    `latency in ms of ${first.calls} calls, one after the other, with objects of 1 KiB:`,
    row('', ['p50', 'p95', 'p99', 'max']),
    ...Object.entries(latencies).map(([name, { p50, p95, p99, max }]) =>
      row(
        name,
        [p50, p95, p99, max].map(ms => ms.toFixed(ms < 10 ? 2 : 1)),
      ),
    ),
  ]
}

function describeFit(name: string, network: string | null): string {
  if (network === null) return `${name} is fit for a root.`
  return `${name} is fit for a root that only one machine uses, because it is on ${network}: a read may miss what other machines committed in the last minute.`
}

/**
 * Say why a store is not fit, by the worst check that failed, and what to do. A broken guarantee is worse than a call that
 * failed.
 */
function describeUnfit(name: string, failed: readonly StoreCheckResult[]): string {
  const errors = failed.flatMap(({ error }) => withCauses(error))
  const broken = failed.find(({ error }) => !withCauses(error).some(({ code }) => isOfCall(code)))
  if (broken !== undefined) {
    const hint = withCauses(broken.error).find(error => error.hint !== undefined)?.hint
    return `${name} is not fit, because it breaks the guarantee ${quote(broken.name)}, so ${broken.risk}: ${hint ?? 'use another server, or a newer version of this server'}.`
  }
  const denied = errors.find(({ code }) => code === ErrorCode.PermissionDenied)
  if (denied !== undefined) {
    return `${name} is not fit, because the credentials lack a permission (${denied.message}): allow them to read, write, list and delete objects, and run sheaf doctor again.`
  }
  const { message } = errors.find(({ code }) => isOfCall(code))!
  return `${name} is not fit now, because some calls failed (${message}): check the network and the state of the service, and run sheaf doctor again.`
}

/** Return whether an error says that a call failed, and nothing about the guarantees of the store. */
function isOfCall(code: ErrorCode): boolean {
  return code === ErrorCode.PermissionDenied || code === ErrorCode.ServiceUnavailable
}

/** Return an error and its causes, as far as they are errors of Sheaf. */
function withCauses(error: unknown): readonly SheafError[] {
  return error instanceof SheafError ? [error, ...withCauses(error.cause)] : []
}
