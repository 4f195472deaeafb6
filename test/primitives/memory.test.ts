import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Keeper, Memory } from '../../src/primitives/memory.js'

/** What an entry is counted with beside its value. */
const overhead = 400
/** A value of so many bytes, counted with what it costs to keep it. */
const of = (bytes: number) => async () => new Uint8Array(bytes - overhead)
const sizeOf = (bytes: Uint8Array) => bytes.length

/** Columns and layouts with a budget in thousands of bytes. */
function open(thousands: number) {
  const memory = new Memory(1000 * thousands)
  const columns = memory.partition('columns', 'data', sizeOf)
  const layouts = memory.partition('layouts', 'places', sizeOf)
  return { memory, columns, layouts }
}

/** Reads `count` things of 1,000 bytes once, `name` before their numbers. */
async function scan(room: Keeper<Uint8Array>, count: number, name: string): Promise<void> {
  for (let i = 0; i < count; i++) await room.get(`${name}${i}`, of(1000))
}

describe('one budget', () => {
  test('the least recently used entry is evicted first, of any partition', async () => {
    const memory = new Memory(3000)
    const a = memory.partition('a', 'data', sizeOf)
    const b = memory.partition('b', 'data', sizeOf)
    await a.get('1', of(1000))
    await b.get('1', of(1000))
    await a.get('2', of(1000))
    await a.get('1', of(1000))
    await b.get('2', of(1000))
    expect([a.has('1'), a.has('2'), b.has('1'), b.has('2')]).toEqual([true, true, false, true])
    expect(memory.stats()).toEqual({
      budgetBytes: 3000,
      bytes: 3000,
      partitions: {
        a: { entries: 2, bytes: 2000, hits: 1, misses: 2 },
        b: { entries: 1, bytes: 1000, hits: 0, misses: 2 },
      },
    })
  })

  test('concurrent callers share one load', async () => {
    const { columns } = open(10)
    let loads = 0
    const slow = async () => {
      loads++
      return new Uint8Array(8)
    }
    const [x, y] = await Promise.all([columns.get('a', slow), columns.get('a', slow)])
    expect(x).toBe(y)
    expect(loads).toBe(1)
  })

  test('a loaded value is returned at once', async () => {
    const { columns } = open(10)
    const loading = columns.get('a', of(1000))
    expect(loading).toBeInstanceOf(Promise)
    const came = await loading
    expect(columns.get('a', of(1000))).toBe(came)
    expect(columns.passing().get('a', of(1000))).toBe(came)
  })

  test('a failed load and its claim are forgotten', async () => {
    const { memory, columns } = open(10)
    const failing = columns.get('a', async claim => {
      claim(5000)
      throw new Error('no')
    })
    expect(memory.stats().bytes).toBe(5000)
    await expect(failing).rejects.toThrow('no')
    expect(memory.stats().bytes).toBe(0)
    expect((await columns.get('a', of(1000))).length).toBe(600)
  })

  test('a value larger than the budget is returned, not cached, and evicts nothing', async () => {
    const { memory, columns, layouts } = open(10)
    await columns.get('small', of(1000))
    const large = columns.get('large', async claim => {
      claim(11_000)
      return of(11_000)()
    })
    expect((await large).length).toBe(10_600)
    layouts.keep('large', new Uint8Array(10_001))
    expect(memory.stats()).toMatchObject({ bytes: 1000, partitions: { layouts: { entries: 0 } } })
  })

  test('memory is freed before a load takes it', async () => {
    const { memory, columns } = open(10)
    await scan(columns, 10, 'old')
    let arrive: (value: Uint8Array) => void = () => {}
    const coming = columns.get('new', claim => {
      claim(4000)
      return new Promise(resolve => {
        arrive = resolve
      })
    })
    expect(memory.stats()).toMatchObject({ bytes: 10_000, partitions: { columns: { entries: 7 } } })
    arrive(new Uint8Array(600))
    await coming
    expect(memory.stats()).toMatchObject({ bytes: 7000, partitions: { columns: { entries: 7 } } })
  })

  test('nothing is cached with a budget of 0', async () => {
    const { memory, columns, layouts } = open(0)
    await columns.get('a', of(1000))
    layouts.keep('a', new Uint8Array(0))
    expect(layouts.peek('a')).toBeUndefined()
    expect(memory.stats().bytes).toBe(0)
  })
})

