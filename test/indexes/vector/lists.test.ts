/** Lists that are read when they are probed: what a search finds is what it finds in a segment read as a whole. */
import fc from 'fast-check'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../../bench/random.js'
import type { Section, SectionFile } from '../../../src/indexes/sections/section-file.js'
import { buildSegment } from '../../../src/indexes/vector/build.js'
import type { VectorInput } from '../../../src/indexes/vector/input.js'
import type { VectorKind, VectorSpec } from '../../../src/indexes/vector/kind.js'
import { ListReader } from '../../../src/indexes/vector/list-reader.js'
import { openSegment } from '../../../src/indexes/vector/open.js'
import type { Candidates, Effort, Probe, VectorIndexSegment } from '../../../src/indexes/vector/segment.js'
import { ownMemory, type SegmentMemory } from '../../../src/indexes/vector/segment-memory.js'
import type { StoredList } from '../../../src/indexes/vector/stored-list.js'
import { attachShareable, openShareable } from '../../../src/kernels/arena.js'
import type { Metric } from '../../../src/kernels/metric.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { Memory } from '../../../src/primitives/memory.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { failure } from '../../support/failure.js'
import { collected, opened } from '../../support/section-files.js'

const dim = 12
const count = 2200
const partitions = 24

afterEach(() => {
  vi.restoreAllMocks()
})

/** Small segments are read at once otherwise. */
function readSingleLists(): void {
  vi.spyOn(ListReader.prototype, 'isSmall', 'get').mockReturnValue(false)
}

/** Rows around some points; some rows are copies, some have no vector, and by cosine some have no direction. */
const values = (() => {
  const random = seededRandom(4)
  const middles = Float32Array.from({ length: 40 * dim }, () => 6 * random())
  return Float32Array.from({ length: count * dim }, (_, i) => {
    const row = Math.floor(i / dim)
    if (row % 97 === 5) return 0
    const middle = middles[(row % 40) * dim + (i % dim)]!
    return row % 40 === 7 ? middle : middle + random() - random()
  })
})()
const present = Bitset.full(count)
for (let row = 0; row < count; row += 31) present.remove(row)

function inputOf(first: number, end: number): VectorInput {
  return {
    first,
    rows: end - first,
    dim,
    kind: 'f32',
    async *pieces() {
      for (let from = first; from < end; from += 700) {
        const to = Math.min(end, from + 700)
        const rows = values.slice(from * dim, to * dim)
        yield { first: from, rows: to - from, values: rows, present: present.slice(from, to) }
      }
    },
  }
}

/** Of a segment that was extended once. */
async function built(kind: VectorKind, metric: Metric, more = {}): Promise<{ bytes: Buffer; crc: number }> {
  const spec: VectorSpec = { kind, metric, parameters: { partitions, ...more } }
  const base = await collected(await buildSegment(spec, inputOf(0, 1500), null, new Pacer(), () => {}))
  const file = opened(base.bytes, base.crc)
  const from = { rows: 1500, file }
  return collected(await buildSegment(spec, inputOf(1500, count), from, new Pacer(), () => {}))
}

interface Watched extends SectionFile {
  /** Parts read, by section. */
  readonly reads: Map<string, number>
  bytesRead: number
}

/** A file whose reads take some turns of the event loop, and are counted. `bytes` may be changed. */
function watched({ bytes, crc }: { bytes: Buffer; crc: number }, random = seededRandom(1)): Watched {
  const file = opened(bytes, crc)
  const wait = async () => {
    for (let turns = Math.floor(3 * random()); turns > 0; turns--) await new Promise(setImmediate)
  }
  return {
    ...file,
    reads: new Map(),
    bytesRead: 0,
    async readInto(section, target) {
      await wait()
      this.bytesRead += target.length
      return file.readInto(section, target)
    },
    async readParts(section, parts, target) {
      this.bytesRead += target.length
      this.reads.set(section.name, (this.reads.get(section.name) ?? 0) + parts.length)
      await wait()
      return file.readParts(section, parts, target)
    },
  }
}

/** Lists come and go under a budget. */
function budgetOf(bytes: number): SegmentMemory & { readonly memory: Memory } {
  const memory = new Memory(bytes)
  const room = memory.partition<StoredList>('lists', 'data', list => {
    return list.codes.byteLength + list.ordinals.byteLength
  })
  return { ...ownMemory, memory, keeperFor: () => (partition, load) => room.get(`${partition}`, load) }
}

