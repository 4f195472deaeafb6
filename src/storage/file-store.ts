/**
 * Blobs as files of a directory.
 *
 * - A blob appears under its name by `link()` from a file in `_tmp/` whose content is already on disk: whole or
 *   not at all, and never over another. (O_EXCL would show a torn file; `rename` replaces.)
 * - Before a write is acknowledged its directory is synced and, once per directory and opener, every parent up to
 *   the root, whoever made them.
 * - A sync that fails may have dropped what it should have saved, and says so only once. Before the link nothing
 *   has happened; after it, this store acknowledges nothing more until it is opened again.
 * - A symbolic link below the root is never followed (a directory is looked at once per opener).
 * - Several processes may share the directory. What a crash leaves in `_tmp/` goes when the directory is opened a day later.
 *
 * Metadata calls and small reads are synchronous: they take microseconds, a trip through the thread pool takes
 * tens of them. Syncs and large transfers are not.
 */
import {
  closeSync,
  constants,
  type Dir,
  fdatasync,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  read,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { assert, corrupted, ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { eachOrAborted } from '../primitives/abort.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { inParallel } from '../primitives/in-parallel.js'
import { Pacer } from '../primitives/pacer.js'
import type { MaybePromise } from '../primitives/task.js'
import { Ambiguous, type BlobInfo, type BlobMark, type BlobStore, type ByteRange } from './blob-store.js'
import { ioError, systemCode } from './io-error.js'
import { checkKey, checkPrefix, directoryOf, isKey, temporaryDirectory } from './key.js'
import { type Processes, systemProcesses } from './processes.js'
import { checkRange } from './range.js'
import { WriteBehind } from './write-behind.js'

export interface FileStoreOptions {
  /** Make the directory when it is not there. */
  readonly create: boolean
  /** Write nothing, not even a probe: for read-only media. */
  readonly readOnly: boolean
  /** Default: the system's. */
  readonly clock?: Clock
}

/** Transfers up to this many bytes are synchronous: copying 64 KB from the page cache takes about 10 us. */
const syncMax = 64 * 1024
/** Larger ones go in pieces of this many bytes, with a look at the signal between two. */
const pieceBytes = 4 * 1024 * 1024
/** Small reads follow each other for so long before the event loop gets its turn, */
const groupMs = 1
/** and until one takes so long that it must have come from the disk: then other threads wait for the rest, */
const slowMs = 0.2
/** so many at a time. */
const readsAtOnce = 16
/**
 * Names read from a directory between two looks at the clock: about a millisecond's worth. To have them read by another thread, a promise
 * for each, takes several times as long.
 */
const listedAtOnce = 1024
/** How many directories are remembered as checked or durable before all are forgotten. */
const rememberedMax = 10_000
/** Longer than any write takes from its draft to its link. */
const draftMs = 24 * 60 * 60 * 1000
const draftName = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-(?:[0-9a-z]+|link)$/

/** Codes by which the system says that it made no link. */
const refusals: ReadonlySet<string> = new Set([
  'EACCES',
  'EDQUOT',
  'ELOOP',
  'EMLINK',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
  'EXDEV',
])

const quiet = { throwIfNoEntry: false } as const
// Windows has no such flag; there the file itself being a link is left unchecked.
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)
const syncContent = promisify(fdatasync)
const syncAll = promisify(fsync)

/** How far a group of reads came, and whether its last one was slow. */
interface ReadGroup {
  readonly next: number
  readonly isSlow: boolean
}

/** A file in `_tmp/` on its way to a name. */
interface Draft {
  readonly path: string
  readonly fd: number
  open: boolean
  /** It has its name in `_tmp/`. */
  named: boolean
}

export class FileStore implements BlobStore {
  readonly name: string
  readonly processes: Processes = systemProcesses
  readonly #root: string
  readonly #readOnly: boolean
  readonly #clock: Clock
  /** Makes the names of drafts unique among processes and openers. */
  readonly #nonce: string
  #drafts = 0
  /** Directories known to be real ones. */
  readonly #checked = new Set<string>()
  /** Directories whose names are on disk, up to the root. */
  readonly #durable = new Set<string>()
  #failure: SheafError | null = null

  private constructor(name: string, root: string, options: FileStoreOptions) {
    this.name = name
    this.#root = root
    this.#readOnly = options.readOnly
    this.#clock = options.clock ?? systemClock
    this.#nonce = this.#clock.uuid()
  }

  /**
   * Opens the directory at `path`. Unless read-only, proves that it can be written and that its file system has
   * hard links. Throws NamespaceNotFound (code 1) when it is missing and not to be created, invalidInput when
   * `path` is a file, unsupported without hard links, PermissionDenied (15) or ServiceUnavailable (17) for what
   * the system refuses.
   */
  static async open(path: string, options: FileStoreOptions): Promise<FileStore> {
    const absolute = resolve(path)
    let root: string
    try {
      const info = statSync(absolute, quiet)
      if (info === undefined) {
        if (!options.create || options.readOnly) {
          throw new SheafError(ErrorCode.NamespaceNotFound, `there is no directory ${quote(path)}`, {
            hint: 'create it by opening it with create: true',
          })
        }
        await makeRoot(absolute)
      } else if (!info.isDirectory()) {
        throw invalidInput(`${quote(path)} is a file, not a directory`)
      }
      root = realpathSync(absolute)
    } catch (error) {
      if (systemCode(error) === 'ENOTDIR') throw invalidInput(`a parent of ${quote(path)} is a file`)
      throw ioError(error, 'open', path)
    }
    const store = new FileStore(absolute, root, options)
    if (!options.readOnly) store.#testLinks()
    return store
  }

  async get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    const blob = this.#openBlob(key, signal)
    if (blob === null) return null
    try {
      const bytes = new Uint8Array(blob.size)
      await readFully(blob.fd, key, 0, bytes, signal)
      return bytes
    } finally {
      closeSync(blob.fd)
    }
  }

  async getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#readRange(key, offset, length, () => new Uint8Array(length), signal)
  }

  async readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    await this.#readRange(key, offset, target.length, () => target, signal)
  }

  readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): MaybePromise<void> {
    const blob = this.#openBlob(key, signal)
    if (blob === null) throw corrupted(`${key} is missing`)
    let isHandedOn = false
    try {
      for (const { offset, target } of ranges) checkRange(key, blob.size, offset, target.length)
      const first = this.#readGroup(blob.fd, key, ranges, 0)
      if (first.next === ranges.length) return
      isHandedOn = true
      return this.#readOthers(blob.fd, key, ranges, first, signal)
    } finally {
      if (!isHandedOn) closeSync(blob.fd)
    }
  }

  /** Reads ranges from number `from` on while the system has them at hand, for about a millisecond. */
  #readGroup(fd: number, key: string, ranges: readonly ByteRange[], from: number): ReadGroup {
    const begun = this.#clock.elapsed()
    let before = begun
    for (let next = from; next < ranges.length; next++) {
      const { offset, target } = ranges[next]!
      if (target.length > syncMax) return { next, isSlow: true }
      readNow(fd, key, offset, target)
      const now = this.#clock.elapsed()
      const isSlow = now - before > slowMs
      if (isSlow || now - begun > groupMs) return { next: next + 1, isSlow }
      before = now
    }
    return { next: ranges.length, isSlow: false }
  }

  /** The ranges behind a group: in more such groups, or from the first that was slow on in other threads. */
  async #readOthers(
    fd: number,
    key: string,
    ranges: readonly ByteRange[],
    group: ReadGroup,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      let { next, isSlow } = group
      while (next < ranges.length && !isSlow) {
        await this.#clock.yield()
        signal?.throwIfAborted()
        ;({ next, isSlow } = this.#readGroup(fd, key, ranges, next))
      }
      await inParallel(ranges.slice(next), readsAtOnce, async ({ offset, target }) => {
        await readInPieces(fd, key, offset, target, signal)
      })
    } finally {
      closeSync(fd)
    }
  }

  async put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    assert((await this.putIfAbsent(key, bytes, signal)) === 'won', `${key} is written twice`)
  }

  async putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void> {
    const outcome = await this.#write(key, signal, async fd => {
      const behind = new WriteBehind(bytes => writeFully(fd, key, bytes, signal))
      try {
        for await (const chunk of eachOrAborted(chunks, signal)) await behind.push(chunk)
        await behind.flush()
      } finally {
        await behind.close()
      }
    })
    assert(outcome === 'won', `${key} is written twice`)
  }

  async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    return this.#write(key, signal, fd => writeFully(fd, key, bytes, signal))
  }

  async stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    signal?.throwIfAborted()
    checkKey(key)
    return this.#info(key)
  }

  async *list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    checkPrefix(prefix)
    yield* this.#walk(directoryOf(prefix), prefix, startAfter, new Pacer(signal, this.#clock))
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    checkKey(key)
    this.#checkWritable()
    try {
      if (this.#info(key) !== null) unlinkSync(this.#pathOf(key))
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw ioError(error, 'delete', key)
    }
  }

  peek(key: string): BlobMark | null {
    checkKey(key)
    return this.#stat(key)
  }

  async sync(prefix: string): Promise<void> {
    checkPrefix(prefix)
    const directory = directoryOf(prefix)
    if (this.#failure !== null) throw this.#failure
    try {
      await syncDirectory(openDirectory(this.#pathOf(directory)))
    } catch (error) {
      throw ioError(error, 'sync', directory)
    }
  }

  #pathOf(key: string): string {
    return `${this.#root}/${key}`
  }

  #checkWritable(): void {
    if (this.#readOnly) {
      throw new SheafError(ErrorCode.PermissionDenied, `${this.name} is opened read-only`)
    }
    if (this.#failure !== null) throw this.#failure
  }

  /** Whether `directory` is there. Throws where a link stands on the way to it. */
  #hasDirectory(directory: string): boolean {
    if (directory === '' || this.#checked.has(directory)) return true
    if (!this.#hasDirectory(directoryOf(directory))) return false
    const info = lstatSync(this.#pathOf(directory), quiet)
    if (info?.isSymbolicLink()) throw linkInTheWay(directory)
    if (!info?.isDirectory()) return false
    remember(this.#checked, directory)
    return true
  }

  #info(key: string): BlobInfo | null {
    const info = this.#stat(key)
    return info && { key, size: info.size, modified: Math.trunc(info.mtimeMs) }
  }

  #stat(key: string): Stats | null {
    try {
      if (!this.#hasDirectory(directoryOf(key))) return null
      const info = lstatSync(this.#pathOf(key), quiet)
      return info?.isFile() ? info : null
    } catch (error) {
      throw ioError(error, 'look at', key)
    }
  }

  /** A descriptor to read from, or null when there is no such blob. */
  #openBlob(key: string, signal: AbortSignal | undefined): { fd: number; size: number } | null {
    signal?.throwIfAborted()
    checkKey(key)
    let fd: number | null = null
    try {
      if (!this.#hasDirectory(directoryOf(key))) return null
      fd = openSync(this.#pathOf(key), readFlags)
      const info = fstatSync(fd)
      if (info.isFile()) return { fd, size: info.size }
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw ioError(error, 'read', key)
    }
    if (fd !== null) closeSync(fd)
    return null
  }

  async #readRange(
    key: string,
    offset: number,
    length: number,
    allocate: () => Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    const blob = this.#openBlob(key, signal)
    if (blob === null) throw corrupted(`${key} is missing`)
    try {
      checkRange(key, blob.size, offset, length)
      const target = allocate()
      await readFully(blob.fd, key, offset, target, signal)
      return target
    } finally {
      closeSync(blob.fd)
    }
  }

  async #write(
    key: string,
    signal: AbortSignal | undefined,
    fill: (fd: number) => Promise<void>,
  ): Promise<'won' | 'taken'> {
    signal?.throwIfAborted()
    checkKey(key)
    this.#checkWritable()
    await this.#makeDirectory(directoryOf(key))
    if (this.#info(key) !== null) return 'taken'
    const draft = this.#draft(key)
    try {
      await fill(draft.fd)
      return await this.#publish(draft, key, signal)
    } finally {
      discard(draft)
    }
  }

  #draft(key: string): Draft {
    const path = `${this.#root}/${temporaryDirectory}/${this.#nonce}-${(this.#drafts++).toString(36)}`
    try {
      return { path, fd: openSync(path, 'wx'), open: true, named: true }
    } catch (error) {
      throw ioError(error, 'write', key)
    }
  }

  /** Gives a draft its name, durably. */
  async #publish(draft: Draft, key: string, signal: AbortSignal | undefined): Promise<'won' | 'taken'> {
    const directory = directoryOf(key)
    try {
      await syncContent(draft.fd)
      draft.open = false
      closeSync(draft.fd)
    } catch (error) {
      throw ioError(error, 'write', key)
    }
    signal?.throwIfAborted()
    let directoryFd: number | null
    try {
      directoryFd = openDirectory(this.#pathOf(directory))
    } catch (error) {
      if (systemCode(error) === 'ENOENT') this.#forgetDirectories()
      throw ioError(error, 'write', key)
    }
    let won = false
    try {
      won = this.#link(draft, key)
    } finally {
      if (!won && directoryFd !== null) closeSync(directoryFd)
    }
    if (!won) return 'taken'
    discard(draft)
    try {
      await syncDirectory(directoryFd)
    } catch (error) {
      const cause = ioError(error, 'sync', directory)
      this.#failure = new SheafError(
        ErrorCode.ServiceUnavailable,
        `${this.name} takes no more writes: ${key} could not be made durable`,
        { hint: 'check the disk, then open the root again', cause },
      )
      throw new Ambiguous(`${key} is written, but may not survive a power loss`, { cause })
    }
    return 'won'
  }

  /**
   * Links a draft to its name. Returns false where another file has that name.
   * A network file system can report an error, EEXIST included, for a link that took effect: the link count of the draft
   * tells. Throws `Ambiguous` where neither the count nor the error shows that nothing was linked.
   */
  #link(draft: Draft, key: string): boolean {
    try {
      linkSync(draft.path, this.#pathOf(key))
      return true
    } catch (error) {
      const links = linksOf(draft)
      if (links !== undefined && links > 1) return true
      const code = systemCode(error) ?? ''
      if (code === 'ENOENT') this.#forgetDirectories()
      if (links === 1 && code === 'EEXIST') return false
      if (refusals.has(code)) throw ioError(error, 'write', key)
      throw new Ambiguous(`${key} may be written: linking it failed (${code})`, { cause: error })
    }
  }

  /** Makes `directory` and what it stands in, durably. */
  async #makeDirectory(directory: string): Promise<void> {
    if (directory === '' || this.#durable.has(directory)) return
    const parent = directoryOf(directory)
    await this.#makeDirectory(parent)
    try {
      makeOne(this.#pathOf(directory))
      if (!this.#hasDirectory(directory)) {
        throw invalidInput(`${quote(directory)} is a file where a directory is needed`)
      }
      await syncDirectory(openDirectory(this.#pathOf(parent)))
    } catch (error) {
      if (systemCode(error) === 'ENOENT') this.#forgetDirectories()
      throw ioError(error, 'make', directory)
    }
    remember(this.#durable, directory)
  }

  /** Somebody removed one of them. */
  #forgetDirectories(): void {
    this.#checked.clear()
    this.#durable.clear()
  }

  /** Blobs in and below `directory` whose key starts with `prefix` and comes after `startAfter`, in byte order. */
  async *#walk(directory: string, prefix: string, startAfter: string, pacer: Pacer): AsyncIterable<BlobInfo> {
    for (const entry of await this.#entries(directory, prefix, startAfter, pacer)) {
      if (entry.endsWith('/')) {
        yield* this.#walk(entry.slice(0, -1), prefix, startAfter, pacer)
      } else {
        const info = this.#info(entry)
        if (info !== null) yield info
      }
      await pacer.turn()
    }
  }

  /**
   * The keys in one directory, sub-directories with a final '/': in that form their order is the order of
   * everything below them. Names that are no keys are not ours.
   */
  async #entries(directory: string, prefix: string, startAfter: string, pacer: Pacer): Promise<string[]> {
    const entries: string[] = []
    let listing: Dir | null = null
    try {
      if (!this.#hasDirectory(directory)) return []
      listing = opendirSync(this.#pathOf(directory), { bufferSize: listedAtOnce })
      for (let read = 1; ; read++) {
        const found = listing.readSync()
        if (found === null) break
        if (read % listedAtOnce === 0) await pacer.turn()
        const key = directory === '' ? found.name : `${directory}/${found.name}`
        const entry = found.isDirectory() ? `${key}/` : key
        const passed = entry <= startAfter && !(found.isDirectory() && startAfter.startsWith(entry))
        if (passed || !entry.startsWith(prefix) || !isKey(key)) continue
        if (found.isFile() || found.isDirectory()) entries.push(entry)
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return []
      throw ioError(error, 'list', directory === '' ? '.' : directory)
    } finally {
      listing?.closeSync()
    }
    return entries.sort()
  }

  /** Removes what crashes left in `_tmp/` before `before`, by the file system's own clock. A name that stays harms nobody. */
  #removeOldDrafts(before: number): void {
    const directory = `${this.#root}/${temporaryDirectory}`
    try {
      for (const name of readdirSync(directory)) {
        if (!draftName.test(name)) continue
        const path = `${directory}/${name}`
        const info = lstatSync(path, quiet)
        if (info?.isFile() && info.mtimeMs < before) unlinkSync(path)
      }
    } catch {}
  }

  #testLinks(): void {
    const target = `${this.#root}/${temporaryDirectory}/${this.#nonce}-link`
    let draft: Draft | null = null
    try {
      makeOne(`${this.#root}/${temporaryDirectory}`)
      draft = this.#draft(this.name)
      this.#removeOldDrafts(fstatSync(draft.fd).mtimeMs - draftMs)
      linkSync(draft.path, target)
      linkSync(draft.path, target)
    } catch (error) {
      const code = systemCode(error)
      if (code === 'EEXIST') return
      if (draft === null || code === 'EACCES' || code === 'EROFS') {
        throw ioError(error, 'write', this.name)
      }
      throw unsupported(`${this.name} lies on a file system without hard links (${code})`, {
        hint: 'writing needs them; move the root to a local file system, or open it with readOnly: true',
        cause: error,
      })
    } finally {
      if (draft !== null) discard(draft)
      removeQuietly(target)
    }
    throw unsupported(`${this.name} lies on a file system that lets a hard link replace a file`)
  }
}

function linkInTheWay(path: string): unknown {
  return ioError(Object.assign(new Error(`${path} is a symbolic link`), { code: 'ELOOP' }), 'follow', path)
}

function remember(set: Set<string>, directory: string): void {
  if (set.size >= rememberedMax) set.clear()
  set.add(directory)
}

/** Makes a root and its missing parents, each name synced. */
async function makeRoot(path: string): Promise<void> {
  if (statSync(path, quiet) !== undefined) return
  const parent = dirname(path)
  if (parent !== path) await makeRoot(parent)
  makeOne(path)
  await syncDirectory(openDirectory(parent))
}

function makeOne(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** How many names a draft has; undefined where the system does not say. */
function linksOf({ path }: Draft): number | undefined {
  try {
    return lstatSync(path).nlink
  } catch {
    return undefined
  }
}

/** Closes a draft and takes its name in `_tmp/` away, once. A name that stays harms nobody. */
function discard(draft: Draft): void {
  if (draft.open) closeSync(draft.fd)
  draft.open = false
  if (draft.named) removeQuietly(draft.path)
  draft.named = false
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {}
}

/** A descriptor to sync a directory by, or null on Windows, which has none: NTFS journals names itself. */
function openDirectory(path: string): number | null {
  return process.platform === 'win32' ? null : openSync(path, constants.O_RDONLY)
}

async function syncDirectory(fd: number | null): Promise<void> {
  if (fd === null) return
  try {
    await syncAll(fd)
  } finally {
    closeSync(fd)
  }
}

/** Fills `target` from `offset` on, and throws corrupted where the file ends before that. */
async function readFully(
  fd: number,
  key: string,
  offset: number,
  target: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (target.length > syncMax) return readInPieces(fd, key, offset, target, signal)
  signal?.throwIfAborted()
  readNow(fd, key, offset, target)
}

/** The same without waiting. */
function readNow(fd: number, key: string, offset: number, target: Uint8Array): void {
  for (let done = 0; done < target.length; ) {
    let count: number
    try {
      count = readSync(fd, target, done, target.length - done, offset + done)
    } catch (error) {
      throw ioError(error, 'read', key)
    }
    if (count === 0) throw endsEarly(key, offset + done)
    done += count
  }
}

/** The same in other threads. */
async function readInPieces(
  fd: number,
  key: string,
  offset: number,
  target: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let done = 0; done < target.length; ) {
    signal?.throwIfAborted()
    const length = Math.min(pieceBytes, target.length - done)
    const count = await readPiece(fd, target, done, length, offset + done).catch(error => {
      throw ioError(error, 'read', key)
    })
    if (count === 0) throw endsEarly(key, offset + done)
    done += count
  }
}

function endsEarly(key: string, at: number): SheafError {
  return corrupted(`${key} ends at byte ${at}, before it should`)
}

function readPiece(
  fd: number,
  target: Uint8Array,
  at: number,
  length: number,
  offset: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, target, at, length, offset, (error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

async function writeFully(
  fd: number,
  key: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    signal?.throwIfAborted()
    const length = Math.min(pieceBytes, bytes.length - done)
    try {
      done +=
        bytes.length <= syncMax
          ? writeSync(fd, bytes, done, length)
          : await writePiece(fd, bytes, done, length)
    } catch (error) {
      throw ioError(error, 'write', key)
    }
  }
}

function writePiece(fd: number, bytes: Uint8Array, at: number, length: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, at, length, (error, count) => (error === null ? resolve(count) : reject(error)))
  })
}