describe('a scan of ten times the budget', () => {
  test('evicts no metadata', async () => {
    const { columns, layouts } = open(100)
    for (let i = 0; i < 25; i++) layouts.keep(`${i}`, new Uint8Array(600))
    await scan(columns, 1000, 'scan')
    expect(layouts.stats()).toMatchObject({ entries: 25 })
    expect(columns.stats()).toMatchObject({ entries: 75 })
  })

  test('evicts nothing that was used again later', async () => {
    const { columns } = open(100)
    await scan(columns, 20, 'hot')
    await scan(columns, 30, 'other')
    await scan(columns, 20, 'hot')
    await scan(columns, 1000, 'scan')
    await scan(columns, 20, 'hot')
    expect(columns.stats().misses).toBe(20 + 30 + 1000)
  })

  test('does not promote its columns, however often it reads them within a few loads', async () => {
    const { columns } = open(100)
    await scan(columns, 20, 'hot')
    await scan(columns, 30, 'other')
    await scan(columns, 20, 'hot')
    for (let i = 0; i < 1000; i++) {
      await columns.get(`scan${i}`, of(1000))
      for (let back = 0; back < 5; back++) await columns.get(`scan${Math.max(0, i - back)}`, of(1000))
    }
    await scan(columns, 20, 'hot')
    expect(columns.stats().misses).toBe(20 + 30 + 1000)
  })

  test('evicts no promoted entry with its loads under way', async () => {
    const { columns } = open(100)
    await scan(columns, 45, 'hot')
    await scan(columns, 30, 'other')
    await scan(columns, 45, 'hot')
    const arrive: ((value: Uint8Array) => void)[] = []
    for (const name of ['one', 'two']) {
      void columns.get(name, claim => {
        claim(40_000)
        return new Promise(resolve => {
          arrive.push(resolve)
        })
      })
    }
    await columns.get('small', of(1000))
    for (const come of arrive) come(new Uint8Array(40_000 - overhead))
    const { misses } = columns.stats()
    await scan(columns, 45, 'hot')
    expect(columns.stats().misses).toBe(misses)
  })

  test('promoted entries make space when another is promoted', async () => {
    const { columns } = open(100)
    const prove = async (name: string) => {
      await scan(columns, 30, name)
      await scan(columns, 30, `after ${name}`)
      await scan(columns, 30, name)
    }
    await prove('first')
    await scan(columns, 200, 'scan')
    await prove('second')
    await scan(columns, 200, 'scan again')
    const { misses } = columns.stats()
    await scan(columns, 30, 'second')
    expect(columns.stats().misses).toBe(misses)
  })

  test('in passing leaves half of the budget unchanged, and uses cached entries', async () => {
    const { columns } = open(100)
    await scan(columns, 50, 'kept')
    const passing = columns.passing()
    await scan(passing, 1000, 'scan')
    await scan(passing, 50, 'kept')
    expect(columns.stats()).toMatchObject({ hits: 0 + 50, misses: 1050 })
  })
})

// ---- against a model

type Step =
  | {
      readonly kind: 'get' | 'pass' | 'keep'
      readonly room: number
      readonly key: number
      readonly bytes: number
    }
  | { readonly kind: 'peek'; readonly room: number; readonly key: number }

const partitions = ['columns', 'segments', 'layouts'] as const
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('get' as const, 'get' as const, 'pass' as const, 'keep' as const),
    room: fc.nat(2),
    key: fc.nat(12),
    bytes: fc.integer({ min: overhead, max: 4000 }),
  }),
  fc.record({ kind: fc.constant('peek' as const), room: fc.nat(2), key: fc.nat(12) }),
)

