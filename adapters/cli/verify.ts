/** Runs the command `sheaf verify`. */

import { isInObjectStorage } from '../../src/engine/object-storage.js'
import {
  connect,
  type Verification,
  type VerifyOptions,
  type VerifyProgress,
  verify,
} from '../../src/index.js'
import type { Call } from './arguments.js'
import { logOf } from './commit-log.js'
import { progressLine } from './progress.js'
import { showCount, showCounted, showSize } from './quantities.js'
import { untilStopped } from './stopping.js'

/**
 * Check a root. Prints one line for each remaining problem on standard output. Prints repairs, unreferenced files and
 * progress on standard error.
 */
export async function verifyDirectory({
  directory,
  repair = false,
  commitLog,
}: Call<'verify'>): Promise<void> {
  const line = progressLine()
  const onProgress = ({ phase, done, total }: VerifyProgress) =>
    line.show(`${phase}: ${showCount(done)} of ${showCount(total)}`)
  const { ok, problems, repaired, unreferenced, checked } = await verifyRoot(directory, commitLog, {
    repair,
    onProgress,
    signal: untilStopped(),
  }).finally(() => line.clear())
  for (const { kind, path, what } of repaired) console.error(`repaired: ${kind} ${path}: ${what}`)
  for (const { kind, path, what, repairable } of problems) {
    console.log(`${kind} ${path}: ${what}${repairable ? ' (--repair rebuilds it)' : ''}`)
  }
  for (const key of unreferenced) console.error(`not checked, nothing refers to it: ${key}`)
  const { slots, files, bytes, tables, versions } = checked
  const found = ok ? 'no problems' : showCounted(problems.length, 'problem')
  console.error(
    `${found} in ${showCount(tables)} tables, ${showCount(versions)} versions: ${showCount(slots)} slots and ${showCount(files)} files, ${showSize(bytes)}`,
  )
  if (!ok) process.exitCode = 1
}

/** Check a root. Only a root whose files and log are in a local directory can be checked if it cannot be opened. */
async function verifyRoot(
  directory: string,
  commitLog: string | undefined,
  options: VerifyOptions,
): Promise<Verification> {
  if (commitLog === undefined && !isInObjectStorage(directory)) return verify(directory, options)
  const { signal } = options
  const log = await logOf(commitLog)
  await using ns = await connect(directory, {
    create: false,
    readOnly: options.repair !== true,
    ...log,
    ...(signal && { signal }),
  })
  return await ns.verify(options)
}
