/** The checksums of single lists are held against the lists: a search would refuse the list whose checksum is wrong. */
import { expect, test } from 'vitest'
import type { SectionFooter } from '../../src/indexes/sections/section-file.js'
import { buildSegment } from '../../src/indexes/vector/build.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { verifySections } from '../../src/table/verify-file.js'
import { collected } from '../support/section-files.js'

const dim = 64
const rows = 6000

/** More than two pieces of codes, so that lists lie across their ends; some partitions have no rows. */
async function written() {
  const input = {
    first: 0,
    rows,
    dim,
    kind: 'f32' as const,
    async *pieces() {
      const values = Float32Array.from(
        { length: rows * dim },
        (_, i) => Math.sin(Math.floor(i / dim) % 50) * i,
      )
      yield { first: 0, rows, values, present: null }
    },
  }
  const parameters = { partitions: 40 }
  const spec = { kind: 'IVF_FLAT', metric: 'l2', parameters } as const
  const { bytes } = await collected(await buildSegment(spec, input, null, new Pacer(), () => {}))
  const footerAt = bytes.length - 16 - bytes.readUInt32LE(bytes.length - 16)
  const footer = JSON.parse(bytes.toString('utf8', footerAt, bytes.length - 16)) as SectionFooter
  return { bytes, footerAt, footer }
}

/** The file with other bytes, whose sections and footer have the checksums of those. */
async function verified(
  { bytes, footerAt, footer }: Awaited<ReturnType<typeof written>>,
  change: (bytes: Buffer) => void,
): Promise<void> {
  const body = Buffer.from(bytes.subarray(0, footerAt))
  change(body)
  const sections = footer.sections.map(section => {
    const { start, bytes: length } = section
    return { ...section, crc: crc32(body.subarray(start, start + length)) }
  })
  const json = Buffer.from(JSON.stringify({ ...footer, sections }))
  const tail = Buffer.from(bytes.subarray(-16))
  tail.writeUInt32LE(json.length)
  const end = Buffer.concat([json, tail])
  const file = Buffer.concat([body, end])
  const store = new MemoryStore()
  await store.put('f', file)
  await verifySections(store, 'f', { file: 'f', bytes: file.length, crc: crc32(end) }, new Pacer())
}

test('a list, its ordinals or their checksums that are not what was written are found', async () => {
  const file = await written()
  await verified(file, () => {})
  const section = (name: string) => file.footer.sections.find(each => each.name === name)!
  expect(section('lists').bytes).toBeGreaterThan(2 ** 20)
  const lists = section('lists')
  for (let i = 0; i <= 16; i++) {
    const at = lists.start + Math.min(lists.bytes - 1, Math.floor((lists.bytes * i) / 16))
    const wrong = verified(file, body => {
      body[at]! ^= 4
    })
    await expect(wrong, `lists ${at}`).rejects.toMatchObject({
      code: 18,
      message: expect.stringMatching(/^bytes \d+ to \d+ of f have checksum [0-9a-f]{8}, expected/),
    })
  }
  const { start, bytes } = section('listSums')
  expect(bytes).toBe(160)
  for (let at = start; at < start + bytes; at += 13) {
    const wrong = verified(file, body => {
      body[at]! ^= 4
    })
    const { buffer, byteOffset } = file.bytes
    const counts = new Uint32Array(
      buffer.slice(byteOffset, byteOffset + file.bytes.length),
      section('counts').start,
      40,
    )
    // The list of a partition without rows is never read.
    if (counts[(at - start) >> 2] === 0) await wrong.catch(() => {})
    else await expect(wrong, `listSums ${at}`).rejects.toMatchObject({ code: 18 })
  }
})
