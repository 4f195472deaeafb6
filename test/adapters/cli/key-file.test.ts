/** Files of secrets by name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readKeys } from '../../../adapters/cli/key-file.js'
import { Misuse } from '../../../adapters/cli/misuse.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sheaf-keys-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function read(text: string) {
  const file = join(folder, 'keys')
  writeFileSync(file, text)
  return readKeys('api-keys', file)
}

test('lines give secrets, JSON may grant databases too', async () => {
  const secrets = { acme: 'a=1', ops: 'o' }
  expect(await read('# team\n\nacme = a=1\r\nops=o\n')).toEqual({ secrets, grants: [] })
  expect(await read('{"acme":"a=1","ops":"o"}')).toEqual({ secrets, grants: [] })
  const json = { acme: { secret: 'a=1', databases: ['acme', 'x'] }, ops: { secret: 'o', databases: [] } }
  expect(await read(`\n ${JSON.stringify(json)}`)).toEqual({
    secrets,
    grants: [
      ['acme', ['acme', 'x']],
      ['ops', []],
    ],
  })
})

test.each([
  ['', 'has no secrets'],
  ['{}', 'has no secrets'],
  ['acme=hidden\nglobex', 'line 2'],
  ['acme=hidden\nacme=hidden2', '"acme" twice'],
  ['{"acme":"hidden"', 'not valid JSON'],
  ['{"acme":7}', ': "acme" in'],
  ['{"acme":null}', ': "acme" in'],
  ['{"acme":""}', ': "acme" in'],
  ['{"acme":{"databases":["a"]}}', ': "acme" in'],
  ['{"acme":{"secret":"hidden","database":["a"]}}', ': "acme" in'],
  ['{"acme":{"secret":"hidden","databases":"a"}}', ': "acme" in'],
])('%j is refused, and no secret is shown', async (text, problem) => {
  const error = await read(text).catch(cause => cause)
  expect(error).toBeInstanceOf(Misuse)
  expect(error.message).toContain(problem)
  expect(error.message).not.toContain('hidden')
})
