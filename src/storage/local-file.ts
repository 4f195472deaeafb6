/**
 * Files of the caller's own, outside any root: read in pieces, written whole or not at all.
 *
 * A file that is written gets its name by `rename()` when all of it is on disk: who looks finds the old file or the new
 * one. What a crash leaves is a `.sheaf-*.tmp` beside it. Links are followed; the roots' rules are in file-store.ts.
 */
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { invalidInput, quote } from '../errors.js'
import { eachOrAborted } from '../primitives/abort.js'
import { systemClock } from '../primitives/clock.js'
import { ioError, systemCode } from './io-error.js'

/** Bytes read at a time. */
const pieceBytes = 256 * 1024

export class LocalFile {
  readonly size: number
  readonly #path: string
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle, size: number) {
    this.#path = path
    this.#handle = handle
    this.size = size
  }

  /** Opens a file for reading. Throws code 13 where there is none, 15 or 17 for what the system refuses. */
  static async open(path: string): Promise<LocalFile> {
    const handle = await open(path, 'r').catch(error => {
      throw systemCode(error) === 'ENOENT' ? missing(path) : ioError(error, 'read', path)
    })
    const info = await handle.stat()
    if (!info.isDirectory()) return new LocalFile(path, handle, info.size)
    await handle.close()
    throw invalidInput(`${quote(path)} is a directory, not a file`)
  }

  /** Exactly `length` bytes from `offset` on. Throws code 13 where the file ends before that. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    for (let done = 0; done < length; ) {
      const count = await this.#readInto(bytes.subarray(done), offset + done)
      if (count === 0) throw invalidInput(`${quote(this.#path)} ends at byte ${offset + done}, cut off`)
      done += count
    }
    return bytes
  }

  /** All bytes from where the last call ended, to be read once: pipes and devices have no other order. */
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
 * Writes the chunks as the file `path`, in place of the one that is there; gives the bytes written. Where the chunks fail
 * or the signal fires, nothing remains. Throws code 13 where `path` cannot be a file, 15 or 17 for what the system refuses.
 */
export async function writeLocalFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  signal?.throwIfAborted()
  const target = await placeOf(path)
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
    await rename(draft, target).catch(error => Promise.reject(ioError(error, 'write', path)))
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
  await syncDirectory(dirname(target)).catch(error => Promise.reject(ioError(error, 'sync', path)))
  return bytes
}

/** Where the bytes go: behind links, and never in place of what is no file. */
async function placeOf(path: string): Promise<string> {
  const info = await stat(path).catch(error => {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null
    throw ioError(error, 'write', path)
  })
  if (info === null) return path
  if (!info.isFile()) {
    throw invalidInput(`${quote(path)} is a directory or a device, which no file takes the place of`, {
      hint: 'pass a Writable to write into what is there',
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

/** Windows has no such call: NTFS journals names itself. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function missing(path: string) {
  return invalidInput(`there is no file ${quote(path)}`)
}
