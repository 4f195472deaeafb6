import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Memory } from '../../src/primitives/memory.js'
import { BlockCache } from '../../src/table/block-cache.js'

/** A block whose bytes say where it lies. */
const blockAt = (file: string, start: number, length: number) =>
  new Uint8Array(length).fill((start * 31 + file.length) % 251)

test('cached blocks are returned unchanged, within the memory budget', () =>
  fc.assert(
    fc.property(
      fc.constantFrom(0, 1000, 20_000, 300_000, Number.POSITIVE_INFINITY),
      fc.array(
        fc.tuple(fc.constantFrom('a', 'bb', 'ccc'), fc.nat(400), fc.constantFrom('keep', 'get', 'gone')),
        {
          maxLength: 600,
        },
      ),
      (budget, steps) => {
        const memory = new Memory(budget)
        const cache = new BlockCache(memory)
        const came = new Set<string>()
        for (const [file, number, step] of steps) {
          const start = number * 512
          const length = number % 7 === 0 ? 512 : 300
          if (step === 'keep') {
            cache.keep(file, start, blockAt(file, start, length))
            came.add(`${file} ${start}`)
          } else if (step === 'gone' && number < 20) {
            memory.gone(file)
            for (const key of came) if (key.startsWith(`${file} `)) came.delete(key)
            expect(cache.get(file, start, length)).toBeUndefined()
          } else {
            const found = cache.get(file, start, length)
            if (found !== undefined) {
              expect(came.has(`${file} ${start}`)).toBe(true)
              expect(found).toEqual(blockAt(file, start, length))
            } else if (budget === Number.POSITIVE_INFINITY) {
              expect(came.has(`${file} ${start}`)).toBe(false)
            }
          }
          expect(memory.stats().bytes).toBeLessThanOrEqual(budget)
        }
      },
    ),
  ))

test('a repeatedly used block stays while others are evicted', () => {
  const cache = new BlockCache(new Memory(1 << 20))
  const keep = (file: string, number: number) =>
    cache.keep(file, number * 512, blockAt(file, number * 512, 512))
  for (let i = 0; i < 128; i++) keep('hot', i)
  for (let i = 0; i < 20_000; i++) {
    keep('cold', i)
    if (i % 50 === 0)
      for (let hot = 0; hot < 128; hot++) expect(cache.get('hot', hot * 512, 512)).toBeDefined()
  }
  expect(cache.get('cold', 0, 512)).toBeUndefined()
})
