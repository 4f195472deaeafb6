import { expect, test } from 'vitest'
import { Holds } from '../../src/write/holds.js'
import { SeededClock } from '../support/clock.js'

const minute = 60_000

function holdsOf(isOpen?: (id: string) => boolean) {
  const clock = new SeededClock(1)
  const pinned = new Set<number>()
  const pin = async (slot: number) => {
    pinned.add(slot)
    return async () => {
      pinned.delete(slot)
    }
  }
  const holds = new Holds({ pin, clock, idleMs: 10 * minute, ...(isOpen !== undefined && { isOpen }) })
  return { clock, holds, pinned }
}

test('an idle upload or session is released, and the next request holds it again', async () => {
  const { clock, holds, pinned } = holdsOf()
  await holds.run('a', 7, async () => {})
  await clock.sleep(6 * minute)
  await holds.run('a', 7, async () => {})
  await clock.sleep(6 * minute)
  expect([...pinned]).toEqual([7])
  holds.touch('a')
  await clock.sleep(9 * minute)
  expect([...pinned]).toEqual([7])
  await clock.sleep(3 * minute)
  expect([...pinned]).toEqual([])
  expect(holds.size).toBe(0)
  await holds.run('a', 7, async () => {})
  expect([...pinned]).toEqual([7])
  await holds.close()
})

test('a long request keeps its upload or session, and an ended one is released with the last request', async () => {
  const { clock, holds, pinned } = holdsOf()
  await holds.run('a', 7, async () => {
    await clock.sleep(30 * minute)
    expect([...pinned]).toEqual([7])
  })
  expect([...pinned]).toEqual([7])
  await holds.run('a', 7, async () => {
    await holds.run('a', 7, () => holds.end('a'))
    expect([...pinned]).toEqual([7])
  })
  expect([...pinned]).toEqual([])
  await holds.end('a')
  await holds.close()
})

test('an upload or session that ended elsewhere is released', async () => {
  const open = new Set(['a', 'b'])
  const { clock, holds, pinned } = holdsOf(id => open.has(id))
  await holds.run('a', 7, async () => {})
  await holds.run('b', 8, async () => {})
  open.delete('a')
  await clock.sleep(2 * minute)
  expect([...pinned]).toEqual([8])
  await holds.close()
})
