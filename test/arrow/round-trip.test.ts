import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch, Column } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { decodeIpcStream } from '../../src/arrow/decode-stream.js'
import { concatChunks, encodeIpcFile, encodeIpcStream, IpcStreamWriter } from '../../src/arrow/encode-ipc.js'
import type { DictionaryRange } from '../../src/arrow/file-layout.js'
import { assembleColumn, type FileLayout, parseFileFooter } from '../../src/arrow/file-reader.js'
import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { decodeBatch, encodeBatch } from '../../src/arrow/inline-batch.js'
import { runAtOnce } from '../../src/arrow/steps.js'
import { type Batches, batches, contents } from '../support/arrow-generators.js'

const runs = { numRuns: 300 }

/** Dictionaries may outgrow a narrow index type when batches are joined: that is an error of its own. */
function fits(make: () => Uint8Array[]): Uint8Array | null {
  try {
    return concatChunks(make())
  } catch (error) {
    if (/does not fit its u?int8 indices/.test(String(error))) return null
    throw error
  }
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
}

function write({ schema, batches: list }: Batches): { file: Uint8Array; footerCrc: number } {
  const writer = new IpcFileWriter(schema)
  const chunks = list.flatMap(batch => writer.write(batch))
  const finished = writer.finish()
  const file = concatChunks([...chunks, ...finished.chunks])
  expect(file.length).toBe(finished.bytes)
  return { file, footerCrc: finished.footerCrc }
}

describe('every schema and batch', () => {
  test('comes back from a stream and a file', () => {
    fc.assert(
      fc.property(batches, ({ schema, batches: list }) => {
        for (const encode of [encodeIpcStream, encodeIpcFile]) {
          const bytes = fits(() => encode(schema, list))
          if (bytes === null) continue
          const decoded = decodeIpc(bytes)
          expect(decoded.schema).toEqual(schema)
          expect(decoded.batches.map(batch => batch.length)).toEqual(list.map(batch => batch.length))
          expect(decoded.batches.map(contents)).toEqual(list.map(contents))
        }
      }),
      runs,
    )
  })

  test('comes back from a stream written batch by batch', () => {
    fc.assert(
      fc.property(batches, ({ schema, batches: list }) => {
        const writer = new IpcStreamWriter(schema)
        const chunks = list.flatMap(batch => writer.write(batch))
        const decoded = decodeIpc(concatChunks([...chunks, ...writer.finish()]))
        expect(decoded.schema).toEqual(schema)
        expect(decoded.batches.map(contents)).toEqual(list.map(contents))
      }),
      runs,
    )
  })

  test('is written joined as if it were one batch', () => {
    fc.assert(
      fc.property(batches, ({ schema, batches: list }) => {
        fc.pre(list.length > 0)
        const written = (write: (writer: IpcFileWriter) => Uint8Array[]) =>
          fits(() => {
            const writer = new IpcFileWriter(schema)
            return [...write(writer), ...writer.finish().chunks]
          })
        const joined = written(writer => runAtOnce(writer.writeJoined(list)))
        expect(joined).toEqual(written(writer => writer.write(concatBatches(list))))
      }),
      runs,
    )
  })

  test('comes back from chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches,
        fc.integer({ min: 1, max: 3000 }),
        async ({ schema, batches: list }, size) => {
          for (const encode of [encodeIpcStream, encodeIpcFile]) {
            const bytes = fits(() => encode(schema, list))
            if (bytes === null) continue
            const decoded = await decodeIpcStream(pieces(bytes, size))
            expect(decoded.schema).toEqual(schema)
            const read: Batch[] = []
            for await (const batch of decoded.batches) read.push(batch)
            expect(read.map(contents)).toEqual(list.map(contents))
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  test('comes back from an inline batch, wherever it lies in memory', () => {
    fc.assert(
      fc.property(batches, fc.nat(9), ({ schema, batches: list }, shift) => {
        for (const batch of list) {
          const bytes = encodeBatch(batch)
          const shifted = new Uint8Array(bytes.length + shift).subarray(shift)
          shifted.set(bytes)
          const decoded = decodeBatch(shifted, schema)
          expect(decoded.length).toBe(batch.length)
          expect(contents(decoded)).toEqual(contents(batch))
        }
      }),
      runs,
    )
  })

  test('encodes to the same bytes again after it was decoded', () => {
    fc.assert(
      fc.property(batches, ({ schema, batches: list }) => {
        const bytes = fits(() => encodeIpcFile(schema, list))
        if (bytes === null) return
        const again = concatChunks(encodeIpcFile(schema, decodeIpc(bytes).batches))
        expect(Buffer.compare(bytes, again)).toBe(0)
      }),
      runs,
    )
  })

  test('comes back from a data file, column by column', () => {
    fc.assert(
      fc.property(batches, given => {
        const bytes = fits(() => encodeIpcFile(given.schema, given.batches))
        if (bytes === null) return
        const { file, footerCrc } = write(given)
        const layout = readFooter(file, footerCrc)
        expect(layout.schema).toEqual(given.schema)
        expect(layout.batches.map(batch => batch.length)).toEqual(given.batches.map(batch => batch.length))
        const read = layout.batches.map(batch =>
          batch.columns.map((range, i) => {
            const dictionaries = readDictionaries(file, range.dictionaries)
            const bytesOf = file.slice(range.start, range.start + range.bytes)
            return assembleColumn(given.schema.fields[i]!, range, bytesOf, { dictionaries })
          }),
        )
        const readContents = read.map((columns, i) =>
          contents({ schema: given.schema, length: layout.batches[i]!.length, columns }),
        )
        expect(readContents).toEqual(given.batches.map(contents))
        expect(decodeIpc(file).batches.map(contents)).toEqual(given.batches.map(contents))
      }),
      runs,
    )
  })
})

function readFooter(file: Uint8Array, footerCrc: number): FileLayout {
  let tail = 10
  for (;;) {
    const layout = parseFileFooter(file.subarray(file.length - tail), file.length, footerCrc)
    if (!('need' in layout)) return layout
    expect(layout.need).toBeGreaterThan(tail)
    tail = layout.need
  }
}

function readDictionaries(file: Uint8Array, ranges: readonly DictionaryRange[]): Map<number, Column> {
  const out = new Map<number, Column>()
  for (const { id, field, range } of ranges) {
    const bytes = file.slice(range.start, range.start + range.bytes)
    out.set(id, assembleColumn(field, range, bytes, { dictionaries: out }))
  }
  return out
}
