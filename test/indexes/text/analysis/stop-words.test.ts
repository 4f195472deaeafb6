import { expect, test } from 'vitest'
import { stemmerOf } from '../../../../src/indexes/text/analysis/stem.js'
import { stopWordsOf } from '../../../../src/indexes/text/analysis/stop-words.js'
import type { Language } from '../../../../src/protocol/index-shapes.js'

/** How many, and some that must be among them. */
const lists: Readonly<Record<Language, readonly [count: number, some: string]>> = {
  Arabic: [478, 'في من على'],
  Danish: [94, 'og ikke været'],
  Dutch: [101, 'de het niet'],
  English: [198, "the because won't he'd y should've"],
  Finnish: [229, 'ja että minä'],
  French: [154, 'le étée ne'],
  German: [231, 'der für würde'],
  Greek: [75, 'και ειναι τον'],
  Hungarian: [198, 'és hogy'],
  Italian: [279, 'il perché più'],
  Norwegian: [172, 'og ikke på'],
  Portuguese: [203, 'não uma'],
  Romanian: [282, 'și această'],
  Russian: [159, 'и не что'],
  Spanish: [308, 'el está'],
  Swedish: [114, 'och är'],
  Tamil: [125, 'ஒரு மற்றும்'],
  Turkish: [53, 'için ve'],
}

test.each(Object.entries(lists) as [Language, readonly [number, string]][])(
  'of %s',
  (language, [count, some]) => {
    const words = stopWordsOf(language)
    expect(words.size).toBe(count)
    for (const word of some.split(' ')) expect(words).toContain(word)
    for (const word of words) expect(word).toBe(word.normalize('NFC').toLowerCase())
  },
)

test('stop word sets are built once', () => expect(stopWordsOf('English')).toBe(stopWordsOf('English')))

test('stop words are not stemmed: one with another stem survives, as in Lance', () => {
  const stem = stemmerOf('English')
  const survivors = [...stopWordsOf('English')].filter(word => !stopWordsOf('English').has(stem(word)))
  expect(survivors).toContain('because')
  expect(survivors).not.toContain('the')
})
