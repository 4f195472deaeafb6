/**
 * A stream that cannot even be opened fails before the event loop has turned once. Who writes from it must be listening by then,
 * also with the first call of a process: nobody else is, and an error that nobody listens to ends the process.
 */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shipped } from '../adapters/built.js'

const program = (write: string) => `
import { createReadStream } from 'node:fs'
import { connect } from ${JSON.stringify(shipped('index'))}
const ns = await connect('memory://')
const { operations } = ns
await operations.declareTable({ id: ['t'] })
const stream = () => createReadStream('/no/such/file')
await ${write}.catch(error => console.log(error.code))
`

test.each(["ns.createTable('u', stream())", "ns.table('t').add(stream())"])('%s', write => {
  const args = ['--input-type=module', '-e', program(write)]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([stderr, stdout]).toEqual(['', 'ENOENT\n'])
})
