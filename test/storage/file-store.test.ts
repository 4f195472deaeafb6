import { execFile, execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { FileStore } from '../../src/storage/file-store.js'
import { blobStoreSuite } from '../suites/blob-store.js'

const base = mkdtempSync(join(tmpdir(), 'sheaf-file-store-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let directories = 0
const freshPath = (): string => join(base, String(directories++))
const openAt = (path: string) => FileStore.open(path, { create: true, readOnly: false })
const readOnlyAt = (path: string) => FileStore.open(path, { create: false, readOnly: true })

blobStoreSuite('FileStore', () => openAt(freshPath()))

describe('FileStore', () => {
  test.each([
    ['where each is quick, at once', 0, false],
    ['in groups of a millisecond', 0.15, true],
    ['in other threads from the first slow one on', 0.5, true],
  ])('several ranges are read %s', async (_, msEach, waits) => {
    let now = 0
    let yields = 0
    const clock: Clock = {
      ...systemClock,
      elapsed: () => (now += msEach),
      yield: () => {
        yields++
        return systemClock.yield()
      },
    }
    const store = await FileStore.open(freshPath(), { create: true, readOnly: false, clock })
    const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251)
    await store.put('k', bytes)
    yields = 0
    const ranges = Array.from({ length: 30 }, (_, i) => ({ offset: i * 300, target: new Uint8Array(64) }))
    const reading = store.readRanges('k', ranges)
    expect(reading instanceof Promise).toBe(waits)
    await reading
    for (const { offset, target } of ranges) {
      expect(Buffer.compare(target, bytes.subarray(offset, offset + 64))).toBe(0)
    }
    expect(yields).toBe(msEach === 0.15 ? 4 : 0)
  })

  test('two openers of a directory see each other, and one of 20 racing writers wins', async () => {
    const path = freshPath()
    const stores = [await openAt(path), await openAt(path)]
    for (let round = 0; round < 50; round++) {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => stores[i % 2]!.putIfAbsent(`race/${round}`, Uint8Array.of(i))),
      )
      const winners = outcomes.flatMap((outcome, i) => (outcome === 'won' ? [i] : []))
      expect(winners).toHaveLength(1)
      for (const store of stores) expect(await store.get(`race/${round}`)).toEqual(Uint8Array.from(winners))
    }
  })

  test('of several processes racing for one name exactly one wins, and its bytes are there', async () => {
    const compiled = join(base, 'compiled')
    const compiler = resolve('node_modules/typescript/bin/tsc')
    const options = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,esnext.disposable']
    const sources = ['--rootDir', 'src', '--outDir', compiled, 'src/storage/file-store.ts', '--ignoreConfig']
    execFileSync(process.execPath, [compiler, ...options, '--types', 'node', ...sources])
    writeFileSync(join(compiled, 'package.json'), '{"type":"module"}')
    const module = pathToFileURL(join(compiled, 'storage/file-store.js')).href
    const path = freshPath()
    const rounds = 100
    const writers = ['one', 'two', 'three']
    const outputs = await Promise.all(
      writers.map(writer =>
        promisify(execFile)(process.execPath, [
          resolve('test/storage/race-writer.mjs'),
          module,
          path,
          writer,
          String(rounds),
        ]),
      ),
    )
    const winnerOf = new Map<number, string>()
    for (const [i, { stdout }] of outputs.entries()) {
      for (const round of JSON.parse(stdout) as number[]) {
        expect(winnerOf.has(round)).toBe(false)
        winnerOf.set(round, writers[i]!)
      }
    }
    const store = await readOnlyAt(path)
    for (let round = 0; round < rounds; round++) {
      expect(new TextDecoder().decode((await store.get(`race/${round}`))!)).toBe(winnerOf.get(round))
    }
  })

  test('a write leaves nothing in _tmp, whether it wins, loses or breaks', async () => {
    const path = freshPath()
    const store = await openAt(path)
    await Promise.all(Array.from({ length: 5 }, () => store.putIfAbsent('a/k', Uint8Array.of(1))))
    const broken = async function* () {
      yield Uint8Array.of(1)
      throw new Error('the source broke')
    }
    await expect(store.putStream('a/b', broken())).rejects.toThrow('the source broke')
    expect(readdirSync(join(path, '_tmp'))).toEqual([])
    expect(readdirSync(join(path, 'a'))).toEqual(['k'])
    expect(statSync(join(path, 'a/k')).nlink).toBe(1)
  })

  test('files that a crash left in _tmp are deleted when the directory is opened a day later', async () => {
    const path = freshPath()
    await openAt(path)
    const of = (age: number) => {
      const file = join(path, '_tmp', `01234567-89ab-4cde-8f01-23456789abcd-${age.toString(36)}`)
      writeFileSync(file, 'half a slot')
      const at = Date.now() / 1000 - age * 3600
      utimesSync(file, at, at)
      return file
    }
    const files = [of(1), of(23), of(25)]
    writeFileSync(join(path, '_tmp', 'notes'), 'by somebody else')
    utimesSync(join(path, '_tmp', 'notes'), 1, 1)
    await readOnlyAt(path)
    expect(readdirSync(join(path, '_tmp'))).toHaveLength(4)
    await openAt(path)
    expect(files.map(file => existsSync(file))).toEqual([true, true, false])
    expect(readdirSync(join(path, '_tmp'))).toContain('notes')
  })

  test('files that a crash left in _tmp are neither listed nor in the way', async () => {
    const path = freshPath()
    mkdirSync(join(path, '_tmp'), { recursive: true })
    writeFileSync(join(path, '_tmp', 'torn'), 'half a sl')
    const store = await openAt(path)
    await store.put('k', Uint8Array.of(1))
    const listed: string[] = []
    for await (const { key } of store.list('')) listed.push(key)
    expect(listed).toEqual(['k'])
    expect(readFileSync(join(path, '_tmp', 'torn'), 'utf8')).toBe('half a sl')
  })

  test('a missing directory is created only on request, with its parents', async () => {
    const path = join(freshPath(), 'deep', 'er')
    const missing = { code: 1, status: 404, message: expect.stringContaining(path) }
    await expect(FileStore.open(path, { create: false, readOnly: false })).rejects.toMatchObject(missing)
    await expect(FileStore.open(path, { create: true, readOnly: true })).rejects.toMatchObject(missing)
    await openAt(path)
    expect(statSync(path).isDirectory()).toBe(true)
  })

  test('a path that is a file, or goes through one, is refused', async () => {
    const file = freshPath()
    writeFileSync(file, 'x')
    await expect(openAt(file)).rejects.toMatchObject({
      code: 13,
      message: expect.stringContaining('is a file'),
    })
    await expect(openAt(join(file, 'below'))).rejects.toMatchObject({ code: 13 })
  })

  test('a read-only opener reads, and writes nothing at all', async () => {
    const path = freshPath()
    mkdirSync(path)
    writeFileSync(join(path, 'k'), 'hello')
    const store = await readOnlyAt(path)
    expect(await store.get('k')).toEqual(new TextEncoder().encode('hello'))
    expect(store.peek('k')).not.toBeNull()
    const refused = { code: 15, status: 403, message: expect.stringContaining('read-only') }
    await expect(store.put('n', Uint8Array.of(1))).rejects.toMatchObject(refused)
    await expect(store.putIfAbsent('n', Uint8Array.of(1))).rejects.toMatchObject(refused)
    await expect(store.putStream('n', [])).rejects.toMatchObject(refused)
    await expect(store.delete('k')).rejects.toMatchObject(refused)
    expect(readdirSync(path)).toEqual(['k'])
  })

  test('a file where a directory is needed is an error that names it', async () => {
    const store = await openAt(freshPath())
    await store.put('a/k', Uint8Array.of(1))
    await expect(store.put('a/k/below', Uint8Array.of(1))).rejects.toMatchObject({
      code: 13,
      message: expect.stringContaining('"a/k" is a file'),
    })
  })

  test('a directory removed under an opener is created again by the second write', async () => {
    const path = freshPath()
    const store = await openAt(path)
    await store.put('a/b/one', Uint8Array.of(1))
    rmSync(join(path, 'a'), { recursive: true })
    await expect(store.put('a/b/two', Uint8Array.of(2))).rejects.toMatchObject({
      code: 17,
      message: expect.stringContaining('ENOENT'),
    })
    await store.put('a/b/three', Uint8Array.of(3))
    expect(await store.get('a/b/three')).toEqual(Uint8Array.of(3))
  })

  test('a file cut short is reported, not padded', async () => {
    const path = freshPath()
    const store = await openAt(path)
    await store.put('k', new Uint8Array(100))
    truncateSync(join(path, 'k'), 40)
    await expect(store.getRange('k', 0, 100)).rejects.toMatchObject({
      code: 18,
      message: expect.stringContaining('k is cut off: it ends at byte 40'),
    })
  })

  test('names in the directory that are not keys are skipped', async () => {
    const path = freshPath()
    const store = await openAt(path)
    await store.put('k', Uint8Array.of(1))
    writeFileSync(join(path, 'Übung'), 'x')
    writeFileSync(join(path, 'ends in a dot.'), 'x')
    const listed: string[] = []
    for await (const { key } of store.list('')) listed.push(key)
    expect(listed).toEqual(['k'])
  })
})