const openIn = (file: SectionFile, memory?: SegmentMemory) => openSegment(file, count, dim, memory)

/** One in which every list is there. */
async function whole(file: { bytes: Buffer; crc: number }): Promise<VectorIndexSegment> {
  const segment = await openIn(opened(file.bytes, file.crc))
  await ask(segment, { row: 1, k: 5, more: 0, allowed: null, effort: { leastPartitions: partitions } })
  return segment
}

interface Asked {
  readonly row: number
  readonly k: number
  readonly more: number
  readonly allowed: Bitset | null
  readonly effort: Effort
}

function ask(
  segment: VectorIndexSegment,
  { row, k, more, allowed, effort }: Asked,
  signal?: AbortSignal,
): Promise<Candidates> {
  const query = values.slice(row * dim, (row + 1) * dim).map((value, i) => value + ((row + i) % 3) / 10)
  const isNowhere = row % 97 === 5
  const { vectors } = segment.facts
  const passing = Math.min(vectors, allowed?.count() ?? vectors)
  const probe: Probe = {
    query: isNowhere ? new Float32Array(dim) : query,
    k,
    count: k + more,
    allowed,
    passing,
    effort,
  }
  return Promise.resolve(segment.candidates(probe, new Pacer(signal)))
}

/** Every so many rows, of some points only, or those that did not die. */
const allowedRows = fc
  .record({ step: fc.integer({ min: 1, max: 60 }), points: fc.integer({ min: 1, max: 40 }) })
  .map(({ step, points }) => {
    const bits = new Bitset(count)
    for (let row = 0; row < count; row += step) if (row % 40 < points) bits.add(row)
    return bits
  })

const asked: fc.Arbitrary<Asked> = fc.record({
  row: fc.oneof({ weight: 9, arbitrary: fc.nat(count - 1) }, { weight: 1, arbitrary: fc.constant(102) }),
  k: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(100, 700)),
  more: fc.constantFrom(0, 10, 150),
  allowed: fc.option(allowedRows, { nil: null }),
  effort: fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Effort>(
        { leastPartitions: 1 },
        { leastPartitions: 3, mostPartitions: 5 },
        { mostPartitions: 2 },
        { leastPartitions: partitions },
      ),
    },
  ),
})

