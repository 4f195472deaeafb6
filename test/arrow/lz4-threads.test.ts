/** Threads write the LZ4 frames that this thread would write, and where there are none this thread writes them. */
import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { compressorOf } from '../../src/arrow/compress.js'
import { encodeLz4Frame } from '../../src/arrow/encode-lz4.js'
import { Lz4Threads } from '../../src/arrow/lz4-threads.js'
import { runAtOnce } from '../../src/arrow/steps.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { seededRandom } from '../../src/primitives/seeded-random.js'
import { built, shipped } from '../adapters/built.js'

const real = pathToFileURL(built('src/arrow/lz4-worker.ts'))
const missing = new URL('./no-such-worker.js', import.meta.url)
const code = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)

/** Bytes of few kinds, that become shorter. */
function plainBytes(length: number, seed: number): Uint8Array {
  const random = seededRandom(seed)
  return Uint8Array.from({ length }, () => random() * 5)
}

const own = (plain: Uint8Array, mostBytes = plain.length) => runAtOnce(encodeLz4Frame(plain, mostBytes))

describe('a pool of threads', () => {
  test.each([
    ['modules of the project', real],
    ['file of the package', pathToFileURL(shipped('lz4-worker'))],
  ])('that runs the %s gives the frames of this thread, to many at once', async (_, file) => {
    const threads = new Lz4Threads(2, file)
    const plains = Array.from({ length: 12 }, (_, i) => plainBytes(300_000 + 7 * i, i))
    const frames = await Promise.all(plains.map(plain => threads.encode(plain, plain.length, undefined)))
    for (const [i, plain] of plains.entries()) expect(frames[i]).toEqual(own(plain))
    // A part of a pool of memory, as Node's buffers are.
    const part = Buffer.from(plains[0]!.buffer, 1000, 200_000)
    expect(await threads.encode(part, part.length, undefined)).toEqual(own(Uint8Array.from(part)))
    const random = seededRandom(9)
    const noise = Uint8Array.from({ length: 300_000 }, () => random() * 256)
    expect(await threads.encode(noise, noise.length * 0.95, undefined)).toBe(null)
  })

  test('tells the caller where a buffer cannot be copied, and goes on with what others asked for', async () => {
    const threads = new Lz4Threads(1, real)
    const plain = plainBytes(300_000, 1)
    const before = threads.encode(plain, plain.length, undefined)
    const huge = threads.encode({ length: 2 ** 50 } as Uint8Array, 1, undefined)
    const after = threads.encode(plain, plain.length, undefined)
    expect(await Promise.all([before, huge, after])).toEqual([own(plain), undefined, own(plain)])
  })

  test('rejects with the reason of the signal, and goes on with what others asked for', async () => {
    const threads = new Lz4Threads(1, real)
    const plain = plainBytes(1_000_000, 1)
    const controller = new AbortController()
    const first = threads.encode(plain, plain.length, undefined)
    const given = threads.encode(plain, plain.length, controller.signal)
    const last = threads.encode(plain, plain.length, undefined)
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    expect([await first, await last]).toEqual([own(plain), own(plain)])
  })

  test.each([
    ['there is no program for it', missing],
    ['it dies at once', code('process.exit(1)')],
    ['it throws', code('throw new Error("no memory")')],
    [
      'it dies of its first task',
      code(
        'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => process.exit(1))',
      ),
    ],
  ])('tells the caller where %s', async (_, file) => {
    const threads = new Lz4Threads(2, file)
    const plain = plainBytes(300_000, 1)
    const asked = Array.from({ length: 5 }, () => threads.encode(plain, plain.length, undefined))
    expect(await Promise.all(asked)).toEqual(Array(5).fill(undefined))
    expect(await compressorOf('lz4', new Pacer(), threads)(plain, plain.length)).toEqual(own(plain))
  })
})

test('a compressor gives the same frames with threads and without', async () => {
  const [on, off] = [real, missing].map(file => compressorOf('lz4', new Pacer(), new Lz4Threads(2, file)))
  for (const length of [64, 100_000, 262_143, 262_144, 2_000_000]) {
    const plain = plainBytes(length, length)
    expect(await on!(plain, length)).toEqual(await off!(plain, length))
  }
})

test('idle threads do not keep a process alive', () => {
  const program = `
    import { Lz4Threads } from ${JSON.stringify(pathToFileURL(built('src/arrow/lz4-threads.ts')).href)}
    const frame = await new Lz4Threads(2).encode(new Uint8Array(300000), 300000, undefined)
    console.log(frame.length)
  `
  const args = ['--input-type=module', '--eval', program]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })).toBe(
    `${own(new Uint8Array(300_000))!.length}\n`,
  )
})
