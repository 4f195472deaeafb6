/**
 * Stores blobs as files of a directory.
 *
 * - The store writes a temporary file in `_tmp/` and syncs its content. Then `link()` gives the file its final name,
 *   unless another file has the name. So a file under its final name is always complete, and no file is overwritten.
 *   (With O_EXCL, readers could see an incomplete file; `rename` would replace files.)
 * - Before a write resolves, the store syncs the directory of the file. When the store uses a directory for the first
 *   time, it also syncs all parents up to the root. Another process may have created them without a sync. If the file
 *   system cannot sync directories, this first sync fails, so nothing is written.
 * - Windows cannot sync directories. There, the store syncs the file again after it has its final name. That this also
 *   makes the name durable is plausible, but no test proves it.
 * - A failed sync may have lost data, and the system reports the failure only once. If the sync of the temporary file
 *   fails, nothing was written. If the sync of the directory fails, the file is already visible. Then the store refuses
 *   all further writes until it is opened again.
 * - The store never follows a symbolic link below the root. It checks every directory when it uses it for the first
 *   time.
 * - Several processes may use the directory. When the directory is opened, temporary files that are older than a day
 *   are deleted, because their processes have crashed.
 *
 * Metadata calls and small reads are synchronous, because they take microseconds and Node's thread pool would add tens
 * of microseconds. Syncs and large transfers are asynchronous.
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
import { assert, corrupted, ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { eachOrAborted } from '../primitives/abort.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { inParallel } from '../primitives/in-parallel.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import {
  Ambiguous,
  type BlobInfo,
  type BlobInPlace,
  type BlobMark,
  type BlobStore,
  type ByteRange,
} from './blob-store.js'
import { isBusy, isWindows, unlessBusy } from './busy-file.js'
import { ioError, lacksDirectorySync, systemCode } from './io-error.js'
import { checkKey, checkPrefix, directoryOf, isKey, temporaryDirectory } from './key.js'
import { isOnLocalFileSystem } from './network-file-system.js'
import { type Processes, systemProcesses } from './processes.js'
import { checkRange } from './range.js'
import { WriteBehind } from './write-behind.js'

/** Options of `FileStore.open`. */
interface FileStoreOptions {
  /** Whether to create the directory if it does not exist. */
  readonly create: boolean
  /** Whether to write nothing at all, not even the test of `open`. For read-only media. */
  readonly readOnly: boolean
  /** The clock. Default: the system clock. */
  readonly clock?: Clock
}

/**
 * Reads and writes of up to this many bytes are synchronous. Copying 64 KB from the page cache takes about 10
 * microseconds.
 */
const syncMax = 64 * 1024
/** Larger reads and writes are split into pieces of this many bytes. The signal is checked before each piece. */
const pieceBytes = 4 * 1024 * 1024
/** Small reads run synchronously for this long, in milliseconds. Then the store yields to the event loop. */
const groupMs = 1
/**
 * A read that takes longer than this, in milliseconds, probably came from the disk and not from the page cache. The
 * other reads are then done in the thread pool.
 */
const slowMs = 0.2
/** Maximum number of reads in the thread pool that run concurrently for one call. */
const readsAtOnce = 16
/**
 * Number of directory entries that are read before the store may yield: about a millisecond of work. Reading the
 * entries asynchronously, with a promise per entry, takes several times as long.
 */
const listedAtOnce = 1024
/**
 * Maximum number of directories that are remembered as checked, and of directories that are remembered as durable. When
 * a set is full, it is cleared.
 */
const rememberedMax = 10_000
/**
 * Age in milliseconds from which a temporary file is regarded as left by a crashed process. No write takes this long.
 */
const draftMs = 24 * 60 * 60 * 1000
const draftName = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-(?:[0-9a-z]+|link)$/

/** Error codes that mean that the system did not create the link. */
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
// Windows does not have O_NOFOLLOW. There the store does not check whether the file itself is a symbolic link.
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

/** The progress of a group of reads: the index of the next read, and whether the last read was slow. */
interface ReadGroup {
  readonly next: number
  readonly isSlow: boolean
}

/** A blob that is open for reading. `size`: in bytes. */
interface OpenBlob {
  readonly fd: number
  readonly size: number
}