describe.each([
  ['IVF_FLAT', 'l2', {}],
  ['IVF_FLAT', 'dot', {}],
  ['IVF_SQ', 'cosine', {}],
  ['IVF_PQ', 'l2', {}],
  ['IVF_PQ', 'cosine', { bits: 4 }],
  ['IVF_RQ', 'l2', {}],
] as const)('%s by %s %j', (kind, metric, more) => {
  let file: { bytes: Buffer; crc: number }
  let reference: VectorIndexSegment

  beforeAll(async () => {
    file = await built(kind, metric, more)
    reference = await whole(file)
  })

  test('lists read on demand give the candidates of a segment read as a whole', async () => {
    readSingleLists()
    const budget = fc.option(fc.constantFrom(0, 1000, 5000, 30_000, 1 << 20), { nil: null })
    await fc.assert(
      fc.asyncProperty(
        budget,
        fc.array(asked, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (bytes, questions, isAtOnce) => {
          const kept = bytes === null ? null : budgetOf(bytes)
          const segment = await openIn(watched(file), kept ?? ownMemory)
          const expected: Candidates[] = []
          for (const each of questions) expected.push(await ask(reference, each))
          const found: Candidates[] = []
          if (isAtOnce) found.push(...(await Promise.all(questions.map(each => ask(segment, each)))))
          else for (const each of questions) found.push(await ask(segment, each))
          expect(found).toEqual(expected)
          if (kept !== null) expect(kept.memory.stats().bytes).toBeLessThanOrEqual(bytes!)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('a search without a filter reads exactly the lists that it visits, each once', async () => {
    readSingleLists()
    await fc.assert(
      fc.asyncProperty(asked, fc.boolean(), async (question, isFramed) => {
        const watching = watched(file)
        const segment = await openIn(watching, isFramed ? budgetOf(1 << 20) : ownMemory)
        const { partitions: looked, ended } = await ask(segment, question)
        const read = watching.reads.get('lists') ?? 0
        if (question.allowed !== null || looked === 0) return
        // Where a search gives up, the lists that it would have needed are there.
        if (ended === 'unsettled') expect(read).toBeGreaterThanOrEqual(looked)
        else expect(read).toBe(looked)
        const before = watching.bytesRead
        await ask(segment, question)
        expect(watching.bytesRead).toBe(before)
      }),
      { numRuns: 40 },
    )
  })

  test('a flipped bit fails the searches that read it, and no others; a repaired file works again', async () => {
    readSingleLists()
    const { sections } = opened(file.bytes, file.crc).footer
    const everything: Asked = {
      row: 50,
      k: 5,
      more: 0,
      allowed: null,
      effort: { leastPartitions: partitions },
    }
    const expected = await ask(reference, everything)
    const random = seededRandom(9)
    for (const name of ['lists', 'listSums']) {
      const { start, bytes: length } = sections.find(section => section.name === name) as Section
      for (let i = 0; i < 12; i++) {
        const bytes = Buffer.from(file.bytes)
        const at = start + Math.floor(length * random())
        bytes[at]! ^= 1 << (i % 8)
        const opening = openIn(watched({ bytes, crc: file.crc }), i % 2 === 0 ? ownMemory : budgetOf(1 << 20))
        if (name.endsWith('Sums')) {
          expect(await failure(opening), `${name} ${at}`).toMatchObject({ code: 18 })
          continue
        }
        const segment = await opening
        for (let n = 0; n < 2; n++) {
          expect(await failure(ask(segment, everything)), `${name} ${at}`).toMatchObject({ code: 18 })
        }
        bytes[at]! ^= 1 << (i % 8)
        expect(await ask(segment, everything)).toEqual(expected)
      }
    }
  })

  test('an aborted search ends while lists are read, without failing other searches', async () => {
    readSingleLists()
    const question: Asked = { row: 3, k: 10, more: 10, allowed: null, effort: {} }
    const expected = await ask(reference, question)
    for (const memory of [ownMemory, budgetOf(0), budgetOf(1 << 20)]) {
      for (const turns of [0, 1, 3]) {
        const segment = await openIn(watched(file), memory)
        const giving = new AbortController()
        const mine = ask(segment, question, giving.signal).then(
          found => found,
          error => error.message,
        )
        const theirs = ask(segment, question)
        for (let i = 0; i < turns; i++) await new Promise(setImmediate)
        giving.abort(new Error('enough'))
        expect(['enough', expected]).toContainEqual(await mine)
        if (turns === 0) expect(await mine).toBe('enough')
        expect(await theirs).toEqual(expected)
      }
    }
  })

  test('engines that share an arena fill it together, and share checked lists', async () => {
    readSingleLists()
    const shared = new Map<number, ReturnType<typeof openShareable>>()
    const seated = (workerIndex: number): SegmentMemory => ({
      ...ownMemory,
      workerCount: 2,
      workerIndex,
      async open(bytes) {
        const memory = shared.get(bytes) ?? openShareable(bytes)
        shared.set(bytes, memory)
        return attachShareable(memory)
      },
    })
    const broken = { bytes: Buffer.from(file.bytes), crc: file.crc }
    const { start, bytes: length } = opened(file.bytes, file.crc).footer.sections.find(
      ({ name }) => name === 'lists',
    ) as Section
    for (let at = start; at < start + length; at += 16) broken.bytes[at]! ^= 1
    const random = seededRandom(2)
    const sound = await openIn(watched(file, random), seated(0))
    const damaged = await openIn(watched(broken, random), seated(1))
    const other = await openIn(watched(file, random), seated(1))
    expect(shared.size).toBe(1)
    for (let row = 1; row < 40; row++) {
      const question: Asked = { row, k: 10, more: 20, allowed: null, effort: {} }
      const [first, second, third] = await Promise.all([
        ask(sound, question),
        ask(damaged, question).catch(error => error.code),
        ask(other, question),
      ])
      const expected = await ask(reference, question)
      expect([first, third]).toEqual([expected, expected])
      expect([18, expected]).toContainEqual(second)
      // All lists that it needs are there now.
      expect(await ask(damaged, question)).toEqual(expected)
    }
  })
})

test('a segment that does not fit into memory uses the memory of one list', async () => {
  const file = await built('IVF_FLAT', 'l2')
  const lists = await openIn(opened(file.bytes, file.crc))
  const framed = await openIn(opened(file.bytes, file.crc), budgetOf(0))
  expect(lists.bytes).toBeGreaterThan(count * dim * 4)
  expect(framed.bytes).toBeLessThan(Math.max(128 * 1024, lists.bytes / 2))
})
