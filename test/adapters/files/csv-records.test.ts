/** Records out of text, beside a parser of others. */
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordSplitter } from '../../../adapters/files/csv-records.js'

type Cells = (string | null)[]

/** What the splitter makes of text that comes in pieces of whole lines. */
function split(text: string, nulls: readonly string[] = [''], delimiter = ','): Cells[] {
  const splitter = new RecordSplitter(delimiter, new Set(nulls), line => `line ${line}`)
  const records: Cells[] = []
  for (const piece of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    splitter.push(piece)
    const { cells, ends } = splitter.take()
    ends.forEach((end, i) => {
      records.push(cells.slice(i === 0 ? 0 : ends[i - 1], end))
    })
  }
  splitter.end()
  return records
}

describe('records', () => {
  test.each<[string, string, Cells[]]>([
    [
      'cells',
      'a,b\nc,d\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'no line feed at the end',
      'a,b\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'CRLF, and both',
      'a,b\r\nc,d\ne,f\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'f'],
      ],
    ],
    [
      'empty cells are null, quoted ones are not',
      ',"",\n"",,""\n',
      [
        [null, '', null],
        ['', null, ''],
      ],
    ],
    ['a delimiter at the very end', 'a,', [['a', null]]],
    ['quotes hold everything', '"a,b","c\r\nd\n","e""f"\n', [['a,b', 'c\r\nd\n', 'e"f']]],
    ['quotes that end with the text', 'a,"b"', [['a', 'b']]],
    ['quotes inside a cell are characters', 'a"b,5" x\n', [['a"b', '5" x']]],
    ['blanks belong to the cell', ' a , b \n', [[' a ', ' b ']]],
    ['a blank line has no cells', 'a,b\n\nc,d\n\r\n', [['a', 'b'], [], ['c', 'd'], []]],
    ['nothing', '', []],
    ['characters outside the basic plane', '😀,"😀""é"\n', [['😀', '😀"é']]],
  ])('%s', (_, text, records) => {
    expect(split(text)).toEqual(records)
  })

  test('texts that mean null do so without quotes only', () => {
    expect(split('NA,"NA",,""\n', ['NA'])).toEqual([[null, 'NA', '', '']])
    expect(split('NA,x,\n', ['', 'NA', 'x'])).toEqual([[null, null, null]])
  })

  test('another delimiter', () => {
    expect(split('a;b,c\t;"d;e"\n', [''], ';')).toEqual([['a', 'b,c\t', 'd;e']])
    expect(split('a\tb\n', [''], '\t')).toEqual([['a', 'b']])
  })

  test.each([
    ['text after quotes', 'a\n"b"c,d\n', 'line 2 goes on after closing quotes: "c,d\\n"'],
    ['quotes that are not closed', 'a\nb,"c\nd\n', 'line 2 opens quotes that are not closed'],
    ['a lone carriage return', 'a\n"x\ny"\nb\rc\n', 'line 4 has a carriage return that no line feed follows'],
    ['an empty cell before one', 'a,\rb\n', 'line 1 has a carriage return that no line feed follows'],
  ])('refuses %s', (_, text, message) => {
    expect(() => split(text)).toThrow(message)
  })
})

/** Mostly what matters to a parser. */
const hostile = fc.array(fc.constantFrom('a', ',', '"', '"', '\n', '\r\n', ' ', 'é'), { maxLength: 30 })

describe('beside csv-parse', () => {
  function others(text: string): Cells[] {
    return parse(text, {
      relax_column_count: true,
      record_delimiter: ['\r\n', '\n'],
      cast: (cell, { quoting }) => (cell === '' && !quoting ? null : cell),
    }) as Cells[]
  }

  test('what it accepts is the same records here', () => {
    let accepted = 0
    fc.assert(
      fc.property(hostile, parts => {
        const text = parts.join('')
        let expected: Cells[]
        try {
          expected = others(text)
        } catch {
          return
        }
        accepted++
        expect(split(text).map(cells => (cells.length === 0 ? [null] : cells))).toEqual(expected)
      }),
      { numRuns: 3000 },
    )
    expect(accepted).toBeGreaterThan(500)
  })
})
