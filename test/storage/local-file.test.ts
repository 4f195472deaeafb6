import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ErrorCode } from '../../src/errors.js'
import { LocalFile, writeLocalFile } from '../../src/storage/local-file.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const newRoot = temporaryRoots()

function newFolder(): string {
  const folder = newRoot()
  mkdirSync(folder)
  return folder
}

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

describe('a file that is read', () => {
  test('comes in pieces, and by ranges', async () => {
    const path = `${newFolder()}/a`
    const content = Buffer.alloc(600_000, 'abc')
    writeFileSync(path, content)
    const file = await LocalFile.open(path)
    try {
      const parts: Uint8Array[] = []
      for await (const part of file.chunks()) parts.push(part)
      expect(parts.length).toBeGreaterThan(1)
      expect(Buffer.concat(parts).equals(content)).toBe(true)
      expect(file.size).toBe(600_000)
      expect(Buffer.from(await file.read(599_999, 1)).toString()).toBe('c')
      expect((await failure(file.read(599_999, 2))).message).toMatch(/is cut off: it ends at byte 600000/)
    } finally {
      await file.close()
    }
  })

  test('a missing file, or a directory, is an error', async () => {
    expect(await failure(LocalFile.open(newRoot()))).toMatchObject({ code: ErrorCode.InvalidInput })
    expect((await failure(LocalFile.open(newFolder()))).message).toMatch(/is a directory, not a file/)
  })
})

describe('a file that is written', () => {
  test('gets its name when it is complete, and replaces another', async () => {
    const folder = newFolder()
    const path = `${folder}/a`
    writeFileSync(path, 'old')
    async function* looking() {
      yield Buffer.from('ne')
      expect(readFileSync(path, 'utf8')).toBe('old')
      yield Buffer.from('w')
    }
    expect(await writeLocalFile(path, looking())).toBe(3)
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(readdirSync(folder)).toEqual(['a'])
  })

  test('leaves nothing if its chunks fail or the signal fires', async () => {
    const folder = newFolder()
    const broken = new Error('broken')
    async function* failing() {
      yield Buffer.from('a')
      throw broken
    }
    expect(await failure(writeLocalFile(`${folder}/a`, failing()))).toBe(broken)

    const controller = new AbortController()
    async function* hanging() {
      yield Buffer.from('a')
      controller.abort(broken)
      await new Promise(() => {})
    }
    expect(await failure(writeLocalFile(`${folder}/a`, hanging(), controller.signal))).toBe(broken)
    expect(readdirSync(folder)).toEqual([])
  })

  test('is written to the target of a link, which stays', async () => {
    const folder = newFolder()
    writeFileSync(`${folder}/real`, 'old')
    symlinkSync(`${folder}/real`, `${folder}/link`)
    await writeLocalFile(`${folder}/link`, chunks('new'))
    expect(readFileSync(`${folder}/real`, 'utf8')).toBe('new')
  })

  test('is refused if no file can be there', async () => {
    const folder = newFolder()
    writeFileSync(`${folder}/a`, '')
    for (const path of [folder, `${folder}/none/a`, `${folder}/a/b`, '/dev/null']) {
      expect(await failure(writeLocalFile(path, chunks('x')))).toMatchObject({ code: ErrorCode.InvalidInput })
    }
  })
})
