import { expect, test } from 'vitest'
import { progressLine } from '../../../adapters/cli/progress.js'

function terminal(isTTY: boolean) {
  const written: string[] = []
  return { isTTY, columns: 10, written, write: (text: string) => written.push(text) }
}

test('a terminal shows one line at a time, no wider than the terminal, at a readable rate', () => {
  let now = 0
  const stream = terminal(true)
  const line = progressLine(stream, { elapsed: () => now })
  line.clear()
  line.show('reading of everything')
  now = 99
  line.show('passed over')
  now = 100
  line.show('done')
  line.clear()
  line.clear()
  expect(stream.written).toEqual(['\r\x1b[Kreading o', '\r\x1b[Kdone', '\r\x1b[K'])
})

test('a pipe gets no progress output', () => {
  const stream = terminal(false)
  const line = progressLine(stream)
  line.show('reading')
  line.clear()
  expect(stream.written).toEqual([])
})
