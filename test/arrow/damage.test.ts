import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { decodeIpcStream } from '../../src/arrow/decode-stream.js'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import { parseFileFooter } from '../../src/arrow/file-reader.js'
import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { decodeBatch, encodeBatch } from '../../src/arrow/inline-batch.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { Field, Schema } from '../../src/arrow/types.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { contents } from '../support/arrow-generators.js'
import { shortTraces } from '../support/traces.js'

shortTraces()

const fields: Field[] = [
  { name: 'id', nullable: false, type: { kind: 'int', bits: 64, signed: true } },
  { name: 'text', nullable: true, type: { kind: 'utf8', large: true }, metadata: { a: 'b' } },
  {
    name: 'tags',
    nullable: true,
    type: {
      kind: 'list',
      large: false,
      child: {
        name: 'item',
        nullable: true,
        type: {
          kind: 'dictionary',
          index: { kind: 'int', bits: 8, signed: true },
          value: { kind: 'utf8', large: false },
          ordered: false,
        },
      },
    },
  },
  {
    name: 'vector',
    nullable: true,
    type: {
      kind: 'fixed_size_list',
      size: 3,
      child: { name: 'item', nullable: true, type: { kind: 'float', bits: 32 } },
    },
  },
  {
    name: 'place',
    nullable: true,
    type: {
      kind: 'struct',
      children: [
        { name: 'lat', nullable: true, type: { kind: 'float', bits: 64 } },
        { name: 'ok', nullable: true, type: { kind: 'bool' } },
        { name: 'nothing', nullable: true, type: { kind: 'null' } },
      ],
    },
  },
]
const schema: Schema = { fields, metadata: { k: 'v' } }
const batch = rowsToBatch(
  [
    { id: 1n, text: 'héllo', tags: ['a', 'b'], vector: [1, 2, 3], place: { lat: 1.5, ok: true } },
    { id: 2n, text: null, tags: null, vector: null, place: null },
    { id: 3n, text: 'x', tags: [null, 'a', 'c'], vector: [4, 5, 6], place: { lat: null, ok: false } },
  ],
  schema,
)
const stream = concatChunks(encodeIpcStream(schema, [batch, batch]))
const file = concatChunks(encodeIpcFile(schema, [batch, batch]))

async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
}

/** Decodes and reads everything: only a SheafError may come out of it, and no lasting work go in. */
async function survives(bytes: Uint8Array): Promise<'read' | 'refused'> {
  const outcomes = [
    await outcomeOf(async () => decodeIpc(bytes, { maxBytes: 1 << 20 }).batches),
    await outcomeOf(async () => {
      const read: Batch[] = []
      const decoded = await decodeIpcStream(chunks(bytes), { maxBytes: 1 << 20 })
      for await (const part of decoded.batches) read.push(part)
      return read
    }),
  ]
  return outcomes.every(outcome => outcome === 'read') ? 'read' : 'refused'
}

async function outcomeOf(run: () => Promise<readonly Batch[]>): Promise<'read' | 'refused'> {
  try {
    for (const part of await run()) if (part.length < 1000) contents(part)
    return 'read'
  } catch (error) {
    if (error instanceof SheafError) return 'refused'
    throw error
  }
}

describe('external input', () => {
  test('cut off at any byte is refused, unless the cut is between two messages', async () => {
    for (const whole of [stream, file]) {
      let read = 0
      for (let length = 0; length < whole.length; length++) {
        if ((await survives(whole.subarray(0, length))) === 'read') read++
      }
      // A stream may end without its end mark: after the schema, the dictionary, and each batch.
      expect(read).toBe(whole === stream ? 4 : 0)
    }
  })

  test('with any single byte changed never does worse than a SheafError', async () => {
    for (const encode of [encodeIpcStream, encodeIpcFile]) {
      const whole = concatChunks(encode(schema, [batch]))
      for (let at = 0; at < whole.length; at++) {
        for (const value of [0xff, whole[at]! ^ 1]) {
          const changed = whole.slice()
          changed[at] = value
          await survives(changed)
        }
      }
    }
  })

  test('with many bytes changed never does worse than a SheafError', async () => {
    const edits = fc.array(fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(0, 1, 8, 0x7f, 0xff), fc.nat(255))), {
      minLength: 1,
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(fc.boolean(), edits, async (asFile, list) => {
        const changed = (asFile ? file : stream).slice()
        for (const [at, value] of list) changed[at % changed.length] = value
        await survives(changed)
      }),
      { numRuns: 1000 },
    )
  })

  test('and rows inline with any byte changed are read, or refused as corrupted', () => {
    const inline = encodeBatch(batch)
    for (let at = 0; at < inline.length; at++) {
      for (const value of [0, 0xff, inline[at]! ^ 1]) {
        const changed = inline.slice()
        changed[at] = value
        try {
          contents(decodeBatch(changed, schema))
        } catch (error) {
          expect(error).toMatchObject({ code: ErrorCode.Internal })
        }
      }
    }
  })

  test('and a footer with any byte changed is read, or refused as corrupted', () => {
    const writer = new IpcFileWriter(schema)
    const chunks = writer.write(batch)
    const rest = writer.finish()
    const whole = concatChunks([...chunks, ...rest.chunks])
    const footer = whole.length - rest.chunks.at(-1)!.length
    const corrupted = expect.objectContaining({ code: ErrorCode.Internal })
    for (let at = footer; at < whole.length; at++) {
      for (const value of [0, 0xff, whole[at]! ^ 1]) {
        if (value === whole[at]) continue
        const changed = whole.slice()
        changed[at] = value
        try {
          parseFileFooter(changed, changed.length)
        } catch (error) {
          expect(error).toEqual(corrupted)
        }
        expect(() => parseFileFooter(changed, changed.length, rest.footerCrc)).toThrow(corrupted)
      }
    }
  })

  test('of random bytes never does worse than a SheafError', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (bytes, headed) => {
        const head = headed ? [0xff, 0xff, 0xff, 0xff, bytes.length, 0, 0, 0] : [...Buffer.from('ARROW1\0\0')]
        await survives(Uint8Array.from([...head, ...bytes]))
        await survives(bytes)
      }),
      { numRuns: 1000 },
    )
  })
})
