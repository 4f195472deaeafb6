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
await ns.createTable('t', [{ a: 1 }])
await ns.operations.declareTable({ id: ['declared'] })
const stream = () => createReadStream('/no/such/file')
await ${write}.catch(error => console.log(error.code))
// So late that the stream has failed in any case.
await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
`

test.each([
  ["ns.createTable('u', stream())", 'ENOENT'],
  ["ns.table('t').add(stream())", 'ENOENT'],
  ["ns.table('t').mergeInsert('a').whenNotMatchedInsertAll().execute(stream())", 'ENOENT'],
  ["ns.table('declared').add(stream())", '13'],
])('%s', (write, code) => {
  const args = ['--input-type=module', '-e', program(write)]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([stderr, stdout]).toEqual(['', `${code}\n`])
})
