/**
 * Reads and writes files of the caller, outside of any root. A file is read in pieces. A write either succeeds
 * completely or changes nothing. For files of a root, see file-store.ts.
 *
 * A write first fills a temporary file. When all bytes are on disk, `rename()` gives it the final name. So a reader
 * finds either the old file or the complete new file. If the process crashes, a file `.sheaf-*.tmp` may remain in the
 * same directory. Symbolic links are followed.
 */
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { invalidInput, quote } from '../errors.js'
import { eachOrAborted } from '../primitives/abort.js'
import { systemClock } from '../primitives/clock.js'
import { isWindows, unlessBusy } from './busy-file.js'
import { ioError, lacksDirectorySync, systemCode } from './io-error.js'

/** Number of bytes per read. */
const pieceBytes = 256 * 1024

/** A file of the caller, opened for reading. */
export class LocalFile {
  readonly size: number
  readonly #path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle, size: number) {
    this.#path = path
    this.#handle = handle
    this.size = size
  }

  /**
   * Open a file for reading. Throws `InvalidInput` if the file does not exist or is a directory, and `PermissionDenied`
   * or `ServiceUnavailable` for errors of the system.
   */
  static async open(path: string): Promise<LocalFile> {
    const handle = await open(path, 'r').catch(error => {
      throw systemCode(error) === 'ENOENT' ? missing(path) : ioError(error, 'read', path)
    })
    const info = await handle.stat()
    if (!info.isDirectory()) return new LocalFile(path, handle, info.size)
    await handle.close()
    throw invalidInput(`${quote(path)} is a directory, not a file`)
  }

  /** Read exactly `length` bytes from `offset` on. Throws `InvalidInput` if the file has fewer bytes. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    for (let done = 0; done < length; ) {
      const count = await this.#readInto(bytes.subarray(done), offset + done)
      if (count === 0) throw invalidInput(`${quote(this.#path)} is cut off: it ends at byte ${offset + done}`)
      done += count
    }
    return bytes
  }

  /**
   * Yield all bytes of the file in order. Can be used once, because it reads from the current position: pipes and
   * devices cannot seek.
   */
  async *chunks(signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    for (;;) {
      signal?.throwIfAborted()
      const piece = new Uint8Array(pieceBytes)
      const count = await this.#readInto(piece, null)
      if (count === 0) return
      yield count === pieceBytes ? piece : piece.slice(0, count)
    }
  }

  async #readInto(target: Uint8Array, position: number | null): Promise<number> {
    try {
      return (await this.#handle.read(target, 0, target.length, position)).bytesRead
    } catch (error) {
      throw ioError(error, 'read', this.#path)
    }
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/**
 * Write the chunks to the file `path`, which is replaced if it exists. Returns the number of bytes. If `chunks` throws
 * or the signal fires, no file is created or replaced. Throws `InvalidInput` if `path` cannot be a file, and
 * `PermissionDenied` or `ServiceUnavailable` for errors of the system.
 */
export async function writeLocalFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  signal?.throwIfAborted()
  const target = await targetOf(path)
  const draft = join(dirname(target), `.sheaf-${systemClock.uuid()}.tmp`)
  const handle = await open(draft, 'wx').catch(error => {
    throw systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR'
      ? invalidInput(`there is no directory ${quote(dirname(path))} for ${quote(basename(path))}`)
      : ioError(error, 'write', path)
  })
  let bytes = 0
  try {
    try {
      for await (const chunk of eachOrAborted(chunks, signal)) {
        await writeAll(handle, chunk, path)
        bytes += chunk.length
      }
      await handle.sync().catch(error => Promise.reject(ioError(error, 'write', path)))
    } finally {
      await handle.close()
    }
    signal?.throwIfAborted()
    // Windows replaces no file that another program has open.
    await Promise.resolve(unlessBusy(() => rename(draft, target), systemClock, signal)).catch(error =>
      Promise.reject(ioError(error, 'write', path)),
    )
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
  await syncName(target).catch(error => Promise.reject(ioError(error, 'sync', path)))
  return bytes
}

/**
 * Return the path of the file to replace, with symbolic links resolved. Throws `InvalidInput` if it exists and is not a
 * regular file.
 */
async function targetOf(path: string): Promise<string> {
  const info = await stat(path).catch(error => {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null
    throw ioError(error, 'write', path)
  })
  if (info === null) return path
  if (info.isDirectory()) {
    throw invalidInput(`${quote(path)} is a directory, so it cannot be replaced by a file`, {
      hint: 'pass the path of a file in the directory',
    })
  }
  if (!info.isFile()) {
    throw invalidInput(`${quote(path)} is a pipe or a device, so it cannot be replaced by a file`, {
      hint: 'pass a Writable to write to a device or pipe',
    })
  }
  return realpath(path)
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, path: string): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten
    }
  } catch (error) {
    throw ioError(error, 'write', path)
  }
}

/** Sync the name of a file: its directory; on Windows, which cannot sync directories, the file. */
async function syncName(path: string): Promise<void> {
  await syncAndClose(isWindows() ? await open(path, 'r+') : await open(dirname(path), 'r'))
}

/**
 * Sync a directory or a file. Ignores that a file system cannot sync directories, because the files in the directory are
 * complete.
 */
export async function syncAndClose(handle: FileHandle): Promise<void> {
  try {
    await handle.sync()
  } catch (error) {
    if (!lacksDirectorySync(error)) throw error
  } finally {
    await handle.close()
  }
}

function missing(path: string) {
  const isAddress = /^[a-z][a-z0-9+.-]+:\/\//i.test(path)
  return invalidInput(`there is no file ${quote(path)}`, {
    ...(isAddress && { hint: 'pass the path of a local file, or the content as a stream of bytes' }),
  })
}
