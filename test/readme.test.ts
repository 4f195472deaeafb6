/** Every code block of the README runs: JavaScript as it stands, shell commands against the built package. */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { decodeIpc } from '../src/arrow/decode-ipc.js'
import { blocksOf, docScripts } from './support/doc-blocks.js'

const scripts = docScripts()

describe('JavaScript', () => {
  test.each(blocksOf('README.md', 'js').map((text, i) => ({ name: `block ${i + 1}`, text, i })))(
    '$name runs',
    ({ text, i }) => {
      const [out] = scripts.run(text)
      if (i === 0) {
        expect(out).toContain('Quivers full')
        expect(out!.trim().split('\n').at(-1)).toBe('2')
      }
    },
  )
})

describe('shell', () => {
  const commands = blocksOf('README.md', 'sh')

  test('npm commands are scripts of the package', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const named = [...commands.join('\n').matchAll(/^npm (start|test|run (\S+))/gm)]
    expect(named.length).toBeGreaterThan(1)
    for (const [, command, script] of named) expect(scripts).toHaveProperty(script ?? command!)
  })

  test('the server starts, and curl gets an Arrow file from it', async () => {
    const serve = commands.find(text => text.startsWith('npx sheaf serve'))!
    const curl = commands.find(text => text.startsWith('curl'))!
    const [, , ...args] = serve.trim().replace('2333', '0').split(' ')
    const server = spawn(process.execPath, [resolve('dist/lib/cli.js'), ...args], { cwd: scripts.folder })
    try {
      const address = await new Promise<string>((found, failed) => {
        server.on('exit', code => failed(new Error(`the server ended with ${code}`)))
        server.stdout.on('data', data => {
          const match = /http:\/\/\S+/.exec(String(data))
          if (match) found(match[0])
        })
      })
      const command = curl.replace('http://127.0.0.1:2333', address)
      execFileSync('sh', ['-c', command], { cwd: scripts.folder })
      const { schema } = decodeIpc(readFileSync(join(scripts.folder, 'hits.arrow')))
      expect(schema.fields.map(field => field.name)).toEqual(['id', 'title', 'year', 'vector', '_distance'])
    } finally {
      server.kill('SIGTERM')
    }
  })
})
