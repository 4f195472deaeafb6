/** The stores on Windows and on unusual file systems, which a replacement of node:fs simulates. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Ambiguous } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { writeLocalFile } from '../../src/storage/local-file.js'
import { networkFileSystemOf } from '../../src/storage/network-file-system.js'

const made = vi.hoisted(() => ({
  /** Call -> the codes with which its next calls fail. */
  failures: new Map<string, string[]>(),
  calls: [] as string[],
  /** Names that a listing shows as links. */
  reparsePoints: new Set<string>(),
  fileSystem: null as number | null,
}))

vi.mock('node:fs', async importOriginal => {
  const fs = await importOriginal<typeof import('node:fs')>()
  const note = (call: string, about: string | number) => {
    made.calls.push(`${call} ${about}`)
    const code = made.failures.get(call)?.shift()
    return code === undefined ? null : Object.assign(new Error(`${code}: made up`), { code })
  }
  const now =
    <A extends readonly unknown[], R>(call: string, run: (...args: A) => R) =>
    (...args: A): R => {
      const error = note(call, typeof args[0] === 'number' ? args[0] : String(args[0]).replace(/^.*\//, ''))
      if (error !== null) throw error
      return run(...args)
    }
  const later =
    (call: string, run: (fd: number, done: (error: Error | null) => void) => void) =>
    (fd: number, done: (error: Error | null) => void) => {
      const error = note(call, fs.fstatSync(fd).isDirectory() ? 'directory' : 'file')
      return error === null ? run(fd, done) : done(error)
    }
  return {
    ...fs,
    linkSync: (from: string, to: string) => {
      const error = note('link', 'file')
      if (error !== null) throw error
      fs.linkSync(from, to)
    },
    unlinkSync: now('unlink', fs.unlinkSync),
    closeSync: now('close', fs.closeSync),
    openSync: now('open', fs.openSync),
    lstatSync: now('lstat', fs.lstatSync as (...args: readonly unknown[]) => unknown),
    fsync: later('fsync', fs.fsync),
    fdatasync: later('fdatasync', fs.fdatasync),
    statfsSync: (path: string) =>
      made.fileSystem === null ? fs.statfsSync(path) : { type: made.fileSystem, path },
    opendirSync: (...args: Parameters<typeof fs.opendirSync>) => {
      const listing = fs.opendirSync(...args)
      const next = listing.readSync.bind(listing)
      listing.readSync = () => {
        const entry = next()
        if (entry === null || !made.reparsePoints.has(entry.name)) return entry
        const kinds = { isFile: () => false, isDirectory: () => false, isSymbolicLink: () => true }
        return Object.assign(entry, kinds)
      }
      return listing
    },
  }
})
vi.mock('node:fs/promises', async importOriginal => {
  const fs = await importOriginal<typeof import('node:fs/promises')>()
  return {
    ...fs,
    rename: async (from: string, to: string) => {
      const code = made.failures.get('rename')?.shift()
      if (code !== undefined) throw Object.assign(new Error(`${code}: made up`), { code })
      return fs.rename(from, to)
    },
    open: async (path: string, flags: string) => {
      const handle = await fs.open(path, flags)
      const sync = handle.sync.bind(handle)
      handle.sync = async () => {
        made.calls.push(`sync ${path}`)
        const isDirectory = (await handle.stat()).isDirectory()
        const code = isDirectory ? made.failures.get('sync of a directory')?.shift() : undefined
        if (code !== undefined) throw Object.assign(new Error(`${code}: made up`), { code })
        return sync()
      }
      return handle
    },
  }
})

const { platform } = process
const pretend = (name: string) => Object.defineProperty(process, 'platform', { value: name })
const fail = (call: string, code: string, times: number) => {
  made.failures.set(
    call,
    Array.from({ length: times }, () => code),
  )
}

/** These tests sync directories of the real disk. */
const isRealWindows = platform === 'win32'

let path: string
let pauses: number[]
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'sheaf-platforms-'))
  pauses = []
  vi.spyOn(systemClock, 'sleep').mockImplementation(async ms => {
    pauses.push(ms)
  })
})
afterEach(() => {
  pretend(platform)
  vi.restoreAllMocks()
  made.failures.clear()
  made.reparsePoints.clear()
  made.fileSystem = null
  rmSync(path, { recursive: true })
})
const open = (readOnly = false) => FileStore.open(path, { create: true, readOnly })
const one = Uint8Array.of(1)