test('under any operations the budget holds, the partitions add up, and a value is the loaded one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(20_000), fc.array(steps, { maxLength: 120 }), async (budget, todo) => {
      const memory = new Memory(budget)
      const opened = partitions.map(name =>
        memory.partition(name, name === 'layouts' ? 'places' : 'data', sizeOf),
      )
      const newest = new Map<string, Uint8Array>()
      let uses = 0
      for (const step of todo) {
        const room = opened[step.room]!
        const key = String(step.key)
        const id = `${step.room}/${key}`
        const known = room.has(key) ? newest.get(id) : undefined
        if (step.kind === 'peek') {
          if (known !== undefined) uses++
          expect(room.peek(key)).toBe(known)
          continue
        }
        uses++
        const made = new Uint8Array(step.bytes - overhead)
        if (step.kind === 'keep') {
          room.keep(key, made)
          if (known === undefined) newest.set(id, made)
          else uses--
        } else {
          const keeper = step.kind === 'get' ? room : room.passing()
          const value = await keeper.get(key, async claim => {
            claim(step.bytes)
            return made
          })
          expect(value).toBe(known ?? made)
          newest.set(id, value)
        }
        const { bytes, partitions: all } = memory.stats()
        expect(bytes).toBeLessThanOrEqual(budget)
        const sums = Object.values(all)
        expect(sums.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(bytes)
        expect(sums.reduce((sum, { hits, misses }) => sum + hits + misses, 0)).toBe(uses)
        if (all.layouts!.entries > 1) expect(all.layouts!.bytes).toBeLessThanOrEqual(budget / 4)
      }
    }),
    { numRuns: 60 },
  )
})

describe('a deleted source', () => {
  test('evicts what was read from it, in every partition, and nothing else', async () => {
    const { memory, columns, layouts } = open(100)
    await columns.get('f/a', of(1000), 'f')
    await columns.get('g/a', of(1000), 'g')
    await columns.get('f/b', of(1000), 'f')
    await layouts.get('f', of(1000))
    await columns.passing().get('f/c', of(1000), 'f')
    memory.gone('f')
    memory.gone('never there')
    const there = (key: string) => columns.has(key) || layouts.has(key)
    expect(['f/a', 'f/b', 'f/c', 'f', 'g/a'].filter(there)).toEqual(['g/a'])
    expect(memory.stats().bytes).toBe(1000)
  })

  test('does not evict an already evicted entry again', async () => {
    const { memory, columns } = open(2)
    for (const key of ['f/a', 'f/b', 'f/c', 'f/d']) await columns.get(key, of(1000), 'f')
    memory.gone('f')
    await columns.get('f/c', of(1000), 'f')
    expect(memory.stats()).toMatchObject({ bytes: 1000, partitions: { columns: { entries: 1 } } })
  })

  test('lets a load under way be returned, and not cached', async () => {
    const { memory, columns } = open(100)
    let arrive!: () => void
    const arrival = new Promise<void>(resolve => {
      arrive = resolve
    })
    const old = columns.get(
      'f/a',
      async claim => {
        claim(5000)
        await arrival
        claim(6000)
        return of(5000)()
      },
      'f',
    )
    memory.gone('f')
    expect(memory.stats().bytes).toBe(0)
    const young = columns.get('f/a', of(1000), 'f')
    arrive()
    expect([(await old).length, (await young).length]).toEqual([4600, 600])
    expect(memory.stats()).toMatchObject({ bytes: 1000, partitions: { columns: { entries: 1 } } })
    expect(await columns.get('f/a', of(2000), 'f')).toBe(await young)
  })
})

test('metadata is evicted in the order of last use, as in a model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(20), fc.array(fc.nat(15), { maxLength: 100 }), async (places, keys) => {
      const layouts = new Memory(4000 * places).partition('layouts', 'places', sizeOf)
      let model: number[] = []
      for (const key of keys) {
        await layouts.get(String(key), of(1000))
        model = [...model.filter(known => known !== key), key].slice(-places || model.length + 1)
        for (let k = 0; k <= 15; k++) expect(layouts.has(String(k))).toBe(model.includes(k))
      }
    }),
    { numRuns: 60 },
  )
})