if (process.platform !== 'win32') {
  describe('FileStore where anybody may make symbolic links', () => {
    test('a symbolic link below the root is never followed', async () => {
      const outside = freshPath()
      mkdirSync(outside)
      writeFileSync(join(outside, 'secret'), 'x')
      const path = freshPath()
      mkdirSync(path)
      symlinkSync(outside, join(path, 'out'))
      symlinkSync(join(outside, 'secret'), join(path, 'file'))
      const store = await openAt(path)
      const refused = { code: 15, message: expect.stringContaining('symbolic link') }
      await expect(store.get('out/secret')).rejects.toMatchObject(refused)
      await expect(store.get('file')).rejects.toMatchObject(refused)
      await expect(store.readInto('out/secret', 0, new Uint8Array(1))).rejects.toMatchObject(refused)
      await expect(store.put('out/new', Uint8Array.of(1))).rejects.toMatchObject(refused)
      await expect(store.delete('out/secret')).rejects.toMatchObject(refused)
      expect(() => store.peek('out/secret')).toThrow('symbolic link')
      expect(await store.putIfAbsent('file', Uint8Array.of(1))).toBe('taken')
      const listed: string[] = []
      for await (const { key } of store.list('')) listed.push(key)
      expect(listed).toEqual([])
      expect(readdirSync(outside)).toEqual(['secret'])
    })

    test('the root itself may be reached through a link', async () => {
      const real = freshPath()
      const link = freshPath()
      mkdirSync(real)
      symlinkSync(real, link)
      const store = await openAt(link)
      await store.put('d/k', Uint8Array.of(1))
      expect(readdirSync(join(real, 'd'))).toEqual(['k'])
    })
  })
}
