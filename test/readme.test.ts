/** Every code block of the README runs: JavaScript as it stands, shell commands against the built package. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeIpc } from '../src/arrow/decode-ipc.js'

const readme = readFileSync('README.md', 'utf8')
const blocks = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language, text]) => ({
  language: language!,
  text: text!,
}))

/** Inside the package, so that `import 'sheaf'` finds it the way users do. */
let folder: string

beforeAll(() => {
  mkdirSync('dist/readme', { recursive: true })
  folder = mkdtempSync(join('dist', 'readme', 'run-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const scripts = blocks.filter(({ language }) => language === 'js')

describe('JavaScript', () => {
  test.each(scripts.map(({ text }, i) => ({ name: `block ${i + 1}`, text, i })))(
    '$name runs',
    ({ text, i }) => {
      const file = join(folder, `block-${i + 1}.mjs`)
      writeFileSync(file, withoutUsing(text))
      const out = execFileSync(process.execPath, [resolve(file)], { cwd: folder, encoding: 'utf8' })
      if (i === 0) {
        expect(out).toContain('Quivers full')
        expect(out.trim().split('\n').at(-1)).toBe('2')
      }
    },
  )
})

/** Node 20 parses no `await using`; what it means is written out. */
function withoutUsing(text: string): string {
  const match = /await using (\w+) =/.exec(text)
  return match === null ? text : `${text.replace('await using', 'const')}\nawait ${match[1]}.close()\n`
}

describe('shell', () => {
  const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)

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
    const server = spawn(process.execPath, [resolve('dist/lib/cli.js'), ...args], { cwd: folder })
    try {
      const address = await new Promise<string>((found, failed) => {
        server.on('exit', code => failed(new Error(`the server ended with ${code}`)))
        server.stdout.on('data', data => {
          const match = /http:\/\/\S+/.exec(String(data))
          if (match) found(match[0])
        })
      })
      const command = curl.replace('http://127.0.0.1:2333', address)
      execFileSync('sh', ['-c', command], { cwd: folder })
      const { schema } = decodeIpc(readFileSync(join(folder, 'hits.arrow')))
      expect(schema.fields.map(field => field.name)).toEqual(['id', 'title', 'year', 'vector', '_distance'])
    } finally {
      server.kill('SIGTERM')
    }
  })
})
