import { expect, test } from 'vitest'
import { parseSectionFooter, sectionFile, sectionOf } from '../../../src/indexes/sections/section-file.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { collected, opened } from '../../support/section-files.js'

const sections = [
  { name: 'codes', bytes: Uint8Array.from({ length: 1000 }, (_, i) => i * 7) },
  { name: 'none', bytes: new Uint8Array(0) },
  { name: 'links', bytes: Uint8Array.from({ length: 64 }, (_, i) => i) },
]

test('what was written is read again, each section at a multiple of 64', async () => {
  const { bytes, crc } = await collected(sectionFile({ a: [1, 'x'] }, sections, new Pacer()))
  const file = opened(bytes, crc)
  expect(file.footer.head).toEqual({ a: [1, 'x'] })
  for (const { name, bytes: written } of sections) {
    const section = sectionOf(file, name, written.length)
    expect(section.start % 64).toBe(0)
    const read = new Uint8Array(section.bytes)
    await file.readInto(section, read)
    expect(read).toEqual(written)
  }
})

test('a footer that needs more of the end says how much', async () => {
  const { bytes, crc } = await collected(sectionFile(null, sections, new Pacer()))
  const need = parseSectionFooter(bytes.subarray(-16), bytes.length, crc) as { need: number }
  expect(parseSectionFooter(bytes.subarray(-need.need), bytes.length, crc)).toHaveProperty('sections')
  expect(parseSectionFooter(bytes.subarray(-3), bytes.length, crc)).toEqual({ need: 16 })
})

test('every changed bit is found', async () => {
  const { bytes, crc } = await collected(sectionFile({ a: 1 }, sections, new Pacer()))
  const { footer } = opened(bytes, crc)
  const padding = (at: number) =>
    at < 64 ? true : at >= sections[0]!.bytes.length + 64 && at < footer.sections[2]!.start
  for (let at = 0; at < bytes.length; at++) {
    if (padding(at)) continue
    const broken = Buffer.from(bytes)
    broken[at]! ^= 1 << (at % 8)
    const read = async () => {
      const file = opened(broken, crc)
      for (const section of file.footer.sections) await file.readInto(section, new Uint8Array(section.bytes))
    }
    await expect(read(), `byte ${at}`).rejects.toMatchObject({ code: 18 })
  }
})

test('a section that is missing or of another size is reported as damaged', async () => {
  const { bytes, crc } = await collected(sectionFile(null, sections, new Pacer()))
  const file = opened(bytes, crc)
  expect(() => sectionOf(file, 'other')).toThrow('no section "other"')
  expect(() => sectionOf(file, 'links', 65)).toThrow('has 64 bytes, not 65')
})
