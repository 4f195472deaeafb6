import { describe, expect, test } from 'vitest'
import { type ExternalLog, openExternalLog } from '../../src/commit/external-log.js'
import {
  decodeGenesis,
  decodePointer,
  encodeGenesis,
  encodePointer,
  statedPrevious,
} from '../../src/commit/slot.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Ambiguous, type BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { commitLogSuite } from '../suites/commit-log.js'
import { externalLogSuite, slotAfter } from '../suites/external-log.js'
import { MemoryLog, type MemorySlots } from '../support/memory-log.js'

commitLogSuite('MemoryLog', async () => new MemoryLog('log'), { checksPrevious: true })
externalLogSuite('MemoryLog', async () => new MemoryLog('log'))

const features: ReadonlySet<string> = new Set()
const options = { clock: systemClock, create: true, features, unknownAfterMs: 1000 }
const open = (store: BlobStore, log: ExternalLog, create = true) =>
  openExternalLog(store, log, { ...options, create })
const rootOf = (bytes: Uint8Array | null) => decodeGenesis(bytes!, features).genesis.root

describe('a pointer', () => {
  test('names the root and the log', () => {
    const bytes = encodePointer({ root: 'a', log: 'postgres://b' }, 5)
    expect(decodePointer(bytes)).toEqual({ root: 'a', log: 'postgres://b' })
    expect(decodePointer(encodeGenesis({ root: 'a', format: 1 }, 5))).toBeNull()
  })

  test('is refused as slot 0 by builds that do not know it', () => {
    const bytes = encodePointer({ root: 'a', log: 'b' }, 5)
    expect(() => decodeGenesis(bytes, features)).toThrow(/does not support the feature "external-log"/)
  })
})

test('the checksum of the slot before is read from the header of a slot', () => {
  expect(statedPrevious(slotAfter(0xabcd, 3))).toBe(0xabcd)
  expect(statedPrevious(encodeGenesis({ root: 'a', format: 1 }, 5))).toBeNull()
  expect(statedPrevious(new TextEncoder().encode('no slot'))).toBeNull()
})

describe('a root with an external log', () => {
  test('has the same id in the store and in the log', async () => {
    const [store, log] = [new MemoryStore(), new MemoryLog('log')]
    const root = rootOf(await open(store, log))
    expect(decodePointer((await store.get('_log/00000000000000000000'))!)).toEqual({ root, log: 'log' })
    expect(rootOf(await log.read(0))).toBe(root)
    expect(rootOf(await open(store, log))).toBe(root)
  })

  test('is created once by several processes', async () => {
    const store = new MemoryStore()
    const slots: MemorySlots = new Map()
    const opened = await Promise.all(
      Array.from({ length: 5 }, () => open(store, new MemoryLog('log', slots))),
    )
    expect(new Set(opened.map(rootOf)).size).toBe(1)
  })

  test('is not created without create', async () => {
    const [store, log] = [new MemoryStore(), new MemoryLog('log')]
    expect(await open(store, log, false)).toBeNull()
    expect(await store.get('_log/00000000000000000000')).toBeNull()
    expect(await log.last()).toBe(-1)
  })

  test('is created after an interruption at each step', async () => {
    for (const stop of ['append', 'putIfAbsent'] as const) {
      const [store, log] = [new MemoryStore(), new MemoryLog('log')]
      const stopped = stop === 'append' ? log : store
      const real = stopped[stop as never] as (...call: unknown[]) => Promise<unknown>
      let calls = 0
      Object.assign(stopped, {
        [stop]: (...call: unknown[]) => {
          const fails = stop === 'append' || calls++ === 1
          return fails ? Promise.reject(new Error('stopped')) : real.apply(stopped, call)
        },
      })
      await expect(open(store, log)).rejects.toThrow('stopped')
      Object.assign(stopped, { [stop]: real })
      expect(rootOf(await open(store, log))).toBe(rootOf(await log.read(0)))
    }
  })

  test('is created although an answer of the log was lost', async () => {
    const [store, log] = [new MemoryStore(), new MemoryLog('log')]
    const append = log.append.bind(log)
    let lost = 0
    log.append = async (slot, bytes) => {
      const answer = await append(slot, bytes)
      if (lost++ === 0) throw new Ambiguous('lost')
      return answer
    }
    expect(rootOf(await open(store, log))).toBe(rootOf(await log.read(0)))
    expect(lost).toBe(2)
  })

  test('is refused with the log of another root', async () => {
    const [store, other] = [new MemoryStore(), new MemoryStore()]
    await open(store, new MemoryLog('right log'))
    const log = new MemoryLog('other log')
    await open(other, log)
    await expect(open(store, log)).rejects.toMatchObject({
      name: 'InvalidInput',
      message: expect.stringMatching(
        /the log of the root in .* is "right log", but "other log" is the log of another root/,
      ),
    })
  })

  test('is refused if the files of the root are elsewhere', async () => {
    const log = new MemoryLog('log')
    await open(new MemoryStore(), log)
    await expect(open(new MemoryStore(), log)).rejects.toMatchObject({
      name: 'InvalidInput',
      message: expect.stringMatching(/"log" is the log of another root/),
    })
  })

  test('is refused if the log has lost its slots', async () => {
    const store = new MemoryStore()
    await open(store, new MemoryLog('log'))
    await expect(open(store, new MemoryLog('empty log'))).rejects.toMatchObject({
      name: 'Internal',
      message: expect.stringMatching(/has commits in "log", but "empty log" has no slots/),
    })
  })
})
