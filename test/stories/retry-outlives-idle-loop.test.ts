/**
 * A delete that loses a race waits a moment and starts over. That wait once did not count as work: with nothing else
 * to do the process ended in the middle of the awaited call.
 */
import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { shipped } from '../adapters/built.js'

test('a process lives until its deletes have settled', () => {
  const script = `
    const { connect } = await import(${JSON.stringify(pathToFileURL(shipped('index')).href)})
    const one = await connect('memory://story'), two = await connect('memory://story')
    await one.createTable('t', Array.from({ length: 100 }, (_, id) => ({ id })))
    const tables = [await one.openTable('t'), await two.openTable('t')]
    const done = await Promise.allSettled(Array.from({ length: 12 }, (_, id) => tables[id % 2].delete('id = ' + id)))
    console.log(done.length)`
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })).toBe(
    '12\n',
  )
})
