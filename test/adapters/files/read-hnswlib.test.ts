import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ReadHnswlibOptions, readHnswlib, readHnswlibFolder } from '../../../adapters/files/public.js'
import { SheafError } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { damagedFiles, ReadTimes } from '../../support/damaged-files.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const golden = 'test/golden/hnswlib'
const folder = temporaryRoots()()
mkdirSync(folder)
type Element = { id: bigint; vector: readonly number[] }

async function readAll(path: string, options?: ReadHnswlibOptions): Promise<Element[]> {
  const rows: Element[] = []
  for await (const batch of readHnswlib(path, options)) {
    for (const row of batch.toArray()) rows.push({ id: row.id, vector: [...row.vector] })
  }
  return rows
}

/** Decode the records without any check: the sum of all offsets is known. */
function oracle(bytes: Buffer): Element[] {
  const at = (offset: number) => Number(bytes.readBigUInt64LE(offset))
  const rows: Element[] = []
  for (let element = 0; element < at(16); element++) {
    const start = 96 + element * at(24)
    if (bytes[start + 2] === 1) continue
    const count = (at(32) - at(40)) / 4
    const vector = Array.from({ length: count }, (_, i) => bytes.readFloatLE(start + at(40) + 4 * i))
    rows.push({ id: bytes.readBigUInt64LE(start + at(32)), vector })
  }
  return rows
}

function changed(bytes: Buffer, change: (copy: Buffer) => void): string {
  const copy = Buffer.from(bytes)
  change(copy)
  writeFileSync(`${folder}/changed.bin`, copy)
  return `${folder}/changed.bin`
}

describe.each(['l2', 'ip', 'cosine'] as const)(
  'an index that hnswlib-node wrote with the space %s',
  space => {
    const path = `${golden}/${space}.bin`

    test('yields the points that hnswlib-node returns, without deleted elements', async () => {
      const { dim, points, deleted } = JSON.parse(readFileSync(`${golden}/${space}.json`, 'utf8'))
      const rows = await readAll(path, { space, dim })
      expect(rows).toEqual(oracle(readFileSync(path)))
      expect(Object.fromEntries(rows.map(({ id, vector }) => [String(id), vector]))).toEqual(points)
      for (const label of deleted) expect(rows.map(({ id }) => id)).not.toContain(BigInt(label))
      expect(await readAll(path)).toEqual(rows)
    })

    test(
      'a changed or truncated file is refused, or gives the values that it contains',
      async () => {
        const bytes = readFileSync(path)
        const edits = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), {
          minLength: 1,
          maxLength: 3,
        })
        // Half of the edits are in the header.
        const inHeader = fc.array(fc.tuple(fc.nat(95), fc.nat(255)), { minLength: 1, maxLength: 3 })
        const length = fc.option(fc.nat(bytes.length + 8), { nil: bytes.length })
        let refused = 0
        const times = new ReadTimes()
        await fc.assert(
          fc.asyncProperty(fc.oneof(edits, inHeader), length, async (edits, length) => {
            const damaged = Buffer.concat([bytes, Buffer.alloc(8)]).subarray(0, length)
            for (const [at, value] of edits) if (at < damaged.length) damaged[at] = value
            writeFileSync(`${folder}/fuzzed.bin`, damaged)
            const result = await times.measure(`${folder}/fuzzed.bin`, () =>
              readAll(`${folder}/fuzzed.bin`).catch((error: unknown) => error),
            )
            if (result instanceof Error) {
              expect(result).toBeInstanceOf(SheafError)
              refused++
            } else expect(result).toEqual(oracle(damaged))
          }),
          // Three spaces together have as many files as the other formats.
          { numRuns: Math.ceil(damagedFiles / 3) },
        )
        expect(refused).toBeGreaterThan(100)
        times.print(`hnswlib, space ${space}`)
      },
      60_000 + 10 * damagedFiles,
    )
  },
)

test('an index without elements gives an empty batch with the columns', async () => {
  const batches = []
  for await (const batch of readHnswlib(`${golden}/empty.bin`)) batches.push(batch)
  expect(batches).toHaveLength(1)
  expect(batches[0]!.numRows).toBe(0)
  expect(String(batches[0]!.schema.fields[1]!.type)).toBe('FixedSizeList[2]<Float32>')
})

test('labels have 64 bits', async () => {
  const path = changed(readFileSync(`${golden}/l2.bin`), copy => {
    const labelAt = Number(copy.readBigUInt64LE(32))
    copy.writeBigUInt64LE(2n ** 64n - 1n, 96 + labelAt)
  })
  expect((await readAll(path))[0]!.id).toBe(2n ** 64n - 1n)
})

