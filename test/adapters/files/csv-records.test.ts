/** Records out of text. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordSplitter } from '../../../adapters/files/csv-records.js'
import { SheafError } from '../../../src/errors.js'

/** The records of a text that comes in pieces of so many bytes, and the lines they begin on. */
async function split(
  text: string,
  delimiter = ',',
  pieceBytes = 7,
): Promise<[line: number, cells: string[]][]> {
  const splitter = new RecordSplitter(delimiter, line => `line ${line}`)
  const bytes = Buffer.from(text)
  const found: [number, string[]][] = []
  const keep = ({ records, lines }: Awaited<ReturnType<RecordSplitter['push']>>) => {
    records.forEach((cells, i) => {
      found.push([lines[i]!, [...cells]])
    })
  }
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    keep(await splitter.push(bytes.subarray(from, from + pieceBytes)))
  }
  keep(await splitter.end())
  return found
}

describe('records', () => {
  test.each<[string, string, [number, string[]][]]>([
    [
      'cells',
      'a,b\nc,d\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'no line feed at the end',
      'a,b\nc,d',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'LF, CRLF and CR',
      'a,b\r\nc,d\ne,f\rg,h\r\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
        [3, ['e', 'f']],
        [4, ['g', 'h']],
      ],
    ],
    [
      'empty cells, in quotes or not',
      ',"",\n"",,""\n',
      [
        [1, ['', '', '']],
        [2, ['', '', '']],
      ],
    ],
    ['a delimiter at the very end', 'a,', [[1, ['a', '']]]],
    [
      'quotes hold everything',
      '"a,b","c\r\nd\n","e""f"\nx\n',
      [
        [1, ['a,b', 'c\r\nd\n', 'e"f']],
        [4, ['x']],
      ],
    ],
    ['quotes that end with the text', 'a,"b"', [[1, ['a', 'b']]]],
    ['blanks belong to the cell', ' a , b \n', [[1, [' a ', ' b ']]]],
    [
      'a blank line is an empty cell',
      'a,b\n\nc,d\n\r\n',
      [
        [1, ['a', 'b']],
        [2, ['']],
        [3, ['c', 'd']],
        [4, ['']],
      ],
    ],
    ['nothing', '', []],
    ['characters outside the basic plane', '😀,"😀""é"\n', [[1, ['😀', '😀"é']]]],
  ])('%s', async (_, text, records) => {
    for (const pieceBytes of [1, 2, 100]) expect(await split(text, ',', pieceBytes)).toEqual(records)
  })

  test('another delimiter', async () => {
    expect(await split('a;b,c\t;"d;e"\n', ';')).toEqual([[1, ['a', 'b,c\t', 'd;e']]])
    expect(await split('a\tb\n', '\t')).toEqual([[1, ['a', 'b']]])
    expect(await split('a§"§"\n', '§', 1)).toEqual([[1, ['a', '§']]])
  })

  test.each([
    ['text after quotes', 'a\n"b"c,d\n', 'line 2: cell 1 continues after its closing quote'],
    ['blanks after quotes', 'a\n"b" ,d\n', 'line 2: cell 1 continues after its closing quote'],
    ['quotes that are not closed', 'a\nb,"c\nd\n', 'line 2: the quote of cell 2 is not closed'],
    [
      'quotes within a cell',
      '"a\r\nb\r\nc"\r\nd\r\n5" x\r\n',
      'line 5: cell 1 contains a quote but does not begin with one',
    ],
  ])('refuses %s', async (_, text, message) => {
    for (const pieceBytes of [1, 2, 100]) await expect(split(text, ',', pieceBytes)).rejects.toThrow(message)
  })

  test('refuses quotes that are never closed before they fill the memory', async () => {
    const splitter = new RecordSplitter(',', line => `line ${line}`)
    await splitter.push(Buffer.from('a\n"'))
    const filler = Buffer.alloc(2 ** 20, 'x\n')
    const all = async () => {
      for (;;) await splitter.push(filler)
    }
    await expect(all()).rejects.toThrow('line 2 begins a record that is longer than 67108864 bytes')
  })
})

/** Mostly what matters to a parser. */
const hostile = fc.array(fc.constantFrom('a', ',', '"', '"', '\n', '\r', '\r\n', ' ', 'é'), { maxLength: 30 })

describe('any text', () => {
  test('gives the same records or the same error for any chunk boundaries', async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(hostile, fc.integer({ min: 1, max: 8 }), async (parts, pieceBytes) => {
        const outcome = (bytes: number) =>
          split(parts.join(''), ',', bytes).catch(error => {
            expect(error).toBeInstanceOf(SheafError)
            return (error as Error).message
          })
        const whole = await outcome(1000)
        if (typeof whole !== 'string') accepted++
        expect(await outcome(pieceBytes)).toEqual(whole)
      }),
      { numRuns: 1000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  test('in quotes comes back, and its lines are counted', async () => {
    const cells = fc.array(
      hostile.map(parts => parts.join('')),
      { minLength: 2, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(cells, { maxLength: 5 }),
        fc.constantFrom('\n', '\r\n'),
        async (records, end) => {
          const texts = records.map(
            record => record.map(cell => `"${cell.replaceAll('"', '""')}"`).join(',') + end,
          )
          const lines = texts.map((_, i) => texts.slice(0, i).join('').split('\n').length)
          expect(await split(texts.join(''))).toEqual(records.map((record, i) => [lines[i], record]))
        },
      ),
      { numRuns: 500 },
    )
  })
})
