/** The README is short, its code runs as it stands, and its commands, links and chart exist. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { readmeChart, themes } from '../scripts/readme-chart.js'
import { connect, schema } from '../src/index.js'
import { blocksOf, docScripts, linksOf } from './support/doc-blocks.js'

const text = readFileSync('README.md', 'utf8')
const { name, scripts: npmScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
const scripts = docScripts()

test('the README has at most 250 lines and 1,500 words', () => {
  expect(text.split('\n').length).toBeLessThanOrEqual(250)
  expect(text.split(/\s+/).length).toBeLessThanOrEqual(1500)
})

describe('the quickstart', () => {
  const [quickstart, ...others] = blocksOf('README.md', 'js')

  test('is the only JavaScript of the README, and has at most 25 lines', () => {
    expect(others).toEqual([])
    expect(quickstart!.trimEnd().split('\n').length).toBeLessThanOrEqual(25)
  })

  test('prints what its comments say, also when it runs again', () => {
    for (const run of ['first', 'second']) {
      const [out] = scripts.run(quickstart!)
      const [nearest, words, hybrid, rows] = out!.split(/^(?=\[)|^(?=\d+$)/m)
      expect(nearest, run).toMatch(/Quivers full of arrows[\s\S]*Arrows in flight/)
      expect(words, run).toMatch(/Arrows in flight/)
      expect(words, run).toMatch(/Quivers full of arrows/)
      expect(hybrid, run).toMatch(/Sheaves of wheat/)
      expect(rows, run).toBe('2\n')
    }
  })
})

describe('the quickstart in TypeScript', () => {
  const [code, ...others] = blocksOf('README.md', 'ts')
  const path = 'test/readme/quickstart.ts'

  test('is the program that the type checker reads, and has at most 25 lines', () => {
    expect(others).toEqual([])
    expect(code).toBe(readFileSync(path, 'utf8'))
    expect(code!.trimEnd().split('\n').length).toBeLessThanOrEqual(25)
  })

  test('prints what its comments say', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import('./readme/quickstart.js')
    expect(log.mock.calls).toEqual([['Lamp', 2, ['Chair', 'Lamp']], [2]])
    log.mockRestore()
  })

  test('the compiler checks columns in rows, get, select, orderBy and update, but not in SQL texts', async () => {
    const columns = schema({ id: 'int64!', name: 'string' })
    const ns = await connect('memory://readme-types')
    const table = await ns.createTable('t', [{ id: 1 }], { schema: columns })
    const mistakes = [
      // @ts-expect-error no such column
      () => table.add([{ id: 1, nam: 'x' }]),
      // @ts-expect-error no such column
      () => table.get({ idd: 1 }),
      // @ts-expect-error no such column
      () => table.query().select(['nam']).toArray(),
      // @ts-expect-error no such column
      () => table.query().orderBy('nam').toArray(),
      // @ts-expect-error no such column
      () => table.update({ nam: 'x' }),
      () => table.query().where('nam = 1').toArray(),
      () => table.query().groupBy('nam').select({ n: 'count(*)' }).toArray(),
    ]
    for (const mistake of mistakes) await expect((async () => mistake())()).rejects.toThrow(/nam|idd/)
    await ns.close()
  })
})

test('the README links no files that the package lacks', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8'))
  const shipped = [...files, 'README.md', 'LICENSE', 'package.json']
  const lacking = linksOf('README.md').filter(link => !shipped.includes(link.split(/[/#]/)[0]!))
  expect(lacking).toEqual(['CONTRIBUTING.md', 'src/README.md'])
})

describe('commands', () => {
  test('npm installs this package', () => {
    expect(blocksOf('README.md', 'sh')[0]).toBe(`npm install ${name}\n`)
  })

  test('npm commands are scripts of the package', () => {
    const commands = [...text.matchAll(/\bnpm (start|test|run ([\w:]+))/g)].map(
      ([, command, script]) => script ?? command!,
    )
    expect(commands).toContain('start')
    expect(commands).toContain('test')
    for (const command of commands) expect(npmScripts).toHaveProperty([command])
  })

  test('every comparison in the README exists', () => {
    const tasks = [...text.matchAll(/npm run bench:compare -- ([\w-]+)/g)].map(([, task]) => task!)
    expect(tasks.length).toBeGreaterThanOrEqual(5)
    for (const task of tasks) expect(existsSync(`bench/compare/${task}.mjs`), task).toBe(true)
  })
})

test.each(themes)('the %s chart shows the newest stored line', theme => {
  const { image, source } = readmeChart(theme)
  expect(text).toContain(image)
  const hint = 'run node scripts/readme-chart.js'
  expect(readFileSync(image, 'utf8') === readFileSync(source, 'utf8'), hint).toBe(true)
})