test('a label that occurs twice is refused, also in any order', async () => {
  const bytes = readFileSync(`${golden}/l2.bin`)
  const [stride, labelAt] = [Number(bytes.readBigUInt64LE(24)), Number(bytes.readBigUInt64LE(32))]
  const kept = oracle(bytes).map(({ id }) => id)
  const copyLast = (copy: Buffer) => {
    // The first and the last element that is not deleted get the same label.
    for (
      let at = 96 + labelAt;
      at < 96 + labelAt + Number(bytes.readBigUInt64LE(16)) * stride;
      at += stride
    ) {
      const label = copy.readBigUInt64LE(at)
      if (label === kept[0] || label === kept.at(-1)) copy.writeBigUInt64LE(2n ** 63n, at)
    }
  }
  expect(await failure(readAll(changed(bytes, copyLast)))).toMatchObject({
    code: 13,
    message: expect.stringContaining('the label 9223372036854775808 occurs twice'),
  })
})

test('dim and space that do not fit the file are refused', async () => {
  const wrongDim = await failure(readAll(`${golden}/l2.bin`, { dim: 5 }))
  expect(wrongDim).toMatchObject({ name: 'InvalidInput', message: expect.stringContaining('dimension 4') })
  const wrongSpace = await failure(readAll(`${golden}/l2.bin`, { space: 'cosine' }))
  expect(wrongSpace).toMatchObject({ name: 'InvalidInput', message: expect.stringContaining("'cosine'") })
  for (const options of [{ space: 'dot' }, { dim: 0 }, { dims: 4 }]) {
    expect(await failure(readAll(`${golden}/l2.bin`, options as never))).toMatchObject({
      name: 'InvalidInput',
    })
  }
})

test('a signal ends the reading', async () => {
  const signal = AbortSignal.abort()
  expect(await failure(readAll(`${golden}/l2.bin`, { signal }))).toMatchObject({ name: 'AbortError' })
})

test('a table is created from an index', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('docs', readHnswlib(`${golden}/l2.bin`, { space: 'l2', dim: 4 }))
  const [first] = oracle(readFileSync(`${golden}/l2.bin`))
  const [nearest] = await table
    .search([...first!.vector])
    .limit(1)
    .toArray()
  expect(nearest).toMatchObject({ _distance: 0 })
  expect(await table.countRows()).toBe(38)
  await ns.close()
})

describe('a folder of the HNSWLib store of LangChain', () => {
  const saved = `${golden}/langchain`
  const rowsOf = async (path: string, options = {}) => {
    const rows = []
    for await (const row of readHnswlibFolder(path, options)) rows.push(row)
    return rows
  }
  const copyWith = (file: string, content: string) => {
    cpSync(saved, `${folder}/copy`, { recursive: true })
    writeFileSync(`${folder}/copy/${file}`, content)
    return `${folder}/copy`
  }

  test('yields vectors with their documents', async () => {
    expect(await rowsOf(saved)).toEqual([
      { id: 0n, vector: new Float32Array([1, 0, 0]), text: 'first text', source: 'a.txt', page: 0 },
      { id: 1n, vector: new Float32Array([0, 1, 0]), text: 'second text', source: 'a.txt', page: 1 },
      { id: 2n, vector: new Float32Array([0, 0, 1]), text: 'third text', source: 'a.txt', page: 2 },
    ])
    expect((await rowsOf(saved, { metadata: 'json' }))[0]).toEqual({
      id: 0n,
      vector: new Float32Array([1, 0, 0]),
      text: 'first text',
      metadata: '{"source":"a.txt","page":0}',
    })
    const ns = await connect('memory://')
    const table = await ns.createTable('docs', readHnswlibFolder(saved))
    expect(await table.search([0, 1, 0]).limit(1).toArray()).toMatchObject([{ id: 1, text: 'second text' }])
    await ns.close()
  })

  test.each([
    ['args.json', '{"space":"cosine","numDimensions":4}', 'dimension 3'],
    ['args.json', '{"space":"dot","numDimensions":3}', 'space'],
    ['args.json', '[]', 'must contain an object'],
    ['args.json', '{', 'is not valid JSON'],
    ['docstore.json', '[]', 'has no document 0'],
    ['docstore.json', '{}', 'must contain an array'],
    ['docstore.json', '[["0",{"metadata":{}}]]', 'item 0'],
    ['docstore.json', '[["0",{"pageContent":"a"}],["0",{"pageContent":"b"}]]', 'twice'],
    ['docstore.json', '[["0",{"pageContent":"a","metadata":{"id":7}}]]', '"id"'],
  ])('with %s = %s is refused', async (file, content, message) => {
    const error = await failure(rowsOf(copyWith(file, content)))
    expect(error).toMatchObject({ name: 'InvalidInput', message: expect.stringContaining(message) })
  })
})
