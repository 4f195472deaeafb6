/**
 * Files that other programs have open. Only Windows refuses calls for this reason: while a virus scanner reads a file, and
 * for a deleted file until the last program closes it.
 */
import type { Clock } from '../primitives/clock.js'
import type { MaybePromise } from '../primitives/task.js'
import { systemCode } from './io-error.js'

/** Codes by which Windows reports that another program has a file open. The same codes mean that permission is missing. */
const busyCodes: ReadonlySet<string | undefined> = new Set(['EACCES', 'EBUSY', 'EPERM'])

/** Milliseconds before each retry. */
const pauses = [5, 10, 20, 40, 80, 160]

/** Return whether the system is Windows. Windows cannot sync directories. */
export function isWindows(): boolean {
  return process.platform === 'win32'
}

/** Return whether a call may have failed because another program has the file open. `error`: from node:fs, or with such a cause. */
export function isBusy(error: unknown): boolean {
  if (!isWindows()) return false
  const cause = error instanceof Error ? error.cause : undefined
  return busyCodes.has(systemCode(error) ?? systemCode(cause))
}

/** Do `work`. Repeat it up to six times, in 315 ms, while another program may have the file open. Throws its last error. */
export function unlessBusy<T>(
  work: () => MaybePromise<T>,
  clock: Clock,
  signal?: AbortSignal,
): MaybePromise<T> {
  try {
    const result = work()
    return result instanceof Promise ? result.catch(error => retry(work, error, clock, signal)) : result
  } catch (error) {
    if (!isBusy(error)) throw error
    return retry(work, error, clock, signal)
  }
}

async function retry<T>(
  work: () => MaybePromise<T>,
  firstError: unknown,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<T> {
  let error = firstError
  for (const ms of pauses) {
    if (!isBusy(error)) break
    await clock.sleep(ms, signal, true)
    try {
      return await work()
    } catch (next) {
      error = next
    }
  }
  throw error
}
