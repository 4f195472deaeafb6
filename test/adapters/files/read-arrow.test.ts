import { mkdirSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FileSource, readArrow } from '../../../adapters/files/public.js'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { IpcFileWriter } from '../../../src/arrow/file-writer.js'
import { fromForeignArrow } from '../../../src/arrow/foreign.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { SheafError } from '../../../src/errors.js'
import { type Batches, batches, contents } from '../../support/arrow-generators.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const newRoot = temporaryRoots()
const folder = newRoot()
mkdirSync(folder)

/** With the dictionaries at the end, where a stream has none. */
function dataFile({ schema, batches: list }: Batches): Uint8Array[] {
  const writer = new IpcFileWriter(schema)
  return [...list.flatMap(batch => writer.write(batch)), ...writer.finish().chunks]
}

const formats: readonly [string, (given: Batches) => Uint8Array[]][] = [
  ['stream', given => encodeIpcStream(given.schema, given.batches)],
  ['file', given => encodeIpcFile(given.schema, given.batches)],
  ['file with its dictionaries last', dataFile],
]

function saved(bytes: Uint8Array, name = 'a.arrow'): string {
  writeFileSync(`${folder}/${name}`, bytes)
  return `${folder}/${name}`
}

function inPieces(bytes: Uint8Array, size: number): Readable {
  const count = Math.ceil(bytes.length / size)
  return Readable.from(Array.from({ length: count }, (_, i) => bytes.slice(i * size, (i + 1) * size)))
}

async function readAll(source: FileSource) {
  const found = []
  for await (const batch of readArrow(source)) found.push(...fromForeignArrow(batch)!.batches)
  return found
}

/** What apache-arrow itself loses (test/arrow/apache-arrow.test.ts). */
function isKept({ schema }: Batches): boolean {
  const text = JSON.stringify(schema)
  return !(/"kind":"struct","children":\[\]/.test(text) || /"size":0/.test(text) || /"width":0/.test(text))
}

describe.each(formats)('an Arrow %s', (_, encode) => {
  test('is read from a path, compressed or not, and from chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(batches.filter(isKept), fc.integer({ min: 1, max: 3000 }), async (given, size) => {
        const bytes = concatChunks(encode(given))
        const full = given.batches.filter(batch => batch.length > 0).map(contents)
        for (const source of [saved(bytes), saved(gzipSync(bytes), 'a.arrow.gz'), inPieces(bytes, size)]) {
          const found = await readAll(source)
          expect(found[0]!.schema).toEqual(given.schema)
          expect(found.filter(batch => batch.length > 0).map(contents)).toEqual(full)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('a damaged file is refused, or read', async () => {
    await fc.assert(
      fc.asyncProperty(batches.filter(isKept), fc.nat(), fc.nat(255), async (given, at, byte) => {
        const bytes = concatChunks(encode(given))
        const cut = bytes.slice(0, at % bytes.length)
        bytes[at % bytes.length] = byte
        for (const damaged of [bytes, cut]) {
          const error = await readAll(saved(damaged)).then(
            () => null,
            (thrown: unknown) => thrown,
          )
          if (error !== null) expect(error).toBeInstanceOf(SheafError)
        }
      }),
      { numRuns: 300 },
    )
  })
})

test('the reader holds one batch at a time', async () => {
  const schema = { fields: [{ name: 'x', type: { kind: 'utf8', large: false }, nullable: true }] } as const
  const batch = rowsToBatch(
    Array.from({ length: 1000 }, () => ({ x: 'y'.repeat(1000) })),
    schema,
  )
  let given = 0
  async function* chunks() {
    for (const chunk of encodeIpcStream(schema, Array<typeof batch>(50).fill(batch))) {
      given += chunk.length
      yield chunk
    }
  }
  let seen = 0
  for await (const { numRows } of readArrow(chunks())) {
    seen += numRows * 1000
    expect(given).toBeLessThan(seen + 1_100_000)
  }
  expect(seen).toBe(50_000_000)
})

test('the reader stops at the abort signal', async () => {
  const schema = { fields: [{ name: 'x', type: { kind: 'bool' }, nullable: true }] } as const
  const batch = rowsToBatch([{ x: true }], schema)
  const controller = new AbortController()
  const reason = new Error('enough')
  const read = async () => {
    const path = saved(concatChunks(encodeIpcFile(schema, [batch, batch])))
    for await (const _ of readArrow(path, { signal: controller.signal })) controller.abort(reason)
  }
  expect(await failure(read())).toBe(reason)
})