/** The calls that give a file its name, and make it durable. Calls on temporary files have no name of their own. */
function publishing(): string[] {
  return made.calls.splice(0).flatMap(call => {
    const [verb, about] = call.split(' ') as [string, string]
    if (/^(fdatasync|fsync|link)$/.test(verb)) return [call]
    return verb === 'unlink' || (verb === 'close' && /^\d+$/.test(about)) ? [verb] : []
  })
}

describe('a write', () => {
  test('on Windows keeps the file open, and syncs it again when it has its name', async () => {
    pretend('win32')
    const store = await open()
    await store.put('d/before', one)
    publishing()
    await store.put('d/k', one)
    expect(publishing()).toEqual(['fdatasync file', 'link file', 'fsync file', 'close', 'unlink'])
    expect(await store.putIfAbsent('d/k', one)).toBe('taken')
    expect(readdirSync(join(path, '_tmp'))).toEqual([])
    fail('fsync', 'EIO', 1)
    await expect(store.put('d/other', one)).rejects.toBeInstanceOf(Ambiguous)
    expect(readdirSync(join(path, '_tmp'))).toEqual([])
    await expect(store.put('d/third', one)).rejects.toThrow('takes no more writes')
  })

  test.skipIf(isRealWindows)(
    'on other systems syncs the content before, and the directory after the file has its name',
    async () => {
      pretend('linux')
      const store = await open()
      await store.put('d/before', one)
      publishing()
      await store.put('d/k', one)
      expect(publishing()).toEqual([
        'fdatasync file',
        'close',
        'link file',
        'unlink',
        'fsync directory',
        'close',
      ])
    },
  )
})

describe('on Windows', () => {
  test.each(['EPERM', 'EBUSY'])('a deleted file that a program closes soon is absent (%s)', async code => {
    pretend('win32')
    const store = await open()
    await store.put('d/k', one)
    rmSync(join(path, 'd/k'))
    fail('open', code, 2)
    expect(await store.get('d/k')).toBeNull()
    fail('lstat', code, 3)
    expect(await store.stat('d/k')).toBeNull()
    expect(pauses).toEqual([5, 10, 5, 10, 20])
    fail('lstat', code, 1)
    expect(store.peek('d/k')).toBeNull()
    fail('lstat', code, 1)
    expect(await store.putIfAbsent('d/k', one)).toBe('won')
    fail('open', code, 1)
    const target = new Uint8Array(1)
    await store.readRanges('d/k', [{ offset: 0, target }])
    expect(target).toEqual(one)
  })

  test('a file that stays busy is an error after six retries', async () => {
    pretend('win32')
    const store = await open()
    await store.put('d/k', one)
    fail('open', 'EPERM', 7)
    await expect(store.get('d/k')).rejects.toMatchObject({ code: 15, cause: { code: 'EPERM' } })
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160])
    expect(await store.get('d/k')).toEqual(one)
  })

  test('a file gets its name when no program has its temporary file open any more', async () => {
    pretend('win32')
    const store = await open()
    fail('link', 'EBUSY', 2)
    expect(await store.putIfAbsent('d/k', one)).toBe('won')
    fail('link', 'EPERM', 7)
    await expect(store.putIfAbsent('d/other', one)).rejects.toMatchObject({ code: 15 })
    expect(await store.putIfAbsent('d/other', one)).toBe('won')
    expect(pauses).toEqual([5, 10, 5, 10, 20, 40, 80, 160])
  })

  test('a file of the caller is replaced when no program has it open any more', async () => {
    pretend('win32')
    const file = join(path, 'rows.csv')
    writeFileSync(file, 'old')
    async function* chunks() {
      yield Buffer.from('new')
    }
    fail('rename', 'EPERM', 2)
    expect(await writeLocalFile(file, chunks())).toBe(3)
    expect(made.calls.at(-1)).toBe(`sync ${file}`)
    expect(readFileSync(file, 'utf8')).toBe('new')
    fail('rename', 'EBUSY', 7)
    await expect(writeLocalFile(file, chunks())).rejects.toMatchObject({ code: 17, cause: { code: 'EBUSY' } })
    expect(readdirSync(path)).toEqual(['rows.csv'])
  })

  test('files and directories with reparse points are listed', async () => {
    const store = await open()
    await store.put('d/k', one)
    await store.put('file', one)
    made.reparsePoints.add('d').add('file')
    const listed: string[] = []
    for await (const { key } of store.list('')) listed.push(key)
    expect(listed).toEqual(['d/k', 'file'])
  })
})

