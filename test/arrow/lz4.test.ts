import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeLz4Frame as lz4Steps } from '../../src/arrow/lz4.js'
import { runAtOnce } from '../../src/arrow/steps.js'
import { xxh32 } from '../../src/arrow/xxh32.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { encodeLz4Frame } from '../support/arrow-lz4.js'

const decodeLz4Frame = (frame: Uint8Array, length: number, at: number): Uint8Array =>
  runAtOnce(lz4Steps(frame, length, at))
const ascii = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'latin1'))

/** Bytes that repeat, near and far, as columns do. */
const repetitive = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 60 })), {
    maxLength: 12,
  })
  .map(parts =>
    Uint8Array.from(parts.flatMap(([part, times]) => Array.from({ length: times }, () => [...part]).flat())),
  )

describe('xxh32', () => {
  test.each([
    ['', 0x02cc5d05],
    ['a', 0x550d7456],
    ['abc', 0x32d153ff],
    ['Nobody inspects the spammish repetition', 0xe2293b2f],
  ])('of %j is the published one', (text, hash) => {
    expect(xxh32(ascii(text))).toBe(hash)
  })
})

describe('an lz4 frame', () => {
  test('decodes to what was encoded, with every option of the format', () => {
    const options = fc.record({
      independent: fc.boolean(),
      blockChecksum: fc.boolean(),
      contentChecksum: fc.boolean(),
      contentSize: fc.boolean(),
      stored: fc.boolean(),
      blockBytes: fc.constantFrom(500, 5000, 1 << 16),
    })
    fc.assert(
      fc.property(repetitive, options, (plain, given) => {
        const frame = encodeLz4Frame(plain, given)
        expect(Buffer.compare(decodeLz4Frame(frame, plain.length, 0), plain)).toBe(0)
      }),
      { numRuns: 100 },
    )
  })

  test('that announces more than it can hold is refused before memory is taken', () => {
    const frame = encodeLz4Frame(new Uint8Array(1000))
    const before = process.memoryUsage().arrayBuffers
    expect(() => decodeLz4Frame(frame, 2 ** 40, 0)).toThrow(
      /cannot decode to the 1099511627776 bytes that were announced/,
    )
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20)
  })

  test('never writes past the length announced', () => {
    const frame = encodeLz4Frame(new Uint8Array(1000))
    expect(() => decodeLz4Frame(frame, 999, 0)).toThrow(/sequence reaches outside/)
    expect(() => decodeLz4Frame(frame, 1001, 0)).toThrow(/decodes to 1000 bytes, but 1001 were announced/)
  })

  test('with a checksum that differs is refused, naming the byte', () => {
    const plain = ascii('abcdefghijklmnopqrstuvwxyz'.repeat(9))
    for (const option of ['blockChecksum', 'contentChecksum'] as const) {
      const frame = encodeLz4Frame(plain, { [option]: true, stored: true })
      frame[20]! ^= 1
      const words =
        option === 'blockChecksum' ? /checksum of a block is wrong/ : /checksum of its content is wrong/
      expect(() => decodeLz4Frame(frame, plain.length, 100)).toThrow(words)
    }
    const frame = encodeLz4Frame(plain)
    frame[6]! ^= 1
    expect(() => decodeLz4Frame(frame, plain.length, 100)).toThrow(
      /checksum of its header is wrong \(byte 106\)/,
    )
  })

  test('that needs a preset dictionary is not supported', () => {
    const frame = encodeLz4Frame(ascii('abc'))
    frame[4]! |= 1
    expect(() => decodeLz4Frame(frame, 3, 0)).toThrow(
      expect.objectContaining({ code: ErrorCode.Unsupported }),
    )
  })

  test('independent blocks do not reach into the block before', () => {
    const plain = ascii('0123456789abcdef'.repeat(8))
    const frame = encodeLz4Frame(plain, { blockBytes: 64 })
    // The same blocks under a header that says they are independent.
    const flags = frame[4]! | 0x20
    frame[4] = flags
    frame[6] = (xxh32(Uint8Array.of(flags, frame[5]!)) >>> 8) & 0xff
    expect(() => decodeLz4Frame(frame, plain.length, 0)).toThrow(/sequence reaches outside its block/)
  })

  test('cut or changed anywhere never does worse than a SheafError', () => {
    const plain = ascii('the quick brown fox '.repeat(20))
    const frame = encodeLz4Frame(plain, { contentChecksum: true })
    const survives = (bytes: Uint8Array): void => {
      try {
        expect(decodeLz4Frame(bytes, plain.length, 0)).toHaveLength(plain.length)
      } catch (error) {
        expect(error).toBeInstanceOf(SheafError)
      }
    }
    for (let at = 0; at < frame.length; at++) {
      survives(frame.subarray(0, at))
      for (let value = 0; value < 256; value += 15) {
        const changed = frame.slice()
        changed[at] = value
        survives(changed)
      }
    }
  })
})
