/**
 * Determines whether other processes of this machine are alive.
 *
 * A process id identifies a process only until the next boot, and only in one process namespace. A system may also use
 * the id of an ended process again. So a process is identified by its id, the boot, its namespaces and its start time.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { nodeModule } from '../primitives/module-files.js'
import { systemCode } from './io-error.js'

/** Identifies a process, in a record that the process writes for other processes. */
export interface ProcessMark {
  /** The id of the boot of the machine. */
  readonly boot: string
  /** The ids of the namespaces of process ids and of time. */
  readonly space: string
  readonly pid: number
  /** The start time of the process, as the system reports it. */
  readonly start: string
  /** Set if the mark belongs to a worker thread, which may end before its process. */
  readonly thread?: true
}

/** The result of a check. `unknown`: this machine cannot tell whether the process is alive. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** Determines whether processes are alive. */
export interface Processes {
  /** The mark of this process or of this worker thread. Null if the system does not tell it. */
  readonly own: ProcessMark | null
  livenessOf(mark: ProcessMark): Liveness
}

let cachedOwn: ProcessMark | null | undefined

/** The processes of this machine. Works only on Linux: elsewhere `livenessOf` returns `unknown`. */
export const systemProcesses: Processes = {
  get own() {
    if (cachedOwn === undefined) cachedOwn = ownMark()
    return cachedOwn
  },
  livenessOf({ boot, space, pid, start, thread }) {
    const { own } = this
    if (own === null || boot !== own.boot || space !== own.space) return 'unknown'
    const found = lookUp(pid)
    if (found === null) return exists(pid) ? 'unknown' : 'dead'
    if (found.start !== start || found.hasEnded) return 'dead'
    return thread === true ? 'unknown' : 'alive'
  },
}

function ownMark(): ProcessMark | null {
  const { pid } = process
  try {
    // If `/proc` belongs to another process namespace, it shows another id for this process.
    if (readlinkSync('/proc/self') !== String(pid)) return null
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    const space = `${readlinkSync('/proc/self/ns/pid')} ${timeSpace()}`
    const found = lookUp(pid)
    if (boot === '' || found === null) return null
    const { isMainThread } = nodeModule('node:worker_threads', import.meta.url)
    return { boot, space, pid, start: found.start, ...(!isMainThread && { thread: true }) }
  } catch {
    return null
  }
}

/**
 * Return the id of the time namespace, because start times are relative to it. Returns '' on systems without time
 * namespaces.
 */
function timeSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/time')
  } catch {
    return ''
  }
}

/**
 * Return the start time of a process, and whether it has ended. Returns null if the process does not exist or is
 * hidden.
 */
export function lookUp(pid: number): { readonly start: string; readonly hasEnded: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program name is in parentheses and may contain parentheses. So search for the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const start = fields[19]
    // An ended process (state Z or X) keeps its id until its parent reads its exit status.
    return start === undefined ? null : { start, hasEnded: /^[ZXx]$/.test(fields[0]!) }
  } catch {
    return null
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) !== 'ESRCH'
  }
}

/** Parse a mark from a record. Returns null if the value is not a valid mark. */
export function parseMark(value: unknown): ProcessMark | null {
  if (typeof value !== 'object' || value === null) return null
  const { boot, space, pid, start, thread } = value as Partial<ProcessMark>
  const isMark =
    typeof boot === 'string' &&
    typeof space === 'string' &&
    typeof start === 'string' &&
    Number.isSafeInteger(pid) &&
    pid! > 0
  return isMark ? { boot, space, pid: pid!, start, ...(thread === true && { thread }) } : null
}
