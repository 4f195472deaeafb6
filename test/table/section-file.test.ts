import { expect, test } from 'vitest'
import { sectionFile } from '../../src/indexes/sections/section-file.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { openSectionFile } from '../../src/table/section-file.js'
import { CountingStore } from '../support/stores.js'

/** A file of such sections, and what the log says of it. */
async function written(sections: Readonly<Record<string, Uint8Array>>) {
  const memory = new MemoryStore()
  const named = Object.entries(sections).map(([name, bytes]) => ({ name, bytes }))
  const { chunks, end } = sectionFile({ shape: 'lists' }, named, new Pacer())
  const pieces: Uint8Array[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  const bytes = Buffer.concat(pieces)
  await memory.put('f', bytes)
  const { bytes: length, footerCrc: crc } = end()
  return { memory, store: new CountingStore(memory), bytes, said: { bytes: length, crc } }
}

const few = { a: Uint8Array.of(1, 2, 3), empty: new Uint8Array(0), b: new Uint8Array(100).fill(7) }

test('sections are read into given memory, after one read of the end of the file', async () => {
  const { store, said } = await written(few)
  const file = await openSectionFile(store, 'f', said)
  expect(store.calls).toEqual(new Map([['getRange', 1]]))
  expect(file.footer.head).toEqual({ shape: 'lists' })
  for (const section of file.footer.sections) {
    const target = new Uint8Array(section.bytes)
    await file.readInto(section, target)
    expect(target).toEqual(few[section.name as keyof typeof few])
  }
})

test('a footer longer than the first read needs a second one', async () => {
  const many = Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`section ${i}`, Uint8Array.of(i)]))
  const { store, said } = await written(many)
  const file = await openSectionFile(store, 'f', said)
  expect(file.footer.sections).toHaveLength(1500)
  expect(store.calls).toEqual(new Map([['getRange', 2]]))
})

test('another file, a truncated one, or a damaged section is reported by name', async () => {
  const { memory, said, bytes } = await written(few)
  const refused = { code: 18, message: expect.stringContaining('g') }
  await expect(openSectionFile(memory, 'g', said)).rejects.toMatchObject(refused)
  await memory.put('g', bytes)
  await expect(openSectionFile(memory, 'g', { ...said, crc: said.crc ^ 1 })).rejects.toMatchObject(refused)
  await expect(openSectionFile(memory, 'g', { ...said, bytes: 90 })).rejects.toMatchObject(refused)
  const file = await openSectionFile(memory, 'g', said)
  const section = file.footer.sections.find(({ name }) => name === 'b')!
  const damaged = Buffer.from(bytes)
  damaged[section.start + 5]! ^= 1
  await memory.delete('g')
  await memory.put('g', damaged)
  await expect(file.readInto(section, new Uint8Array(section.bytes))).rejects.toMatchObject(refused)
})

test('parts of a section are read at once, each under its own checksum, and nothing else is read', async () => {
  const bytes = Uint8Array.from({ length: 3000 }, (_, i) => i % 251)
  const { memory, store, said } = await written({ a: bytes })
  const file = await openSectionFile(store, 'f', said)
  const [section] = file.footer.sections
  const part = (start: number, length: number) => {
    return { start, bytes: length, crc: crc32(bytes.subarray(start, start + length)) }
  }
  store.reset()
  for (const parts of [[part(64, 100)], [part(64, 100), part(192, 64), part(256, 0), part(256, 10)]]) {
    const end = parts.at(-1)!.start + parts.at(-1)!.bytes
    const target = new Uint8Array(end - 64)
    await file.readParts(section!, parts, target)
    expect(target).toEqual(bytes.subarray(64, end))
  }
  expect(store.calls).toEqual(new Map([['readInto', 2]]))
  expect(store.bytesRead).toBe(100 + 202)
  const at = section!.start
  for (const parts of [
    [{ ...part(192, 64), crc: 1 }],
    [part(64, 100), { ...part(192, 64), crc: 1 }, part(256, 10)],
  ]) {
    const last = parts.at(-1)!
    const reading = openSectionFile(memory, 'f', said).then(file =>
      file.readParts(section!, parts, new Uint8Array(last.start + last.bytes - parts[0]!.start)),
    )
    await expect(reading).rejects.toMatchObject({
      code: 18,
      message: expect.stringContaining(`bytes ${at + 192} to ${at + 256} of f have checksum`),
    })
  }
})

test('a section can be computed while the file is written', async () => {
  const said: string[] = []
  const make = async () => {
    said.push('made')
    return Uint8Array.of(7, 8)
  }
  const { chunks, end } = sectionFile(
    null,
    [
      { name: 'a', bytes: Uint8Array.of(1) },
      { name: 'b', bytes: make },
    ],
    new Pacer(),
  )
  const memory = new MemoryStore()
  const pieces: Uint8Array[] = []
  for await (const chunk of chunks) {
    if (chunk.length === 1) said.push('written')
    pieces.push(chunk)
  }
  expect(said).toEqual(['written', 'made'])
  await memory.put('f', Buffer.concat(pieces))
  const file = await openSectionFile(memory, 'f', { bytes: end().bytes, crc: end().footerCrc })
  const target = new Uint8Array(2)
  await file.readInto(file.footer.sections[1]!, target)
  expect([...target]).toEqual([7, 8])
})
