import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SlotHeader } from '../../src/commit/machine.js'
import {
  decodeGenesis,
  decodeSlot,
  encodeGenesis,
  encodeMovedGenesis,
  encodeSlot,
} from '../../src/commit/slot.js'
import { SheafError } from '../../src/errors.js'

const none = new Set<string>()
const header: Omit<SlotHeader, 'f' | 'blobs'> = {
  need: [],
  slot: 7,
  prev: '9ac1f00d',
  by: 'writer',
  ts: 1_763_680_000_123,
  entries: [{ txn: 'a', req: [], ops: [{ op: 'x' }] }],
}

function encode(over: Partial<SlotHeader> = {}, blobs: readonly Uint8Array[] = []) {
  const full = { ...header, ...over }
  return encodeSlot(
    full,
    full.entries.map(entry => JSON.stringify(entry)),
    blobs,
  )
}

/** A file around any header line, written from the description of the format alone. */
function file(
  line: string,
  blobs = new Uint8Array(0),
  change: (trailer: Buffer) => void = () => {},
): Uint8Array {
  const trailer = Buffer.alloc(24)
  trailer.writeUInt32LE(Buffer.byteLength(line), 4)
  trailer.writeBigUInt64LE(BigInt(Buffer.byteLength(line) + blobs.length + 24), 8)
  trailer.write('SHEAFLG1', 16, 'latin1')
  change(trailer)
  const body = Buffer.concat([Buffer.from(line), blobs])
  trailer.writeUInt32LE(crc32(Buffer.concat([body, trailer.subarray(4)])), 0)
  return Buffer.concat([body, trailer])
}

function errorOf(run: () => unknown): SheafError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(SheafError)
    return error as SheafError
  }
  expect.unreachable('nothing was thrown')
}

describe('a slot', () => {
  test('is one line of JSON, blobs and a trailer', () => {
    const { bytes, slot } = encode()
    const line =
      '{"f":1,"need":[],"slot":7,"prev":"9ac1f00d","by":"writer","ts":1763680000123,"blobs":[],' +
      '"entries":[{"txn":"a","req":[],"ops":[{"op":"x"}]}]}\n'
    expect(Buffer.compare(bytes, file(line))).toBe(0)
    expect(slot.crc).toBe(Buffer.from(bytes).readUInt32LE(bytes.length - 24))
  })

  test('with blobs has them back to back from a multiple of 8 on', () => {
    const { bytes, slot } = encode({}, [Uint8Array.of(1, 2, 3), new Uint8Array(0), Uint8Array.of(4)])
    expect(slot.header.blobs).toEqual([
      [0, 3],
      [3, 0],
      [3, 1],
    ])
    const headerBytes = Buffer.from(bytes).readUInt32LE(bytes.length - 20)
    expect(headerBytes % 8).toBe(0)
    expect([...bytes.subarray(headerBytes, -24)]).toEqual([1, 2, 3, 4])
    expect(slot.blob(0).byteOffset % 8).toBe(0)
  })

  test('is read back as it was written', () => {
    const entry = fc.record({
      txn: fc.uuid(),
      req: fc.array(fc.jsonValue(), { maxLength: 2 }),
      ops: fc.array(fc.jsonValue(), { maxLength: 3 }),
    })
    const entries = fc.array(entry, { minLength: 1, maxLength: 4 })
    const blobs = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 })
    fc.assert(
      fc.property(
        entries,
        blobs,
        fc.maxSafeNat(),
        fc.string({ unit: 'binary' }),
        (entries, blobs, slot, by) => {
          const plain = JSON.parse(JSON.stringify(entries)) as SlotHeader['entries']
          const written = encode({ slot, by, entries: plain }, blobs)
          const read = decodeSlot(written.bytes, slot, none)
          expect(read.header).toEqual(JSON.parse(JSON.stringify(written.slot.header)))
          expect(read.crc).toBe(written.slot.crc)
          for (const [i, blob] of blobs.entries()) {
            expect(read.blob(i)).toEqual(blob)
            expect(written.slot.blob(i)).toEqual(blob)
          }
        },
      ),
    )
  })

  test('does not care where in a buffer it lies', () => {
    const { bytes } = encode({}, [Uint8Array.of(1, 2)])
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    expect([...decodeSlot(shifted.subarray(3), 7, none).blob(0)]).toEqual([1, 2])
  })

  test('cut anywhere is reported by its number', () => {
    const { bytes } = encode({}, [Uint8Array.of(1, 2, 3, 4, 5)])
    for (let length = 0; length < bytes.length; length++) {
      const error = errorOf(() => decodeSlot(bytes.subarray(0, length), 7, none))
      expect(error).toMatchObject({ code: 18, message: expect.stringMatching(/^slot 7 is torn/) })
    }
  })

  test('with more behind it is reported', () => {
    const longer = Buffer.concat([encode().bytes, Buffer.alloc(1)])
    expect(errorOf(() => decodeSlot(longer, 7, none)).message).toMatch(/^slot 7 is torn or foreign/)
  })

  test('with any bit flipped is reported by its number', () => {
    const { bytes } = encode({}, [Uint8Array.of(1, 2, 3, 4, 5)])
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      const error = errorOf(() => decodeSlot(flipped, 7, none))
      expect(error, `bit ${bit}`).toMatchObject({ code: 18, message: expect.stringMatching(/^slot 7 is /) })
    }
  })

  test('under another number is refused', () => {
    expect(errorOf(() => decodeSlot(encode().bytes, 8, none))).toMatchObject({
      code: 18,
      message: 'slot 8 has the wrong number: its header is that of slot 7',
    })
  })

  test('of an unknown format or with an unknown need was written by a newer Sheaf', () => {
    const newer = { code: 0, message: expect.stringContaining('slot 7 was written by a newer Sheaf') }
    expect(errorOf(() => decodeSlot(file('{"f":2,"entries":"other"}\n'), 7, none))).toMatchObject(newer)
    const needy = encode({ need: ['moon', 'sun'] }).bytes
    expect(errorOf(() => decodeSlot(needy, 7, new Set(['sun'])))).toMatchObject({
      ...newer,
      message: expect.stringContaining('the feature "moon"'),
    })
    expect(decodeSlot(needy, 7, new Set(['sun', 'moon'])).header.need).toEqual(['moon', 'sun'])
  })

  test.each([
    ['f', { f: '1' }],
    ['need', { need: null }],
    ['slot', { slot: -7 }],
    ['prev', { prev: '9AC1F00D' }],
    ['by', { by: 5 }],
    ['ts', { ts: 1.5 }],
    ['blobs', { blobs: [[0, 5]] }],
    ['blobs', { blobs: [[0, 3]] }],
    ['blobs', { blobs: [[1, 3]] }],
    [
      'blobs',
      {
        blobs: [
          [0, -4],
          [-4, 8],
        ],
      },
    ],
    ['blobs', { blobs: [[0, 4, 0]] }],
    ['blobs', { blobs: { 0: [0, 4] } }],
    ['entries', { entries: [] }],
    ['entries', { entries: [{ txn: 1, req: [], ops: [] }] }],
    ['entries', { entries: [{ txn: 'a', ops: [] }] }],
    ['entries', { entries: [{ txn: 'a', req: [], ops: {} }] }],
    ['entries', { entries: [null] }],
  ])('whose header has a bad %s (%j) is damaged, checksum or not', (field, change) => {
    const good = { f: 1, ...header, blobs: [[0, 4]] }
    const blobs = new Uint8Array(4)
    decodeSlot(file(`${JSON.stringify(good)}\n`, blobs), 7, none)
    const bad = file(`${JSON.stringify({ ...good, ...change })}\n`, blobs)
    expect(errorOf(() => decodeSlot(bad, 7, none))).toMatchObject({
      code: 18,
      message: `slot 7 is damaged: its header has no valid "${field}"`,
    })
  })

  test('whose header has a wrong position or content is damaged', () => {
    const line = `${JSON.stringify({ f: 1, ...header, blobs: [] })}\n`
    const bad = [
      file(line.trimEnd()),
      file(line, new Uint8Array(0), trailer => trailer.writeUInt32LE(0, 4)),
      file(line, new Uint8Array(0), trailer => trailer.writeUInt32LE(0xffffffff, 4)),
      file('{"f":1,\n'),
      file('[]\n'),
      file('null\n'),
      file(`"${'['.repeat(100_000)}"\n`),
      file(`${'['.repeat(100_000)}\n`),
    ]
    for (const bytes of bad)
      expect(errorOf(() => decodeSlot(bytes, 7, none)).message).toMatch(/^slot 7 is damaged/)
    const notText = Buffer.from(line)
    notText[20] = 0xff
    expect(errorOf(() => decodeSlot(file(notText.toString('latin1')), 7, none)).code).toBe(18)
  })

  test('of any bytes decodes or is reported as damaged', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.jsonValue(), (bytes, value) => {
        expect(errorOf(() => decodeSlot(bytes, 7, none)).code).toBe(18)
        expect([0, 18]).toContain(errorOf(() => decodeSlot(file(`${JSON.stringify(value)}\n`), 7, none)).code)
      }),
    )
  })
})

