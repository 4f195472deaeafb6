/** A program that imports and requires Sheaf has two copies of it: the ES modules and the CommonJS build. They work as one. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Run a module with both copies, `a` (imported) and `b` (required), in a process of its own. Returns what it prints, as JSON. */
function withBoth(code: string): unknown {
  const script = `
    import { createRequire } from 'node:module'
    import * as a from 'sheaf'
    const load = createRequire(process.cwd() + '/program.js')
    const b = load('sheaf')
    ${code}`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
  )
}

test('both builds export the same names', () => {
  const names = [
    '',
    '/protocol',
    '/http',
    '/worker',
    '/files',
    '/storage',
    '/s3',
    '/azure',
    '/gcs',
    '/postgres',
    '/opentelemetry',
    '/flexsearch',
  ]
  const found = withBoth(`
    const both = []
    for (const name of ${JSON.stringify(names)}) {
      both.push([Object.keys(await import('sheaf' + name)), Object.keys(load('sheaf' + name))])
    }
    console.log(JSON.stringify(both))`) as string[][][]
  expect(found).toHaveLength(names.length)
  for (const [imported, required] of found) expect(required!.sort()).toEqual(imported!.sort())
})

test.each(['lib', 'cjs'])('bundlers do not follow the import of a provider of object storage: %s', build => {
  const imports = readdirSync(join('dist', build)).flatMap(
    name => readFileSync(join('dist', build, name), 'utf8').match(/\bimport\([^)]*\.entry\)/g) ?? [],
  )
  expect(imports).toEqual([
    expect.stringMatching(/^import\(\/\* webpackIgnore: true \*\/ \/\* @vite-ignore \*\/ /),
  ])
})

test('an error of one build is an instance of the class of the other', () => {
  const found = withBoth(`
    class Own extends b.SheafError {}
    const error = await (await a.connect('memory://')).openTable('t').catch(reason => reason)
    const ambiguous = new b.Ambiguous('lost')
    console.log(JSON.stringify({
      same: a.SheafError === b.SheafError,
      error: [error instanceof a.SheafError, error instanceof b.SheafError, error instanceof Error],
      ambiguous: [ambiguous instanceof a.Ambiguous, ambiguous instanceof a.SheafError, error instanceof a.Ambiguous],
      own: [error instanceof Own, new Own(4, 'x') instanceof Own, new Own(4, 'x') instanceof a.SheafError],
      others: [null, undefined, 1, new Error('x'), {}].map(value => value instanceof a.SheafError),
    }))`)
  expect(found).toEqual({
    same: false,
    error: [true, true, true],
    ambiguous: [true, true, false],
    own: [false, true, true],
    others: [false, false, false, false, false],
  })
})

test('a named root in memory is the same for both builds', () => {
  const found = withBoth(`
    const writer = await a.connect('memory://shared')
    await writer.createTable('t', [{ id: 1 }])
    const reader = await b.connect('memory://shared')
    await (await reader.openTable('t')).add([{ id: 2 }])
    console.log(JSON.stringify(await (await writer.openTable('t')).countRows()))`)
  expect(found).toBe(2)
})

test('a condition made by the tag sql of one build is a condition for the other', () => {
  const found = withBoth(`
    const ns = await a.connect('memory://')
    const table = await ns.createTable('t', [{ id: 1 }, { id: 2 }])
    console.log(JSON.stringify(await table.countRows(b.sql\`id > \${1}\`)))`)
  expect(found).toBe(1)
})

test('the memories of kernels are counted together', () => {
  const found = withBoth(`
    const [state] = Object.getOwnPropertySymbols(globalThis).filter(key => String(key).includes('sheaf.'))
    const memories = globalThis[state].get('kernel memories')
    const opened = []
    for (const { connect } of [a, b]) {
      const ns = await connect('memory://')
      const rows = Array.from({ length: 5_000 }, () => ({ vector: new Float32Array(8) }))
      const table = await ns.createTable('t', rows)
      await table.search(new Float32Array(8)).toArray()
      opened.push(memories.open)
    }
    console.log(JSON.stringify(opened[1] > opened[0] && opened[0] > 0))`)
  expect(found).toBe(true)
})

test('the library does not turn on the compile cache', () => {
  const found = withBoth(`
    const module = load('node:module')
    let calls = 0
    module.enableCompileCache = () => { calls++ }
    for (const { connect } of [a, b]) await (await connect('memory://')).close()
    console.log(JSON.stringify([calls, module.getCompileCacheDir?.() ?? null]))`)
  expect(found).toEqual([0, null])
})

test('a text that is given to node -e can create a table', () => {
  const script = `(async () => {
    const { connect } = await import('sheaf')
    const ns = await connect('memory://')
    const table = await ns.createTable('t', [{ id: 1 }])
    console.log(JSON.stringify(await table.query().toArray()))
  })()`
  const printed = execFileSync(process.execPath, ['--input-type=commonjs', '-e', script], {
    encoding: 'utf8',
  })
  expect(JSON.parse(printed)).toEqual([{ id: 1 }])
})
