/** The documented configuration of nginx: only its syntax. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const isInstalled = spawnSync('nginx', ['-v']).error === undefined
if (!isInstalled) console.log('stores: the configuration of nginx skipped: nginx is not installed')

test.skipIf(!isInstalled)('nginx accepts its documented configuration', () => {
  const file = resolve('examples/deploy/nginx.conf')
  const { status, stderr } = spawnSync('nginx', ['-t', '-c', file], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, expect.stringContaining('syntax is ok')])
})
