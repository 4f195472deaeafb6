/** Writes a folder of the caller, outside of any root. The folder appears with all its files, or not at all. */
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { invalidInput, quote } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import { isWindows, unlessBusy } from './busy-file.js'
import { ioError, systemCode } from './io-error.js'
import { syncAndClose, writeLocalFile } from './local-file.js'

/** A folder that is being written. */
export interface NewFolder {
  /** Write a file. `name`: the path within the folder, with `/`. Returns the number of bytes. */
  write(name: string, chunks: AsyncIterable<Uint8Array>): Promise<number>
}

/**
 * Create the folder `path` with the files that `fill` writes. If `fill` throws or the signal fires, there is no folder.
 * If the process crashes, a folder `.sheaf-*.tmp` may remain beside `path`. Throws `InvalidInput` if `path` exists and is
 * not an empty folder, and `PermissionDenied` or `ServiceUnavailable` for errors of the system.
 */
export async function writeLocalFolder<T>(
  path: string,
  fill: (folder: NewFolder) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted()
  if (path === '') throw invalidInput('the path of the folder must not be empty')
  const target = resolve(path)
  await checkFree(target, path)
  const draft = join(dirname(target), `.sheaf-${systemClock.uuid()}.tmp`)
  await mkdir(draft).catch(error => {
    throw systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR'
      ? invalidInput(`there is no directory ${quote(dirname(path))} for ${quote(basename(target))}`)
      : ioError(error, 'write', path)
  })
  try {
    const folders = new Set([draft])
    const result = await fill({
      async write(name, chunks) {
        const file = join(draft, name)
        const folder = dirname(file)
        if (!folders.has(folder)) {
          await mkdir(folder, { recursive: true }).catch(rejectAs('write', path))
          folders.add(folder)
        }
        return writeLocalFile(file, chunks, signal)
      },
    })
    for (const folder of folders) await syncFolder(folder).catch(rejectAs('sync', path))
    signal?.throwIfAborted()
    await checkFree(target, path)
    // Windows does not replace an empty directory.
    if (isWindows()) await rmdir(target).catch(() => {})
    await Promise.resolve(unlessBusy(() => rename(draft, target), systemClock, signal)).catch(error => {
      throw isTaken(error) ? taken(path) : ioError(error, 'write', path)
    })
    await syncFolder(dirname(target)).catch(rejectAs('sync', path))
    return result
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => {})
    throw error
  }
}

function rejectAs(action: 'write' | 'sync', path: string): (error: unknown) => Promise<never> {
  return error => Promise.reject(ioError(error, action, path))
}

/** Throw InvalidInput if there is a file or a folder with content. */
async function checkFree(target: string, path: string): Promise<void> {
  const names = await readdir(target).catch(error => {
    if (systemCode(error) === 'ENOENT') return []
    throw systemCode(error) === 'ENOTDIR' ? taken(path) : ioError(error, 'read', path)
  })
  if (names.length > 0) throw taken(path)
}

function isTaken(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EPERM'].includes(systemCode(error) ?? '')
}

function taken(path: string): Error {
  return invalidInput(`${quote(path)} exists already`, {
    hint: 'choose another path, or delete the folder first',
  })
}

async function syncFolder(path: string): Promise<void> {
  if (!isWindows()) await syncAndClose(await open(path, 'r'))
}