/** A temporary file in `_tmp/`, which will be linked to its final name. */
interface Draft {
  readonly path: string
  readonly fd: number
  open: boolean
  /** Whether the file still has its name in `_tmp/`. */
  named: boolean
}

/** A store in a directory of the file system. */
export class FileStore implements BlobStore {
  readonly name: string
  readonly processes: Processes = systemProcesses
  /** Defined only if the directory is on a local file system of Linux. */
  readonly openInPlace?: (key: string) => BlobInPlace | null
  readonly #root: string
  readonly #readOnly: boolean
  readonly #clock: Clock
  /** A random id in the names of temporary files. It makes them unique among processes and open stores. */
  readonly #nonce: string
  #drafts = 0
  /** Directories that were checked not to be symbolic links. */
  readonly #checked = new Set<string>()
  /** Directories whose names, and those of all their parents, are on disk. */
  readonly #durable = new Set<string>()
  #failure: SheafError | null = null

  private constructor(name: string, root: string, options: FileStoreOptions) {
    this.name = name
    this.#root = root
    this.#readOnly = options.readOnly
    this.#clock = options.clock ?? systemClock
    this.#nonce = this.#clock.uuid()
    if (isOnLocalFileSystem(root)) this.openInPlace = key => this.#openInPlace(key)
  }

  /**
   * Open the directory at `path`. Unless `readOnly` is set, test that the directory is writable and that its file
   * system has hard links. Throws:
   *
   * - `NamespaceNotFound` if the directory is missing and `create` is not set.
   * - `InvalidInput` if `path` is a file.
   * - `Unsupported` if the file system has no hard links.
   * - `PermissionDenied` or `ServiceUnavailable` for errors of the system.
   */
  static async open(path: string, options: FileStoreOptions): Promise<FileStore> {
    const absolute = resolve(path)
    let root: string
    try {
      const info = statSync(absolute, quiet)
      if (info === undefined) {
        if (!options.create || options.readOnly) {
          throw new SheafError(ErrorCode.NamespaceNotFound, `there is no directory ${quote(path)}`, {
            hint: 'open it with create: true to create it',
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
    const blob = await this.#openBlob(key, signal)
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
    return whenResolved(this.#openBlob(key, signal), blob => {
      if (blob === null) throw corrupted(`${key} is missing`)
      let isAsync = false
      try {
        for (const { offset, target } of ranges) checkRange(key, blob.size, offset, target.length)
        const first = this.#readGroup(blob.fd, key, ranges, 0)
        if (first.next === ranges.length) return
        isAsync = true
        return this.#readOthers(blob.fd, key, ranges, first, signal)
      } finally {
        if (!isAsync) closeSync(blob.fd)
      }
    })
  }

  /**
   * Read ranges synchronously, from the range with the index `from` on. Stop when about a millisecond has passed, or
   * after a slow read.
   */
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

  /**
   * Read the remaining ranges after a first group: in further groups, and in the thread pool after the first slow read.
   */
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
    assert((await this.putIfAbsent(key, bytes, signal)) === 'won', `${key} already exists`)
  }

  async putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void> {
    const outcome = await this.#write(key, signal, async fd => {
      const behind = new WriteBehind(async bytes => writeFully(fd, key, bytes, signal))
      try {
        for await (const chunk of eachOrAborted(chunks, signal)) await behind.push(chunk)
        await behind.flush()
      } finally {
        await behind.close()
      }
    })
    assert(outcome === 'won', `${key} already exists`)
  }

  async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    return this.#write(key, signal, fd => writeFully(fd, key, bytes, signal))
  }

  async stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    signal?.throwIfAborted()
    checkKey(key)
    return unlessBusy(() => this.#info(key), this.#clock, signal)
  }

