import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  agreeOnId,
  checkIndexName,
  checkName,
  checkTagName,
  decodeSegment,
  delimiterFor,
  encodeSegment,
  formatId,
  parseId,
} from '../../src/protocol/identifiers.js'

const bad = expect.objectContaining({ code: 13, status: 400 })

test('names contain no control character, no half of a surrogate pair and none of five signs', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const character = String.fromCharCode(code)
    const isBad = /[\p{Cc}\p{Cs}/\\?#%]/u.test(character)
    const check = () => checkName(`a${character}b`, 'the name')
    if (isBad) expect(check).toThrowError(bad)
    else check()
  }
  checkName('a\u{1f600}b', 'the name')
})

describe('string identifiers', () => {
  test('A-006 one percent-decoding, then the delimiter splits', () => {
    expect(parseId(decodeSegment('a%24b$c'))).toStrictEqual(['a', 'b', 'c'])
    expect(parseId(decodeSegment('a%2524b'))).toStrictEqual(['a%24b'])
  })

  test('A-006 malformed percent-encoding is refused', () => {
    for (const segment of ['a%b', '%', '%ff', '%c3%28'])
      expect(() => decodeSegment(segment)).toThrowError(bad)
  })

  test('A-007 the delimiter is $ unless given, may be long, and must not be empty', () => {
    expect(parseId('a$b$t')).toStrictEqual(['a', 'b', 't'])
    expect(parseId('a.b.t', '.')).toStrictEqual(['a', 'b', 't'])
    expect(parseId('a::b:c', '::')).toStrictEqual(['a', 'b:c'])
    expect(() => parseId('a', '')).toThrowError(bad)
  })

  test('A-008 the delimiter alone is the root', () => {
    for (const delimiter of ['$', '.', '::']) {
      expect(parseId(delimiter, delimiter)).toStrictEqual([])
      expect(formatId([], delimiter)).toBe(delimiter)
    }
  })

  test('A-009 empty names are dropped', () => {
    expect(parseId('$$t$$')).toStrictEqual(['t'])
    expect(parseId('a$$b')).toStrictEqual(['a', 'b'])
    expect(parseId('')).toStrictEqual([])
  })

  test('A-010 any names pass through a path under the delimiter chosen for them', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1 }).filter(text => !text.includes('\u001f'))
    fc.assert(
      fc.property(fc.array(name), id => {
        fc.pre(id.length !== 1 || !/^\.\.?$/.test(id[0]!))
        const delimiter = delimiterFor(id)
        expect(parseId(decodeSegment(encodeSegment(formatId(id, delimiter))), delimiter)).toStrictEqual(id)
      }),
    )
  })

  test.each(['.', '..', 'a\ud800'])('%j cannot be a segment, and the error says so', text => {
    expect(() => encodeSegment(text)).toThrowError(bad)
  })
})

describe('path and body', () => {
  test('A-010 a body that joins to the path wins, so its names may contain the delimiter', () => {
    expect(agreeOnId('a$b', ['a$b'])).toStrictEqual(['a$b'])
    expect(agreeOnId('ns$a$b', ['ns', 'a$b'])).toStrictEqual(['ns', 'a$b'])
    expect(agreeOnId('a.b', ['a.b'], '.')).toStrictEqual(['a.b'])
  })

  test('A-012 different identifiers are refused', () => {
    expect(() => agreeOnId('a$b', ['a', 'c'])).toThrowError(bad)
    expect(() => agreeOnId('a', [])).toThrowError(bad)
    expect(() => agreeOnId('$', ['a'])).toThrowError(bad)
  })

  test('A-013 without a body id the path counts, and an equal one is accepted', () => {
    expect(agreeOnId('a$b', undefined)).toStrictEqual(['a', 'b'])
    expect(agreeOnId('a$b', ['a', 'b'])).toStrictEqual(['a', 'b'])
    expect(agreeOnId('$', [])).toStrictEqual([])
    expect(agreeOnId('$$t$$', ['t'])).toStrictEqual(['t'])
    expect(agreeOnId('t', ['', 't'])).toStrictEqual(['t'])
  })
})

describe('A-120 names', () => {
  test.each(['a', 'a b', 'é', '表', 'a:b', "a'b", 'a$b', '...', '.a', '😀', 'x'.repeat(255)])(
    '%s is a name',
    name => {
      expect(() => checkName(name, 'id[0]')).not.toThrow()
    },
  )

  test.each([
    '',
    '.',
    '..',
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    'a%b',
    'a\nb',
    '\u0000',
    'a\u007f',
    '\u0085',
    '\ud800',
    'é'.repeat(128),
  ])('%j is none', name => {
    expect(() => checkName(name, 'createTable: id[0]')).toThrowError(bad)
    expect(() => checkName(name, 'createTable: id[0]')).toThrow(/^createTable: id\[0\] is not a valid name/)
  })
})

describe('A-093 index names', () => {
  test.each(['a_idx', 'a/b', 'my index', '%', '...', 'x'.repeat(255)])('%s is one', name => {
    expect(() => checkIndexName(name, 'name')).not.toThrow()
  })

  test.each(['.', '..', '\udfff', 'x'.repeat(256)])('%j is refused', name => {
    expect(() => checkIndexName(name, 'name')).toThrowError(bad)
  })
})

describe('A-155 tag names', () => {
  test.each(['v1', 'v1.0-rc_2', 'é1', 'PROD', 'x'.repeat(255)])('%s is one', name => {
    expect(() => checkTagName(name, 'tag')).not.toThrow()
  })

  test.each([
    '',
    '.a',
    'a.',
    'a..b',
    '../x',
    'a/b',
    '/a',
    'a b',
    'a.lock',
    'a$',
    '__proto__',
    'x'.repeat(256),
  ])('%j is none', name => {
    expect(() => checkTagName(name, 'tag')).toThrowError(bad)
  })
})