test('elsewhere a missing permission is an error at once', async () => {
  pretend('linux')
  const store = await open()
  fail('open', 'EPERM', 1)
  await expect(store.get('k')).rejects.toMatchObject({ code: 15 })
  fail('lstat', 'EPERM', 1)
  expect(() => store.peek('k')).toThrow(expect.objectContaining({ code: 15 }))
  expect(pauses).toEqual([])
})

describe.skipIf(isRealWindows)('a file system that cannot sync directories', () => {
  const refused = {
    code: 0,
    message: expect.stringContaining('is on a file system that cannot sync directories (EINVAL)'),
    hint: expect.stringContaining('move the root to a local file system'),
  }

  test('is refused before the first file is written', async () => {
    fail('fsync', 'EINVAL', 1)
    await expect(connect(join(path, 'new'))).rejects.toMatchObject(refused)
    fail('fsync', 'EINVAL', 9)
    await expect(connect(join(path, 'new'))).rejects.toMatchObject(refused)
    expect(readdirSync(join(path, 'new', '_log'))).toEqual([])
  })

  test('is refused for writing and accepted for reading where a root exists', async () => {
    const writer = await connect(path)
    await writer.createTable('t', [{ a: 1 }])
    await writer.close()
    fail('fsync', 'EINVAL', 99)
    await expect(connect(path)).rejects.toMatchObject(refused)
    const reader = await connect(path, { readOnly: true })
    expect(await (await reader.openTable('t')).countRows()).toBe(1)
    await reader.close()
  })

  test('may contain files of the caller', async () => {
    pretend('linux')
    async function* chunks() {
      yield Buffer.from('new')
    }
    made.failures.set('sync of a directory', ['EINVAL'])
    expect(await writeLocalFile(join(path, 'rows.csv'), chunks())).toBe(3)
    expect(made.failures.get('sync of a directory')).toEqual([])
  })
})

describe('a network file system', () => {
  test.each([
    [0x6969, 'NFS'],
    [0xfe534d42 - 2 ** 32, 'SMB'],
    [0x01021997, '9p'],
    [0xef53, null],
  ])('of type %d is recognized as %j', (type, name) => {
    made.fileSystem = type
    pretend('linux')
    expect(networkFileSystemOf(path)).toBe(name)
    pretend('darwin')
    expect(networkFileSystemOf(path)).toBeNull()
  })

  test.each([
    ['\\\\server\\share\\root', 'a network share'],
    ['\\\\?\\UNC\\server\\share', 'a network share'],
    ['\\\\?\\C:\\root', null],
    ['C:\\root', null],
  ])('is recognized on Windows: %s', (root, name) => {
    pretend('win32')
    expect(networkFileSystemOf(root)).toBe(name)
  })

  test.skipIf(isRealWindows)('gets a warning that says what to do, once per root', async () => {
    made.fileSystem = 0x6969
    pretend('linux')
    const warnings: unknown[] = []
    const onWarning = (message: string, cause: unknown) => warnings.push([message, String(cause)])
    await (await connect(path, { onWarning })).close()
    await (await connect(path, { onWarning })).close()
    expect(warnings).toEqual([
      [
        `"${path}" is on NFS: a read may miss what other machines committed in the last minute`,
        'Error: use the root on one machine only, or serve it over HTTP from there',
      ],
    ])
  })
})
