/** Compressed bodies are read back as what was compressed. */
import zlib from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compressorOf } from '../../src/arrow/compress.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile } from '../../src/arrow/encode-ipc.js'
import { encodeLz4Frame } from '../../src/arrow/encode-lz4.js'
import type { Codec } from '../../src/arrow/ipc-message.js'
import { decodeLz4Frame } from '../../src/arrow/lz4.js'
import { recodeIpcFile } from '../../src/arrow/recode-ipc.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { runAtOnce } from '../../src/arrow/steps.js'
import { writesZstd } from '../../src/arrow/zstd.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { seededRandom } from '../../src/primitives/seeded-random.js'
import { type Batches, batches, contents } from '../support/arrow-generators.js'

const codecs: readonly Codec[] = writesZstd ? ['lz4', 'zstd'] : ['lz4']

/** A file as it comes from a table, cut into chunks of `size` bytes. */
async function recoded(
  file: Uint8Array,
  codec: Codec,
  form: 'file' | 'stream',
  size: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < file.length; at += size) chunks.push(file.subarray(at, at + size))
  const out: Uint8Array[] = []
  const compress = compressorOf(codec, new Pacer())
  for await (const chunk of recodeIpcFile(chunks, { codec, compress, form })) out.push(chunk)
  return concatChunks(out)
}

describe('an lz4 frame', () => {
  const bytesOf = (kind: number, length: number, seed: number) => {
    const random = seededRandom(seed)
    return Uint8Array.from(
      { length },
      (_, i) => [random() * 256, random() * 4, i % 7, (i >> 5) * 31, 0][kind]!,
    )
  }

  test('decodes to what was encoded', () => {
    const length = fc.oneof(fc.nat(40), fc.nat(300_000))
    fc.assert(
      fc.property(fc.nat(4), length, fc.nat(), (kind, bytes, seed) => {
        const plain = bytesOf(kind, bytes, seed)
        const frame = runAtOnce(encodeLz4Frame(plain, Number.POSITIVE_INFINITY))!
        expect(Buffer.compare(runAtOnce(decodeLz4Frame(frame, bytes, 0)), plain)).toBe(0)
      }),
      { numRuns: 150 },
    )
  })

  test('of several blocks decodes, and random bytes give no frame', () => {
    const plain = bytesOf(3, (5 << 20) + 3, 1)
    const frame = runAtOnce(encodeLz4Frame(plain, plain.length))!
    expect(frame.length).toBeLessThan(plain.length / 10)
    expect(Buffer.compare(runAtOnce(decodeLz4Frame(frame, plain.length, 0)), plain)).toBe(0)
    const noise = bytesOf(0, 100_000, 1)
    expect(runAtOnce(encodeLz4Frame(noise, noise.length))).toBeNull()
  })
})

describe.each(codecs)('a file in %s', codec => {
  test('has the schema and the rows of the plain one, as a file and as a stream, however its bytes are cut', async () => {
    const size = fc.integer({ min: 1, max: 5000 })
    const check = async ({ schema, batches: list }: Batches, cut: number) => {
      let file: Uint8Array
      try {
        file = concatChunks(encodeIpcFile(schema, list))
      } catch (error) {
        if (/does not fit its u?int8 indices/.test(String(error))) return
        throw error
      }
      for (const form of ['file', 'stream'] as const) {
        const decoded = decodeIpc(await recoded(file, codec, form, cut))
        expect(decoded.schema).toEqual(schema)
        expect(decoded.batches.map(contents)).toEqual(list.map(contents))
      }
    }
    await fc.assert(fc.asyncProperty(batches, size, check), { numRuns: 60 })
  })

  test('is shorter where values repeat, and hardly longer where they do not', async () => {
    const random = seededRandom(1)
    const batch = rowsToBatch(
      Array.from({ length: 20_000 }, (_, id) => ({
        id,
        word: ['red', 'green', 'blue'][id % 3],
        noise: random(),
      })),
    )
    const file = concatChunks(encodeIpcFile(batch.schema, [batch]))
    const packed = await recoded(file, codec, 'file', 1 << 16)
    expect(packed.length).toBeLessThan(file.length * 0.7)
    const noise = rowsToBatch(Array.from({ length: 20_000 }, () => ({ noise: random() })))
    const noisy = concatChunks(encodeIpcFile(noise.schema, [noise]))
    expect((await recoded(noisy, codec, 'file', 1 << 16)).length).toBeLessThan(noisy.length * 1.01)
  })
})

test('columns and replies compressed at the same time share one time slice per turn of the event loop', async () => {
  let now = 0
  let pausing = 0
  let most = 0
  const clock = {
    ...systemClock,
    elapsed: () => (now += 10),
    async yield() {
      most = Math.max(most, ++pausing)
      await systemClock.yield()
      pausing--
    },
  }
  const rows = Array.from({ length: 9000 }, (_, id) => ({ id, word: 'red', part: BigInt(id % 7) }))
  const batch = rowsToBatch(rows)
  const file = encodeIpcFile(batch.schema, [batch])
  const replies = Array.from({ length: 4 }, async () => {
    const compress = compressorOf('lz4', new Pacer(undefined, clock))
    for await (const _ of recodeIpcFile(file, { codec: 'lz4', compress, form: 'file' }));
  })
  await Promise.all(replies)
  expect(most).toBe(1)
})

test('without batches is a file, too', async () => {
  const { schema } = rowsToBatch([{ a: 1 }])
  const file = concatChunks(encodeIpcFile(schema, []))
  expect(decodeIpc(await recoded(file, 'lz4', 'file', 100)).batches).toEqual([])
  expect(decodeIpc(await recoded(file, 'lz4', 'stream', 100))).toMatchObject({ schema, batches: [] })
})

test('Node that has Zstandard writes it', () => {
  expect(writesZstd).toBe('zstdCompress' in zlib)
})
