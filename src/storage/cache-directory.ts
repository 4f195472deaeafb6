/**
 * A local directory with copies of blobs that are far away. Several processes, and the connections to several roots, may
 * use it at the same time.
 *
 * - The directory has folders, and these have files. Files with other names than those of Sheaf are never touched.
 * - There is no lock. Each file tells by itself whether its content is valid. A process may delete any file at any time.
 * - The time of the last change of a file is the time of its last use. When a process has written some bytes, it deletes
 *   the files that were not used for the longest time, until the directory is below its limit. So several processes may
 *   exceed the limit together by an eighth of it for each of them.
 * - Nothing here makes a call fail. An error of the disk is reported once, and no copies are written for a minute.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  utimesSync,
  write,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { quote } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { MaybePromise } from '../primitives/task.js'
import { systemCode } from './io-error.js'

/** Larger reads and writes are done in the thread pool. Smaller ones take some microseconds. */
export const syncMax = 64 * 1024
/** Maximum number of bytes that wait to be written. Further bytes are not cached. */
const waitingMax = 64 * 1024 * 1024
/** Share of the limit that a process may write before it looks for files to delete. */
const sharePerSweep = 1 / 8
/** A sweep ends when the files have at most this share of the limit. */
const shareKept = 7 / 8
/** Time in milliseconds for which nothing is written after an error. */
const pauseMs = 60_000
/** The use of a file is recorded at most once in this time, in milliseconds. */
const touchMs = 60_000
/** Maximum number of files whose last recorded use is remembered. */
const touchedMax = 10_000
/** Age in milliseconds from which a temporary file is regarded as left by a crashed process. */
const draftMs = 60 * 60 * 1000

const noFollow = constants.O_NOFOLLOW ?? 0
const ownFolder = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|states)$/
const ownFile = /\.(?:part|state|draft)$/
const draft = /\.draft$/

interface CachedFile {
  readonly path: string
  readonly bytes: number
  readonly usedAt: number
}

export class CacheDirectory {
  readonly #path: string
  readonly #bytesMax: number
  readonly #clock: Clock
  readonly #warn: (message: string, cause: unknown) => void
  /** By path: the time on the monotonic clock when its last use was recorded. */
  readonly #touched = new Map<string, number>()
  /** The paths of files whose use is to be recorded. */
  readonly #used: string[] = []
  #hasWarned = false
  #pausedUntil = Number.NEGATIVE_INFINITY
  #waiting = 0
  #writes: Promise<void> = Promise.resolve()
  /** Bytes written since the last sweep. The first write of a process sweeps. */
  #written = Number.POSITIVE_INFINITY

  constructor(path: string, bytesMax: number, clock: Clock, warn: (message: string, cause: unknown) => void) {
    this.#path = resolve(path)
    this.#bytesMax = bytesMax
    this.#clock = clock
    this.#warn = warn
  }

