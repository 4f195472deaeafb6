/** What FileStore does when the disk refuses. The refusals are made up: node:fs is replaced call by call. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Ambiguous } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'

/** Call -> the code it fails with. */
const failures = vi.hoisted(() => new Map<string, string>())

vi.mock('node:fs', async importOriginal => {
  const fs = await importOriginal<typeof import('node:fs')>()
  const failure = (call: string) => {
    const code = failures.get(call)
    return code === undefined
      ? null
      : Object.assign(new Error(`${code}: made up, ${call} '/home/me'`), { code })
  }
  const sync =
    <A extends unknown[], R>(call: string, run: (...args: A) => R) =>
    (...args: A): R => {
      const error = failure(call)
      if (error !== null) throw error
      return run(...args)
    }
  const later = (call: string, run: (fd: number, done: (error: Error | null) => void) => void) => {
    return (fd: number, done: (error: Error | null) => void) => {
      const error = failure(call)
      return error === null ? run(fd, done) : done(error)
    }
  }
  return {
    ...fs,
    openSync: sync('openSync', fs.openSync),
    writeSync: sync('writeSync', fs.writeSync),
    readSync: sync('readSync', fs.readSync),
    linkSync: sync('linkSync', (from: string, to: string) => {
      fs.linkSync(from, to)
      const error = failure('linkSync, done')
      if (error !== null) throw error
    }),
    lstatSync(...args: Parameters<typeof fs.lstatSync>) {
      const error = String(args[0]).includes('/_tmp/') ? failure('lstatSync of a draft') : null
      if (error !== null) throw error
      return fs.lstatSync(...args)
    },
    unlinkSync: sync('unlinkSync', fs.unlinkSync),
    fsync: later('fsync', fs.fsync),
    fdatasync: later('fdatasync', fs.fdatasync),
  }
})

let path: string
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'sheaf-disk-'))
})
afterEach(() => {
  failures.clear()
  rmSync(path, { recursive: true })
})
const open = () => FileStore.open(path, { create: true, readOnly: false })
const one = Uint8Array.of(1)

describe('FileStore on a failing disk', () => {
  test.each([
    ['openSync', 'EACCES', 15],
    ['openSync', 'EMFILE', 17],
    ['writeSync', 'ENOSPC', 17],
    ['fdatasync', 'EIO', 17],
    ['linkSync', 'EROFS', 15],
  ])(
    'a write that fails in %s with %s did not happen, says why, and works afterwards',
    async (call, code, wire) => {
      const store = await open()
      await store.put('d/before', one)
      failures.set(call, code)
      const error = await store.putIfAbsent('d/k', one).catch(error => error)
      expect(error).toMatchObject({ code: wire, cause: { code } })
      expect(error.message).toContain(`cannot write "d/k"`)
      expect(error.message).toContain(code)
      expect(error.message).not.toContain('/home/me')
      failures.clear()
      expect(await store.get('d/k')).toBeNull()
      expect(readdirSync(join(path, '_tmp'))).toEqual([])
      expect(await store.putIfAbsent('d/k', one)).toBe('won')
    },
  )

  test('a sync that fails after the link leaves the outcome open and ends all writing', async () => {
    const store = await open()
    await store.put('d/before', one)
    failures.set('fsync', 'EIO')
    await expect(store.putIfAbsent('d/k', one)).rejects.toBeInstanceOf(Ambiguous)
    failures.clear()
    const stopped = { code: 17, message: expect.stringContaining('takes no more writes') }
    await expect(store.putIfAbsent('d/k', one)).rejects.toMatchObject(stopped)
    await expect(store.put('other', one)).rejects.toMatchObject(stopped)
    expect(await store.get('d/k')).toEqual(one)
    const reopened = await open()
    expect(await reopened.putIfAbsent('d/k', one)).toBe('taken')
    await reopened.put('other', one)
  })

  test.each(['EIO', 'ETIMEDOUT', 'EEXIST'])(
    'a link that took effect is a successful write, reported as %s',
    async code => {
      const store = await open()
      await store.put('d/before', one)
      failures.set('linkSync, done', code)
      expect(await store.putIfAbsent('d/k', one)).toBe('won')
      await store.put('d/own', one)
      failures.clear()
      expect(await store.putIfAbsent('d/k', Uint8Array.of(2))).toBe('taken')
      expect(await store.get('d/k')).toEqual(one)
      expect(readdirSync(join(path, '_tmp'))).toEqual([])
    },
  )

  test.each(['EIO', 'ETIMEDOUT', 'ESTALE'])(
    'a link that failed with %s leaves the outcome open',
    async code => {
      const store = await open()
      await store.put('d/before', one)
      failures.set('linkSync', code)
      const error = await store.putIfAbsent('d/k', one).catch(error => error)
      expect(error).toBeInstanceOf(Ambiguous)
      expect(error.message).toContain(code)
      failures.clear()
      expect(await store.putIfAbsent('d/k', one)).toBe('won')
    },
  )

  test('a taken name leaves the outcome open where the link count cannot be read', async () => {
    const store = await open()
    await store.put('d/before', one)
    failures.set('linkSync, done', 'EEXIST')
    failures.set('lstatSync of a draft', 'EIO')
    await expect(store.putIfAbsent('d/k', one)).rejects.toBeInstanceOf(Ambiguous)
    failures.clear()
    expect(await store.get('d/k')).toEqual(one)
  })

  test('a directory whose parent cannot be synced is synced again before it is used', async () => {
    const store = await open()
    failures.set('fsync', 'EIO')
    await expect(store.put('new/k', one)).rejects.toMatchObject({ code: 17 })
    await expect(store.put('new/k', one)).rejects.toMatchObject({
      code: 17,
      message: expect.stringContaining('"new"'),
    })
    failures.clear()
    await store.put('new/k', one)
  })

  test('a temporary file that cannot be unlinked does not turn a success into a failure', async () => {
    const store = await open()
    failures.set('unlinkSync', 'EBUSY')
    expect(await store.putIfAbsent('k', one)).toBe('won')
  })

  test('a file system without hard links is refused on opening', async () => {
    failures.set('linkSync', 'EPERM')
    await expect(open()).rejects.toMatchObject({
      code: 0,
      message: expect.stringContaining('hard links (EPERM)'),
    })
    const reader = await FileStore.open(path, { create: false, readOnly: true })
    expect(await reader.get('k')).toBeNull()
  })

  test('a directory that cannot be written is refused on opening', async () => {
    failures.set('openSync', 'EACCES')
    await expect(open()).rejects.toMatchObject({
      code: 15,
      message: `cannot write "${path}": permission denied (EACCES)`,
    })
  })

  test('a failing read says why, and is not a missing blob', async () => {
    const store = await open()
    await store.put('k', one)
    failures.set('readSync', 'EIO')
    const failed = { code: 17, message: 'cannot read "k": the device reported an error (EIO)' }
    await expect(store.get('k')).rejects.toMatchObject(failed)
    await expect(store.getRange('k', 0, 1)).rejects.toMatchObject(failed)
  })

  test('a failing delete says why', async () => {
    const store = await open()
    await store.put('k', one)
    failures.set('unlinkSync', 'EBUSY')
    await expect(store.delete('k')).rejects.toMatchObject({ code: 17, message: 'cannot delete "k": EBUSY' })
  })
})
