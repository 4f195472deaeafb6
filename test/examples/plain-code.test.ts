/** Newcomers copy the examples. Therefore the examples are short, have no casts, and run. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** The other folders have clients of other languages, and configurations of load balancers. */
const examples = readdirSync('examples').filter(name => existsSync(`examples/${name}/main.ts`))

function sourcesOf(example: string): readonly string[] {
  const names = readdirSync(`examples/${example}`).filter(name => name.endsWith('.ts'))
  return names.map(name => readFileSync(`examples/${example}/${name}`, 'utf8'))
}

test.each(examples)('%s has fewer than 200 lines, and imports the package by its name', example => {
  const text = sourcesOf(example).join('')
  expect(text.split('\n').length).toBeLessThan(200)
  const imported = [...text.matchAll(/ from '([^']+)'/g)].map(([, name]) => name)
  expect(imported.filter(name => !/^(sheaf(\/\w+)?|node:\w+|\.\/[\w-]+\.js)$/.test(name ?? ''))).toEqual([])
})

test.each(examples)('%s has no cast and no suppressed error', example => {
  for (const text of sourcesOf(example)) {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '')
    expect(code.match(/(?<!\* )\bas (?!const\b)\w+|<any>|: any\b/g) ?? []).toEqual([])
    expect(text).not.toMatch(/@ts-|biome-ignore/)
  }
})

test.each(examples)('the demonstration of %s runs with the built package', example => {
  const printed = execFileSync(process.execPath, [`dist/examples/${example}/main.js`], { encoding: 'utf8' })
  expect(printed.split('\n').length).toBeGreaterThan(5)
})
