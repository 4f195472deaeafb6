import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WriteBehind } from '../../src/storage/write-behind.js'

/** Writes that end when they are told to. */
function heldWrites() {
  const written: Uint8Array[] = []
  const ends: (() => void)[] = []
  let running = 0
  const write = async (bytes: Uint8Array) => {
    expect(++running).toBe(1)
    written.push(bytes)
    await new Promise<void>(resolve => ends.push(resolve))
    running--
  }
  return { written, ends, write }
}

const mebibyte = 1024 * 1024
const turn = () => new Promise(resolve => setImmediate(resolve))

describe('chunks written behind', () => {
  test('are the same bytes in the same order, however they are cut', async () => {
    const sizes = fc.array(fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 300_000 })), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(sizes, async sizes => {
        const chunks = sizes.map((size, i) => new Uint8Array(size).fill(i + 1))
        const written: Uint8Array[] = []
        const behind = new WriteBehind(async bytes => {
          await null
          written.push(bytes)
        })
        for (const chunk of chunks) await behind.push(chunk)
        await behind.flush()
        await behind.close()
        expect(Buffer.concat(written).equals(Buffer.concat(chunks))).toBe(true)
        expect(written.length).toBeLessThanOrEqual(sizes.filter(size => size > 65_536).length * 2 + 8)
      }),
    )
  })

  test('are written one at a time, and at most 32 MiB wait', async () => {
    const { written, ends, write } = heldWrites()
    const behind = new WriteBehind(write)
    for (let i = 0; i < 32; i++) await behind.push(new Uint8Array(mebibyte))
    let hasRoom = false
    const pushed = behind.push(new Uint8Array(mebibyte)).then(() => {
      hasRoom = true
    })
    await turn()
    expect([hasRoom, written.length]).toEqual([false, 1])
    ends.shift()!()
    await pushed
    let isFlushed = false
    const flushed = behind.flush().then(() => {
      isFlushed = true
    })
    while (written.length < 33 || ends.length > 0) {
      expect(isFlushed).toBe(false)
      ends.shift()?.()
      await turn()
    }
    await flushed
  })

  test('a failed write is reported to the next call, and is the last', async () => {
    const reason = new Error('disk full')
    let writes = 0
    const behind = new WriteBehind(async () => {
      writes++
      throw reason
    })
    await behind.push(new Uint8Array(mebibyte))
    await behind.push(new Uint8Array(mebibyte))
    await expect(behind.flush()).rejects.toBe(reason)
    await behind.close()
    expect(writes).toBe(1)
  })

  test('closing waits for the running write, and begins no other', async () => {
    const { written, ends, write } = heldWrites()
    const behind = new WriteBehind(write)
    for (let i = 0; i < 3; i++) await behind.push(new Uint8Array(mebibyte))
    await turn()
    let isClosed = false
    const closed = behind.close().then(() => {
      isClosed = true
    })
    await turn()
    expect(isClosed).toBe(false)
    ends.shift()!()
    await closed
    expect(written).toHaveLength(1)
  })
})