describe('slot 0', () => {
  const genesis = { root: '0b0e7f4e-8c51-4d8a-9a52-1f6f4f3f2a10', format: 1 } as const

  test('says which root this is', () => {
    const bytes = encodeGenesis(genesis, 1_763_680_000_123)
    const line = `{"f":1,"need":[],"ts":1763680000123,"genesis":{"root":"${genesis.root}","format":1}}\n`
    expect(Buffer.compare(bytes, file(line))).toBe(0)
    expect(decodeGenesis(bytes, none)).toEqual({
      genesis,
      ts: 1_763_680_000_123,
      crc: Buffer.from(bytes).readUInt32LE(bytes.length - 24),
      moved: null,
    })
  })

  test('of a moved log says where it is, and has the checksum and the time of the first slot 0', () => {
    const start = decodeGenesis(encodeGenesis(genesis, 1_763_680_000_123), none)
    const moved = { move: 1, slot: 7, log: 'postgres://a', id: 'b' }
    const bytes = encodeMovedGenesis(start, moved)
    expect(() => decodeGenesis(bytes, none)).toThrow(/does not support the feature "moved"/)
    expect(decodeGenesis(bytes, new Set(['moved']))).toEqual({ ...start, moved })
  })

  test('damaged, foreign or newer is reported', () => {
    const bytes = encodeGenesis(genesis, 5)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      expect(errorOf(() => decodeGenesis(flipped, none)).message).toMatch(/^slot 0 (is|has the wrong number)/)
    }
    expect(errorOf(() => decodeGenesis(encode().bytes, none)).message).toContain('no valid "genesis"')
    const newer = [
      { f: 2 },
      { f: 1, need: ['moon'] },
      { f: 1, need: [], ts: 5, genesis: { root: 'r', format: 2 } },
    ]
    for (const header of newer) {
      const error = errorOf(() => decodeGenesis(file(`${JSON.stringify(header)}\n`), none))
      expect(error).toMatchObject({ code: 0, message: expect.stringContaining('newer Sheaf') })
    }
  })
})