  /** Return the path of a file. */
  pathOf(folder: string, name: string): string {
    return join(this.#path, folder, name)
  }

  /**
   * Return the result of `use`, which gets a file that is open for reading. Returns null if the file does not exist or cannot
   * be read.
   */
  reading<T>(path: string, use: (fd: number) => MaybePromise<T>): MaybePromise<T | null> {
    const failed = (error: unknown) => {
      this.#noteError(error)
      return null
    }
    try {
      const result = closing(openSync(path, constants.O_RDONLY | noFollow), use)
      return result instanceof Promise ? result.catch(failed) : result
    } catch (error) {
      return failed(error)
    }
  }

  /**
   * Call `write` later, with a file that is open for reading and writing, and is created if it does not exist. `bytes`: the
   * number of bytes to write, which wait in memory until then.
   */
  writeLater(path: string, bytes: number, write: (fd: number) => MaybePromise<void>): void {
    this.#later(bytes, async () => {
      makeFolder(dirname(path))
      const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | noFollow, 0o600)
      await closing(fd, write)
    })
  }

  /** Replace a file later, in one step. */
  replaceLater(path: string, bytes: Uint8Array): void {
    this.#later(bytes.length, async () => {
      makeFolder(dirname(path))
      const name = join(path, '..', `${this.#clock.uuid()}.draft`)
      try {
        const fd = openSync(name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
        await closing(fd, opened => writeAt(opened, bytes, 0))
        renameSync(name, path)
      } catch (error) {
        this.discard(name)
        throw error
      }
    })
  }

  /** Write bytes at the beginning of a file later, if it exists then. */
  changeLater(path: string, bytes: Uint8Array): void {
    this.#later(0, async () => {
      await closing(openSync(path, constants.O_WRONLY | noFollow), fd => writeAt(fd, bytes, 0))
    })
  }

  /** Return the bytes of a file from `offset` on, at most `length`. Returns null if it does not exist or cannot be read. */
  async bytesOf(path: string, offset: number, length = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    return this.reading(path, async fd => {
      const bytes = new Uint8Array(Math.max(0, Math.min(length, fstatSync(fd).size - offset)))
      return bytes.subarray(0, await readAt(fd, bytes, offset))
    })
  }

  /** Return the names of the files of a folder. */
  filesOf(folder: string): readonly string[] {
    try {
      return readdirSync(join(this.#path, folder)).filter(name => ownFile.test(name))
    } catch (error) {
      this.#noteError(error)
      return []
    }
  }

  /** Record later that a file was used now. */
  touch(path: string): void {
    const now = this.#clock.elapsed()
    if (now - (this.#touched.get(path) ?? Number.NEGATIVE_INFINITY) < touchMs) return
    if (this.#touched.size >= touchedMax) this.#touched.clear()
    this.#touched.set(path, now)
    if (this.#used.push(path) === 1) this.#later(0, () => this.#recordUses())
  }

  async #recordUses(): Promise<void> {
    const pacer = new Pacer(undefined, this.#clock)
    const seconds = this.#clock.now() / 1000
    for (const path of this.#used.splice(0)) {
      if (pacer.due()) await pacer.pause()
      try {
        utimesSync(path, seconds, seconds)
      } catch (error) {
        this.#noteError(error)
      }
    }
  }

  /** Delete a file, if it exists. */
  discard(path: string): void {
    try {
      unlinkSync(path)
    } catch (error) {
      this.#noteError(error)
    }
  }

  /** Delete the files of a folder. */
  clear(folder: string): void {
    for (const name of this.filesOf(folder)) this.discard(this.pathOf(folder, name))
  }

  /** Wait until everything that waits is written. */
  async finish(): Promise<void> {
    await this.#writes
  }

  /** Run `work` after all earlier work. `bytes`: the number of bytes that it adds to the directory. */
  #later(bytes: number, work: () => Promise<void>): void {
    const isPaused = () => bytes > 0 && this.#clock.elapsed() < this.#pausedUntil
    if (this.#waiting + bytes > waitingMax || isPaused()) return
    this.#waiting += bytes
    this.#writes = this.#writes.then(async () => {
      try {
        if (isPaused()) return
        await work()
        this.#written += bytes
        if (bytes > 0 && this.#written > this.#bytesMax * sharePerSweep) await this.#sweep()
      } catch (error) {
        // Another process deleted the file, or its empty folder.
        if (systemCode(error) === 'ENOENT') return
        this.#noteError(error)
        this.#pausedUntil = this.#clock.elapsed() + pauseMs
        // A full disk has room again after a sweep.
        this.#written = Number.POSITIVE_INFINITY
      } finally {
        this.#waiting -= bytes
      }
    })
  }

  /** Delete the files that were not used for the longest time, until the rest is below the limit. */
  async #sweep(): Promise<void> {
    this.#written = 0
    const pacer = new Pacer(undefined, this.#clock)
    const files: CachedFile[] = []
    let bytes = 0
    for (const folder of readdirSync(this.#path)) {
      if (!ownFolder.test(folder)) continue
      for (const name of this.filesOf(folder)) {
        if (pacer.due()) await pacer.pause()
        const path = this.pathOf(folder, name)
        const info = lstatSync(path, { throwIfNoEntry: false })
        if (info?.isFile() !== true) continue
        if (draft.test(name) && this.#clock.now() - info.mtimeMs > draftMs) this.discard(path)
        // A file may have holes, and a small file takes a whole block of the disk.
        const file = { path, bytes: info.blocks * 512, usedAt: info.mtimeMs }
        bytes += file.bytes
        files.push(file)
      }
    }
    if (bytes <= this.#bytesMax) return
    files.sort((a, b) => a.usedAt - b.usedAt)
    for (const file of files) {
      if (bytes <= this.#bytesMax * shareKept) break
      if (pacer.due()) await pacer.pause()
      this.discard(file.path)
      bytes -= file.bytes
    }
    this.#removeEmptyFolders()
  }

  #removeEmptyFolders(): void {
    for (const folder of readdirSync(this.#path)) {
      if (!ownFolder.test(folder)) continue
      try {
        rmdirSync(join(this.#path, folder))
      } catch {
        // It has files.
      }
    }
  }

  /** Report an error of the disk once. A missing file is no error: it was never written, or another process deleted it. */
  #noteError(error: unknown): void {
    if (systemCode(error) === 'ENOENT' || this.#hasWarned) return
    this.#hasWarned = true
    this.#warn(`the disk cache in ${quote(this.#path)} does not work, so more is read from far away`, error)
  }
}

/**
 * Create a folder with its parents, if it does not exist. `mkdirSync` with `recursive` never returns for a folder that the
 * system reports as missing in a parent that exists, for example in /proc.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path && !existsSync(parent)) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    // Another process has created it meanwhile.
    if (systemCode(cause) === 'EEXIST') return
    throw new Error(`cannot create the folder ${quote(path)}`, { cause })
  }
}

/** Fill `target` with the bytes of a file from `offset` on. Returns the number of bytes that the file has of them. */
export function readAt(fd: number, target: Uint8Array, offset: number): MaybePromise<number> {
  if (target.length <= syncMax) return readSync(fd, target, 0, target.length, offset)
  return new Promise((resolve, reject) => {
    read(fd, target, 0, target.length, offset, (error, count) =>
      error === null ? resolve(count) : reject(error),
    )
  })
}

/** Write bytes to a file at `offset`. A write that ends early leaves bytes without their checksum, which is a miss. */
export function writeAt(fd: number, bytes: Uint8Array, offset: number): MaybePromise<void> {
  if (bytes.length <= syncMax) return void writeSync(fd, bytes, 0, bytes.length, offset)
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, offset, error => (error === null ? resolve() : reject(error)))
  })
}

/** Return whether a file has no bytes yet. */
export function isEmpty(fd: number): boolean {
  return fstatSync(fd).size === 0
}

/** Close a file after `use`, also if `use` returns a promise. */
function closing<T>(fd: number, use: (fd: number) => MaybePromise<T>): MaybePromise<T> {
  let result: MaybePromise<T> | undefined
  try {
    result = use(fd)
  } finally {
    if (!(result instanceof Promise)) closeSync(fd)
  }
  return result instanceof Promise ? result.finally(() => closeSync(fd)) : result
}
