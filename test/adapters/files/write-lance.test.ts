/** Rows to Lance tables: which files there are, and what is refused. The peers read the values. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { writeLance } from '../../../adapters/files/public.js'
import { ErrorCode } from '../../../src/errors.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const newRoot = temporaryRoots()

function newFolder(): string {
  const folder = newRoot()
  mkdirSync(folder)
  return folder
}

describe('writeLance', () => {
  test('writes a data file, a transaction and a manifest', async () => {
    const folder = newFolder()
    const path = join(folder, 't.lance')
    const written = await writeLance(path, [{ a: 1 }, { a: null }])
    expect(written.rows).toBe(2)
    expect(readdirSync(path).sort()).toEqual(['_transactions', '_versions', 'data'])
    expect(readdirSync(join(path, '_versions'))).toEqual(['18446744073709551614.manifest'])
    expect(readdirSync(join(path, 'data'))).toHaveLength(1)
    expect(readdirSync(folder)).toEqual(['t.lance'])
  })

  test('names this version of the package as the writer of the manifest', async () => {
    const path = join(newFolder(), 't.lance')
    await writeLance(path, [{ a: 1 }])
    const manifest = readFileSync(join(path, '_versions/18446744073709551614.manifest'))
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    const name = Buffer.from('sheaf')
    const writer = [0x0a, name.length, ...name, 0x12, version.length, ...Buffer.from(version)]
    expect(manifest.includes(Buffer.from(writer))).toBe(true)
  })

  test('leaves nothing behind if the rows fail or the signal aborts', async () => {
    const folder = newFolder()
    const rows = async function* () {
      yield { a: 1 }
      throw new Error('no more')
    }
    expect((await failure(writeLance(join(folder, 't.lance'), rows()))).message).toContain('no more')
    const signal = AbortSignal.abort(new Error('stop'))
    expect((await failure(writeLance(join(folder, 't.lance'), [{ a: 1 }], { signal }))).message).toBe('stop')
    expect(readdirSync(folder)).toEqual([])
  })

  test('refuses a path that exists, and accepts an empty folder', async () => {
    const folder = newFolder()
    await writeLance(folder, [{ a: 1 }])
    expect((await failure(writeLance(folder, [{ a: 1 }]))).code).toBe(ErrorCode.InvalidInput)
    const file = join(newFolder(), 'file')
    writeFileSync(file, 'text')
    expect((await failure(writeLance(file, [{ a: 1 }]))).code).toBe(ErrorCode.InvalidInput)
  })

  test('refuses types that Lance does not have, and tables without columns', async () => {
    const path = join(newFolder(), 't.lance')
    expect((await failure(writeLance(path, []))).code).toBe(ErrorCode.InvalidInput)
    expect((await failure(writeLance(path, [{ 'a.b': 1 }]))).code).toBe(ErrorCode.Unsupported)
    expect(existsSync(path)).toBe(false)
  })
})
