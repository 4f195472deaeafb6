/** The documents list what exists, their links lead somewhere, and their code runs as it stands. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { decodeIpc } from '../src/arrow/decode-ipc.js'
import { ErrorCode, SheafError } from '../src/errors.js'
import { operationNames } from '../src/protocol/operations.js'
import { aggregateNames } from '../src/sql/binding/aggregates.js'
import { rewriteNames } from '../src/sql/binding/rewrites.js'
import { functionNames } from '../src/sql/functions/functions.js'
import { blocksOf, docScripts, headingsOf, linksOf } from './support/doc-blocks.js'

const pages = readdirSync('docs').filter(name => name.endsWith('.md'))

/** Pages whose blocks are checked below. */
const checkedBelow = ['worker.md', 'http.md']

const withCode = pages.filter(
  page => !checkedBelow.includes(page) && blocksOf(join('docs', page), 'js').length > 0,
)

describe.each(withCode)('docs/%s', page => {
  const scripts = docScripts()
  // An error names the file of the block: `1-3.mjs` is the third block.
  test('every block runs', () => {
    const blocks = blocksOf(join('docs', page), 'js')
    expect(scripts.run(...blocks).length).toBe(blocks.length)
  })
})

describe('docs/quickstart.md', () => {
  const scripts = docScripts()
  const [first, ...others] = blocksOf('docs/quickstart.md', 'js')
  const commands = blocksOf('docs/quickstart.md', 'sh')

  test('the first block finds the nearest rows, and reads an old version', () => {
    const [out] = scripts.run(first!)
    expect(out).toContain('Quivers full')
    expect(out!.trim().split('\n').at(-1)).toBe('2')
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
      const { schema } = decodeIpc(readFileSync(join(scripts.folder, 'found.arrow')))
      expect(schema.fields.map(field => field.name)).toEqual(['id', 'title', 'year', 'vector', '_distance'])
    } finally {
      server.kill('SIGTERM')
    }
  })

  test('the client and the workers find the table, and an error says what is wrong', () => {
    const [remote, errors] = scripts.run(...others)
    expect(remote).toBe("[ 'docs' ]\n[ 'docs' ]\n")
    expect(errors).toMatch(/^true\n.*prise.* - .*price/)
  })
})

test('docs/errors.md has a heading for every code and no other, and a row with its number and status', () => {
  const text = readFileSync('docs/errors.md', 'utf8')
  const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual(Object.keys(ErrorCode))
  const rows = [...text.matchAll(/^\| (\d+) \| \[(\w+)\]\(#(\w+)\) \| (\d+) \| `([a-z-]+)`/gm)]
  expect(rows.map(([, ...cells]) => cells)).toEqual(
    Object.entries(ErrorCode).map(([name, code]) => {
      const { docs, status, kind } = new SheafError(code, 'a message')
      return [String(code), name, docs.replace('sheaf/docs/errors.md#', ''), String(status), kind]
    }),
  )
  for (const [name, code] of Object.entries(ErrorCode)) {
    const { status, kind } = new SheafError(code, 'a message')
    expect(text).toContain(`## ${name}\n\nCode ${code}, kind \`${kind}\`, status ${status}. `)
  }
})

test('docs/sql.md names every function, and no other', () => {
  const text = readFileSync('docs/sql.md', 'utf8')
  const [, table] = text.split(/<!-- \/?functions -->/)
  const listed = [...table!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name!)
  expect(listed.sort()).toEqual([...functionNames, ...rewriteNames, ...aggregateNames].sort())
})

describe('pages whose output is checked', () => {
  const scripts = docScripts()

  test('docs/worker.md prints the id of the nearest row', () => {
    expect(scripts.run(...blocksOf('docs/worker.md', 'js'))).toEqual(['1\n'])
  })

  test('docs/http.md prints what its comments say', () => {
    const printed = scripts.run(...blocksOf('docs/http.md', 'js'))
    expect(printed).toHaveLength(11)
    expect(printed[0]).toMatch(
      /^3\n.*"id": 3.*"id": 2.*\n.*"half": 1.25.*\n.*"id": 1, .*\n404 .*did you mean .*price/,
    )
    expect(printed[1]).toBe('[{"title":"Ulysses","_distance":0}]\n\nid,title\n1,Emma\n2,Ulysses\n\n')
    expect(printed[2]).toMatch(/^1$[\s\S]*^15 /m)
    expect(printed[4]).toBe('[ { id: 1 } ]\n')
    expect(printed[5]).toBe('https://app.example\n403\n')
    expect(printed[6]).toMatch(/^\[\]$/m)
    expect(printed[7]).toBe('15 not allowed: the database "acme"\n')
    expect(printed[8]).toMatch(/r-17 .*blue[\s\S]*second \(by blue\)/)
  })
})

test('every operation that docs/http.md names exists', () => {
  const text = readFileSync('docs/http.md', 'utf8')
  const verbs = /`((?:alter|batch|cancel|create|declare|deregister|describe|drop|list|rename)[A-Z]\w+)`/g
  const named = [...text.matchAll(verbs)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(10)
  expect(operationNames).toEqual(expect.arrayContaining(named))
})

describe('links', () => {
  test('docs/README.md links to every page', () => {
    const others = pages.filter(page => page !== 'README.md')
    expect(linksOf('docs/README.md')).toEqual(expect.arrayContaining(others))
  })

  test.each(['README.md', 'CHANGELOG.md', 'src/README.md', ...pages.map(page => `docs/${page}`)])(
    'links of %s lead to files and headings that exist',
    document => {
      const broken = linksOf(document).filter(link => {
        const [path, heading] = link.split('#')
        const target = path === '' ? document : join(dirname(document), path!)
        if (!existsSync(target)) return true
        return heading !== undefined && !headingsOf(target).includes(heading)
      })
      expect(broken).toEqual([])
    },
  )
})

test('npm commands in the documents are scripts of the package', () => {
  const { scripts: known } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const page of pages) {
    const text = readFileSync(join('docs', page), 'utf8')
    for (const [, command, script] of text.matchAll(/\bnpm (start|test|run ([\w:]+))/g)) {
      expect(known, page).toHaveProperty([script ?? command!])
    }
  }
})
