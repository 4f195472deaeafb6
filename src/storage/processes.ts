/**
 * Tells whether other processes of this machine are alive.
 *
 * A process id is valid only in the boot and the process namespace that assigned it. Elsewhere it belongs to another
 * process, or to none. The start time of the process distinguishes a reused id from the first use.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { systemCode } from './io-error.js'

/** Identifies a process, in a record that the process leaves for others. */
export interface ProcessMark {
  /** The boot of the machine. */
  readonly boot: string
  /** The namespaces of process ids and of time. */
  readonly space: string
  readonly pid: number
  /** When the process started, in the unit of its system. */
  readonly start: string
  /** The mark identifies a thread, which may end while its process continues. */
  readonly thread?: true
}

/** `alive`: the process of the mark is alive. `unknown`: this machine cannot tell. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** Tells whether processes are alive. */
export interface Processes {
  /** This process, or this thread of the process. Null if the system does not tell. */
  readonly own: ProcessMark | null
  livenessOf(mark: ProcessMark): Liveness
}

let cachedOwn: ProcessMark | null | undefined

/** The processes of this machine. Only Linux tells; elsewhere the liveness of every process is unknown. */
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
    // If `/proc` belongs to another namespace, it shows this process under another id.
    if (readlinkSync('/proc/self') !== String(pid)) return null
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    const space = `${readlinkSync('/proc/self/ns/pid')} ${timeSpace()}`
    const found = lookUp(pid)
    if (boot === '' || found === null) return null
    return { boot, space, pid, start: found.start, ...(!isMainThread && { thread: true }) }
  } catch {
    return null
  }
}

/** Start times are relative to the time namespace of the reader. Systems without time namespaces have a single time. */
function timeSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/time')
  } catch {
    return ''
  }
}

/** Return the start time and state of a process. Null if there is no such process, or the process is hidden. */
export function lookUp(pid: number): { readonly start: string; readonly hasEnded: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program name is in parentheses and may contain any character, so search for the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const start = fields[19]
    // A process that has ended keeps its id until its parent reads the exit status.
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

/** Parse the mark in a record. Returns null if the value is not a mark. */
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
