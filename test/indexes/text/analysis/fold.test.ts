import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asciiFolded } from '../../../../src/indexes/text/analysis/fold.js'

/** What Lucene's ASCIIFoldingFilter makes of them. */
const pairs =
  `à:a Á:A â:a Ã:A ä:a å:a ā:a ă:a ą:a ǎ:a ạ:a ẫ:a ằ:a æ:ae Æ:AE ǽ:ae ç:c ć:c Č:C ċ:c ɕ:c ð:d Ð:D đ:d Đ:D ď:d è:e É:E ê:e ë:e
  ē:e ė:e ę:e ě:e ə:a ɛ:e ễ:e ệ:e ĝ:g ğ:g ģ:g ɡ:g ĥ:h ħ:h Ĥ:H ì:i Í:I î:i ï:i ĩ:i İ:I ı:i ị:i ĳ:ij Ĳ:IJ ĵ:j ȷ:j ķ:k ǩ:k ĸ:q ĺ:l ł:l Ł:L ŀ:l ǈ:Lj ǉ:lj
  ñ:n ń:n ň:n ŉ:n ŋ:n Ŋ:N ǌ:nj ò:o Ó:O ô:o õ:o ö:o ø:o Ø:O ő:o ơ:o ộ:o œ:oe Œ:OE ƥ:p ŕ:r ř:r ś:s ş:s š:s ș:s ſ:s ß:ss ẞ:SS ţ:t ț:t ť:t ŧ:t
  þ:th Þ:TH ù:u Ú:U û:u ü:u ũ:u ů:u ű:u ų:u ư:u ự:u ŵ:w ẁ:w ẍ:x ý:y ÿ:y ŷ:y ỹ:y ź:z ż:z ž:z Ƶ:Z ǳ:dz ǅ:Dz ƕ:hv ȣ:ou ﬀ:ff ﬁ:fi ﬂ:fl ﬃ:ffi ﬄ:ffl ﬆ:st
  Ａ:A ｚ:z ７:7 ！:! ＿:_ ～:~ ＼:\\ ²:2 ³:3 ₁:1 ⑩:10 ⒇:(20) ⒛:20. ⓐ:a ⒜:(a) «:" ”:" „:" ‘:' ’:' ′:' –:- —:- ‼:!! ⁇:?? ⁄:/ ⁎:* ⸨:((`
    .split(/\s+/)
    .map(pair => [pair.slice(0, 1), pair.slice(2)] as const)

test('folds as Lucene does', () => {
  expect(pairs.length).toBeGreaterThan(140)
  for (const [character, ascii] of pairs)
    expect(`${character}:${asciiFolded(character)}`).toBe(`${character}:${ascii}`)
})

test('folds within words', () => {
  expect(asciiFolded('Müßiggang in Besançon: cœur brûlé')).toBe('Mussiggang in Besancon: coeur brule')
  expect(asciiFolded('Łódź, Þingvellir')).toBe('Lodz, THingvellir')
  expect(asciiFolded('йод и café が')).toBe('йод и cafe が')
})

test('folding leaves no letter of the Latin languages beyond ASCII', () => {
  const beyond = /[^\0-\x7f]/
  for (const [from, to] of [
    [0xc0, 0x17f],
    [0x1e00, 0x1eff],
  ] as const)
    for (let code = from; code <= to; code += 1) {
      const letter = String.fromCharCode(code)
      // Two that Lucene does not know: Greek by shape, and Middle Welsh.
      if (/\p{L}/u.test(letter) && !'ẟỽ'.includes(letter))
        expect(asciiFolded(letter), letter).not.toMatch(beyond)
    }
})

/** Halves of surrogate pairs too. */
const anyText = fc.array(fc.nat(0xffff)).map(units => String.fromCharCode(...units))

test('folding leaves other scripts and marks unchanged', () => {
  const other = anyText.map(text => text.replace(/[\p{sc=Latin}\p{P}\p{S}\p{N}]/gu, ''))
  fc.assert(fc.property(other, text => asciiFolded(text) === text))
  for (const text of ['йёЙ', 'がぱガ', 'άέΰ', 'اَلْ', 'हिन्दी', '한국어', '東京', 'e\u0301', '😀', '\ud800'])
    expect(asciiFolded(text)).toBe(text)
})

test('folding leaves ASCII unchanged, and is idempotent', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }), text => asciiFolded(text) === text))
  fc.assert(fc.property(anyText, text => asciiFolded(asciiFolded(text)) === asciiFolded(text)))
})