  async *list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    checkPrefix(prefix)
    yield* this.#walk(directoryOf(prefix), prefix, startAfter, new Pacer(signal, this.#clock))
  }

  async listKeys(prefix: string, startAfter = '', signal?: AbortSignal): Promise<readonly string[]> {
    signal?.throwIfAborted()
    checkPrefix(prefix)
    return this.#keys(directoryOf(prefix), prefix, startAfter, new Pacer(signal, this.#clock))
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

  /** Return the names of the folders in the directory of the store, sorted. Empty if they cannot be listed. */
  folders(): readonly string[] {
    try {
      const entries = readdirSync(this.#root, { withFileTypes: true })
      return entries.flatMap(entry => (entry.isDirectory() ? [entry.name] : [])).sort()
    } catch {
      return []
    }
  }

  /** Also returns null for a file that another program has open, because a synchronous call cannot wait for it. */
  peek(key: string): BlobMark | null {
    checkKey(key)
    try {
      return this.#stat(key)
    } catch (error) {
      if (isBusy(error)) return null
      throw error
    }
  }

  async sync(prefix: string): Promise<void> {
    checkPrefix(prefix)
    const directory = directoryOf(prefix)
    if (this.#failure !== null) throw this.#failure
    try {
      await syncDirectory(openDirectory(this.#pathOf(directory)), this.name)
    } catch (error) {
      // Such a file system has only blobs that another system wrote.
      const isUnsupported = error instanceof SheafError && error.code === ErrorCode.Unsupported
      if (this.#readOnly && isUnsupported) return
      throw ioError(error, 'sync', directory)
    }
  }

  #openInPlace(key: string): BlobInPlace | null {
    checkKey(key)
    try {
      if (!this.#hasDirectory(directoryOf(key))) return null
      const flags = this.#readOnly ? readFlags : constants.O_RDWR | constants.O_NOFOLLOW
      return new FileInPlace(key, openSync(this.#pathOf(key), flags))
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return null
      throw ioError(error, 'open', key)
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

  /** Return whether `directory` exists. Throws PermissionDenied if its path contains a symbolic link. */
  #hasDirectory(directory: string): boolean {
    if (directory === '' || this.#checked.has(directory)) return true
    if (!this.#hasDirectory(directoryOf(directory))) return false
    const info = lstatSync(this.#pathOf(directory), quiet)
    if (info?.isSymbolicLink()) throw symbolicLinkError(directory)
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
      throw ioError(error, 'inspect', key)
    }
  }

  /** Open a blob for reading. Returns null if the blob does not exist. Waits only while another program has the file open. */
  #openBlob(key: string, signal: AbortSignal | undefined): MaybePromise<OpenBlob | null> {
    signal?.throwIfAborted()
    checkKey(key)
    return unlessBusy(() => this.#openNow(key), this.#clock, signal)
  }

  #openNow(key: string): OpenBlob | null {
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
    const blob = await this.#openBlob(key, signal)
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
    fill: (fd: number) => MaybePromise<void>,
  ): Promise<'won' | 'taken'> {
    signal?.throwIfAborted()
    checkKey(key)
    this.#checkWritable()
    const directory = directoryOf(key)
    if (!this.#durable.has(directory)) await this.#makeDirectory(directory)
    const existing = unlessBusy(() => this.#stat(key), this.#clock, signal)
    if ((existing instanceof Promise ? await existing : existing) !== null) return 'taken'
    const draft = this.#draft(key)
    try {
      const filled = fill(draft.fd)
      if (filled instanceof Promise) await filled
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

  /** Give a temporary file its final name, durably. */
  async #publish(draft: Draft, key: string, signal: AbortSignal | undefined): Promise<'won' | 'taken'> {
    const directory = directoryOf(key)
    try {
      await syncContent(draft.fd)
      if (!isWindows()) closeDraft(draft)
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
      const linked = unlessBusy(() => this.#link(draft, key), this.#clock, signal)
      won = linked instanceof Promise ? await linked : linked
    } finally {
      if (!won && directoryFd !== null) closeSync(directoryFd)
    }
    if (!won) return 'taken'
    try {
      if (directoryFd === null) await syncAll(draft.fd)
      discard(draft)
      await syncDirectory(directoryFd, this.name)
    } catch (error) {
      const cause = ioError(error, 'sync', directory)
      this.#failure = new SheafError(
        ErrorCode.ServiceUnavailable,
        `${this.name} takes no more writes, because ${key} could not be made durable`,
        { hint: 'check the disk, then open the root again', cause },
      )
      throw new Ambiguous(`${key} is written, but may not survive a power loss`, { cause })
    }
    return 'won'
  }

  /**
   * Link a temporary file to its final name. Returns false if another file has this name. A network file system may
   * report an error, even EEXIST, although it created the link. So after an error the number of links of the temporary
   * file decides. Throws `Ambiguous` if neither this number nor the error shows that no link was created.
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
      throw new Ambiguous(`${key} may or may not be written: the link to it failed (${code})`, {
        cause: error,
      })
    }
  }

  /** Create `directory` and its parents, durably. */
  async #makeDirectory(directory: string): Promise<void> {
    if (directory === '' || this.#durable.has(directory)) return
    const parent = directoryOf(directory)
    await this.#makeDirectory(parent)
    try {
      makeOne(this.#pathOf(directory))
      if (!this.#hasDirectory(directory)) {
        throw invalidInput(`${quote(directory)} is a file, but must be a directory`)
      }
      await syncDirectory(openDirectory(this.#pathOf(parent)), this.name)
    } catch (error) {
      if (systemCode(error) === 'ENOENT') this.#forgetDirectories()
      throw ioError(error, 'make', directory)
    }
    remember(this.#durable, directory)
  }

  /** Forget all checked and durable directories, because another process has removed one of them. */
  #forgetDirectories(): void {
    this.#checked.clear()
    this.#durable.clear()
  }

  /**
   * Yield the blobs in and below `directory` whose keys start with `prefix` and come after `startAfter`, in byte order
   * of the keys.
   */
  async *#walk(directory: string, prefix: string, startAfter: string, pacer: Pacer): AsyncIterable<BlobInfo> {
    for (const entry of await this.#entries(directory, prefix, startAfter, pacer)) {
      if (entry.endsWith('/')) {
        yield* this.#walk(entry.slice(0, -1), prefix, startAfter, pacer)
      } else {
        const info = await unlessBusy(() => this.#info(entry), this.#clock, pacer.signal)
        if (info !== null) yield info
      }
      await pacer.turn()
    }
  }

  /** Return the keys that `#walk` yields the blobs of. */
  async #keys(directory: string, prefix: string, startAfter: string, pacer: Pacer): Promise<string[]> {
    const keys: string[] = []
    for (const entry of await this.#entries(directory, prefix, startAfter, pacer)) {
      if (!entry.endsWith('/')) keys.push(entry)
      else for (const key of await this.#keys(entry.slice(0, -1), prefix, startAfter, pacer)) keys.push(key)
    }
    return keys
  }

  /**
   * List the keys in one directory in byte order. The name of a sub-directory ends with '/', so that it is sorted in
   * the same way as the keys in it. Skips names that are not valid keys, because the store did not write these files.
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
        // Windows lists each file with a reparse point as a link, for example a file in OneDrive.
        const kind = found.isSymbolicLink() ? lstatSync(this.#pathOf(key), quiet) : found
        const isDirectory = kind?.isDirectory() === true
        const entry = isDirectory ? `${key}/` : key
        const passed = entry <= startAfter && !(isDirectory && startAfter.startsWith(entry))
        if (passed || !entry.startsWith(prefix) || !isKey(key)) continue
        if (isDirectory || kind?.isFile()) entries.push(entry)
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return []
      throw ioError(error, 'list', directory === '' ? '.' : directory)
    } finally {
      listing?.closeSync()
    }
    return entries.sort()
  }

  /**
   * Delete temporary files that were last written before `before`, by the clock of the file system. Their processes
   * have crashed. Ignores errors, because such a file does no harm.
   */
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
      throw unsupported(`${this.name} is on a file system without hard links (${code})`, {
        hint: 'writes need hard links; move the root to a local file system, or open it with readOnly: true',
        cause: error,
      })
    } finally {
      if (draft !== null) discard(draft)
      removeQuietly(target)
    }
    throw unsupported(
      `${this.name} is on a file system on which a hard link replaces an existing file, so Sheaf cannot use it`,
    )
  }
}

/** A file that one process fills in place. */
class FileInPlace implements BlobInPlace {
  readonly size: number
  readonly ino: number
  readonly #key: string
  readonly #fd: number

  constructor(key: string, fd: number) {
    const { size, ino } = fstatSync(fd)
    this.size = size
    this.ino = ino
    this.#key = key
    this.#fd = fd
  }

  read(offset: number, target: Uint8Array): void {
    readNow(this.#fd, this.#key, offset, target)
  }

  write(offset: number, bytes: Uint8Array): void {
    assert(offset + bytes.length <= this.size, `${this.#key} has only ${this.size} bytes`)
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#fd, bytes, done, bytes.length - done, offset + done)
      }
    } catch (error) {
      throw ioError(error, 'write', this.#key)
    }
  }

  /** Every commit waits for this call. So it has one promise, and no async function around it. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#fd, error => {
        if (error === null) resolve()
        else reject(ioError(error, 'sync', this.#key))
      })
    })
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function symbolicLinkError(path: string): unknown {
  return ioError(Object.assign(new Error(`${path} is a symbolic link`), { code: 'ELOOP' }), 'follow', path)
}

function remember(set: Set<string>, directory: string): void {
  if (set.size >= rememberedMax) set.clear()
  set.add(directory)
}

/** Create the root directory and its missing parents, and sync the name of each. */
async function makeRoot(path: string): Promise<void> {
  if (statSync(path, quiet) !== undefined) return
  const parent = dirname(path)
  if (parent !== path) await makeRoot(parent)
  makeOne(path)
  await syncDirectory(openDirectory(parent), path)
}

function makeOne(path: string): void {
  try {
    mkdirSync(path)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

/** Return the number of names (hard links) of a temporary file. Returns undefined if the system does not tell. */
function linksOf({ path }: Draft): number | undefined {
  try {
    return lstatSync(path).nlink
  } catch {
    return undefined
  }
}

/**
 * Close a temporary file and delete its name in `_tmp/`. Further calls do nothing. Ignores errors, because a name that
 * remains does no harm.
 */
function discard(draft: Draft): void {
  if (draft.open) closeDraft(draft)
  if (draft.named) removeQuietly(draft.path)
  draft.named = false
}

function closeDraft(draft: Draft): void {
  draft.open = false
  closeSync(draft.fd)
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {}
}

/** Open a directory to sync it. Returns null on Windows, which cannot sync directories. */
function openDirectory(path: string): number | null {
  return isWindows() ? null : openSync(path, constants.O_RDONLY)
}

/** Sync the content of a file. */
function syncContent(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, error => (error === null ? resolve() : reject(error)))
  })
}

/** Sync a file or directory with its metadata. */
function syncAll(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(fd, error => (error === null ? resolve() : reject(error)))
  })
}

/** Sync and close a directory. Throws `Unsupported` if the file system of `root` cannot sync directories. */
async function syncDirectory(fd: number | null, root: string): Promise<void> {
  if (fd === null) return
  try {
    await syncAll(fd)
  } catch (error) {
    if (!lacksDirectorySync(error)) throw error
    throw unsupported(
      `${root} is on a file system that cannot sync directories (${systemCode(error)}), so commits would not survive a power loss`,
      {
        hint: 'move the root to a local file system, in a container to a volume, or open it with readOnly: true',
        cause: error,
      },
    )
  } finally {
    closeSync(fd)
  }
}

/** Fill `target` with the bytes of a file from `offset` on. Throws `Internal` if the file has fewer bytes. */
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

/** Fill `target` like `readFully`, but synchronously. */
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

/** Fill `target` like `readFully`, but in Node's thread pool. */
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
  return corrupted(`${key} is cut off: it ends at byte ${at}`)
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

/** Write all bytes. Up to `syncMax` bytes are written before the call returns. */
function writeFully(
  fd: number,
  key: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): MaybePromise<void> {
  if (bytes.length > syncMax) return writeInPieces(fd, key, bytes, signal)
  signal?.throwIfAborted()
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done)
  } catch (error) {
    throw ioError(error, 'write', key)
  }
}

async function writeInPieces(
  fd: number,
  key: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    signal?.throwIfAborted()
    const length = Math.min(pieceBytes, bytes.length - done)
    try {
      done += await writePiece(fd, bytes, done, length)
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
