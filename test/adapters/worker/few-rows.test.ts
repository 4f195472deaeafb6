import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fewRows, replyOf } from '../../../adapters/worker/few-rows.js'
import type { Batch, Column, Values } from '../../../src/arrow/column.js'
import { concatChunks } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { ReadRows } from '../../../src/client/arrow-rows.js'
import type { ArrowReply } from '../../../src/protocol/calls.js'
import { batches } from '../../support/arrow-generators.js'

/** The file of a reply, or why there is none: batches together may have more distinct values than their indices can name. */
function fileOf(reply: ArrowReply): string {
  try {
    return Buffer.from(concatChunks(reply.chunks)).toString('base64')
  } catch (error) {
    return String(error)
  }
}

/** The same rows in views of memory in common, which goes on behind them. */
function asKept(column: Column): Column {
  return {
    ...column,
    validity: column.validity && viewed(column.validity),
    values: column.values && viewed(column.values),
    offsets: column.offsets && viewed(column.offsets),
    children: column.children.map(asKept),
  }
}

function viewed<V extends Values>(values: V): V {
  const width = values.BYTES_PER_ELEMENT
  const memory = new SharedArrayBuffer(values.byteLength + 9 * width)
  new Uint8Array(memory).fill(0x55)
  const View = values.constructor as new (memory: SharedArrayBuffer, at: number, length: number) => V
  const view = new View(memory, 2 * width, values.length + 3)
  view.set(values as never)
  return view
}

/** All memory behind some columns, each once. */
function memoryOf(columns: readonly Column[], found = new Set<ArrayBufferLike>()): Set<ArrayBufferLike> {
  for (const { validity, values, offsets, children, dictionary } of columns) {
    for (const view of [validity, values, offsets]) if (view !== null) found.add(view.buffer)
    memoryOf(dictionary === null ? children : [...children, dictionary], found)
  }
  return found
}

test('A-076 cloned rows give the same file, of any type', () => {
  fc.assert(
    fc.property(batches, ({ schema, batches: list }) => {
      const kept = list.map((batch): Batch => ({ ...batch, columns: batch.columns.map(asKept) }))
      const rows = structuredClone(fewRows(new ReadRows(7, schema, kept))!)
      const reply = replyOf(rows)
      expect(reply.version).toBe(7)
      expect(fileOf(reply)).toBe(fileOf(new ReadRows(7, schema, list)))
    }),
    { numRuns: 150 },
  )
})

test('columns cut out of large ones are cloned without the rest of their buffers', () => {
  const { schema, columns } = rowsToBatch(
    Array.from({ length: 5000 }, (_, id) => ({
      id,
      name: `n${id}`,
      v: Float32Array.of(id, 1),
      odd: id % 2 === 1,
    })),
  )
  const first = columns.map((column): Column => {
    return { ...column, length: 3, children: column.children.map(child => ({ ...child, length: 6 })) }
  })
  const rows = fewRows(new ReadRows(1, schema, [{ schema, length: 3, columns: first }]))!
  let bytes = 0
  for (const memory of memoryOf(rows.batches[0]!.columns)) bytes += memory.byteLength
  expect(bytes).toBeLessThan(500)
})

test('batches keep their common dictionary, and a long dictionary makes an answer long', () => {
  const dictionary = rowsToBatch([{ v: 'a' }, { v: 'b' }]).columns[0]!
  const index = { kind: 'int', bits: 8, signed: true } as const
  const type = { kind: 'dictionary', index, value: dictionary.type, ordered: false } as const
  const schema = { fields: [{ name: 'd', type, nullable: true }] }
  const of = (values: Column): Batch => {
    const row = { type, length: 1, nullCount: 0, validity: null, offsets: null, children: [] }
    return { schema, length: 1, columns: [{ ...row, values: new Int8Array(1), dictionary: values }] }
  }
  const { batches } = structuredClone(fewRows(new ReadRows(1, schema, [of(dictionary), of(dictionary)]))!)
  expect(batches[0]!.columns[0]!.dictionary).not.toBeNull()
  expect(batches[1]!.columns[0]!.dictionary).toBe(batches[0]!.columns[0]!.dictionary)

  const long = rowsToBatch([{ v: 'x'.repeat(32 * 1024) }]).columns[0]!
  expect(fewRows(new ReadRows(1, schema, [of(long)]))).toBeNull()
})

test('an answer of bytes stays bytes', () => {
  expect(fewRows({ version: 1, chunks: [new Uint8Array(8)] })).toBeNull()
})
