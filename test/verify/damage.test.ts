/** Damaged roots: every fault is reported with the file it is in, nothing is skipped, nothing else suffers. */
import { cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()
const sound = freshRoot()
const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id, v: Array(32).fill(id / 8) }))

beforeAll(async () => {
  const ns = await connect(sound)
  await ns.createTable('large', rows(2000), { vectorColumns: ['v'] })
  await ns.createTable('small', rows(3), { vectorColumns: ['v'] })
  await ns.close()
})

function damagedCopy(damage: (root: string) => void): string {
  const root = freshRoot()
  cpSync(sound, root, { recursive: true })
  damage(root)
  return root
}

const filesBelow = (root: string, folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => join(root, folder, name))
const dataFile = (root: string) => filesBelow(root, 'tables', '.arrow')[0]!
const slotFile = (root: string, slot: number) => join(root, '_log', String(slot).padStart(20, '0'))

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at < 0 ? bytes.length + at : at]! ^= 0x40
  writeFileSync(path, bytes)
}

/** Reads all of both tables; a SheafError is the only way to fail. */
async function readAll(root: string): Promise<{ large: unknown; small: unknown }> {
  const ns = await connect(root)
  const read = async (name: string) => {
    const found = await (await ns.openTable(name)).search(new Float32Array(32)).limit(1).toArray()
    return found[0]!.id
  }
  const outcome = async (name: string) => read(name).catch(error => error)
  const result = { large: await outcome('large'), small: await outcome('small') }
  await ns.close()
  return result
}

const corrupt = expect.objectContaining({ code: 18, status: 500 })

describe('a data file', () => {
  const size = () => readFileSync(dataFile(sound)).length

  test('is there, for the tests below to damage', async () => {
    expect(await readAll(sound)).toEqual({ large: 0, small: 0 })
    expect(filesBelow(sound, 'tables', '.arrow')).toHaveLength(1)
  })

  test.each([
    ['cut short', (path: string) => truncateSync(path, size() - 100)],
    ['cut to nothing', (path: string) => truncateSync(path, 0)],
    ['of another program', (path: string) => writeFileSync(path, Buffer.alloc(size(), 'x'))],
    ['with one bit flipped in a vector', (path: string) => flip(path, Math.floor(size() / 2))],
    ['with one bit flipped in its footer', (path: string) => flip(path, -200)],
  ])('%s: the table says so, the others live', async (_, damage) => {
    const root = damagedCopy(copy => damage(dataFile(copy)))
    const { large, small } = await readAll(root)
    expect(large).toEqual(corrupt)
    expect((large as Error).message).toContain('tables/')
    expect(small).toBe(0)
  })

  test('a filter that does not read the damaged column still answers', async () => {
    const root = damagedCopy(copy => flip(dataFile(copy), Math.floor(size() / 2)))
    const ns = await connect(root)
    expect(await (await ns.openTable('large')).countRows('id < 10')).toBe(10)
    await ns.close()
  })
})

describe('the log', () => {
  test.each([
    ['a bit flipped in a header', (root: string) => flip(slotFile(root, 1), 30)],
    ['a bit flipped in a blob', (root: string) => flip(slotFile(root, 2), -40)],
    ['a slot cut short', (root: string) => truncateSync(slotFile(root, 2), 100)],
    ['an empty slot', (root: string) => truncateSync(slotFile(root, 2), 0)],
    ['a foreign slot', (root: string) => writeFileSync(slotFile(root, 2), '{"hello":"world"}\n')],
    ['a slot of another root', (root: string) => cpSync(slotFile(root, 1), slotFile(root, 3))],
  ])('%s: opening reports the slot', async (_, damage) => {
    const root = damagedCopy(damage)
    await expect(connect(root)).rejects.toEqual(corrupt)
    await expect(connect(root)).rejects.toThrow(/slot \d/)
  })
})
