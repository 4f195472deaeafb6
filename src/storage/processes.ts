/**
 * Tells whether other processes of this machine are alive.
 *
 * A process id proves something only in the boot and the process namespace that gave it: everywhere else it is the id of another process, or of
 * none. With the time at which the process started a reused id is told from the first one.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { systemCode } from './io-error.js'

/** A process, in a record that it leaves for others. */
export interface ProcessMark {
  /** The boot of the machine. */
  readonly boot: string
  /** The namespaces of process ids and of times. */
  readonly space: string
  readonly pid: number
  /** When it started, as its system counts. */
  readonly start: string
  /** It is a thread, which may end while its process goes on. */
  readonly thread?: true
}

/** `alive`: the holder is. `unknown`: nothing can be said of it. */
export type Liveness = 'alive' | 'dead' | 'unknown'

export interface Processes {
  /** This process, or this thread of it; null where the system does not tell. */
  readonly own: ProcessMark | null
  livenessOf(mark: ProcessMark): Liveness
}

let known: ProcessMark | null | undefined

/** Those of the system this runs on. Elsewhere than on Linux nothing is known of any. */
export const systemProcesses: Processes = {
  get own() {
    if (known === undefined) known = ownMark()
    return known
  },
  livenessOf({ boot, space, pid, start, thread }) {
    const { own } = this
    if (own === null || boot !== own.boot || space !== own.space) return 'unknown'
    const there = lookUp(pid)
    if (there === null) return exists(pid) ? 'unknown' : 'dead'
    if (there.start !== start || there.hasEnded) return 'dead'
    return thread === true ? 'unknown' : 'alive'
  },
}

function ownMark(): ProcessMark | null {
  const { pid } = process
  try {
    // Where `/proc` is that of other namespaces, it has this process under another id.
    if (readlinkSync('/proc/self') !== String(pid)) return null
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    const space = `${readlinkSync('/proc/self/ns/pid')} ${timeSpace()}`
    const looked = lookUp(pid)
    if (boot === '' || looked === null) return null
    return { boot, space, pid, start: looked.start, ...(!isMainThread && { thread: true }) }
  } catch {
    return null
  }
}

/** Starts are told in the time of the reader. Systems without such namespaces have one time. */
function timeSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/time')
  } catch {
    return ''
  }
}

/** Start and state of a process, as the system tells them; null where there is no such process, or it is hidden. */
export function lookUp(pid: number): { readonly start: string; readonly hasEnded: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name of the program stands in brackets, and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const start = fields[19]
    // A process that has ended keeps its id until its parent asks how.
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

/** A mark as a record holds it; null where it holds none. */
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
