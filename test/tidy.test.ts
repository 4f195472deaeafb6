/** Rules that code cites have a text, links between documents lead somewhere, decisions are indexed, and every term has one name. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const notOurs = new Set(['node_modules', 'dist', 'venv', 'target', 'golden', 'results', '.git'])

/** Paths of the files below a folder, with `/` on every platform. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : filesBelow(path)
    return entry.isFile() ? [path] : []
  })
}

const read = (path: string) => readFileSync(path, 'utf8')

const documents = new Map(
  filesBelow('.')
    .filter(path => path.endsWith('.md'))
    .map(path => [path, read(path)]),
)

/** A document without its code, in which brackets are no links and `#` is no heading. */
function proseOf(text: string): string {
  return text.replaceAll(/^(`{3,}).*?^\1`*$/gms, '').replaceAll(/`[^`\n]*`/g, code => 'x'.repeat(code.length))
}

describe('rules', () => {
  const pages = { A: 'docs/design/protocol.md', S: 'docs/design/storage.md' } as const
  const rulesOf = (page: string) =>
    [...documents.get(page)!.matchAll(/<a id="([as]-?\d+)"><\/a>\n(?:\*\*|## )([AS]-?\d+) /g)].map(
      ([, id, name]) => ({ id, name: name! }),
    )
  const known = new Set(Object.values(pages).flatMap(page => rulesOf(page).map(({ name }) => name)))

  test.each(Object.values(pages))('%s has every rule once, in order, under its anchor', page => {
    const rules = rulesOf(page)
    expect(rules.length).toBe(documents.get(page)!.match(/<a id=/g)!.length)
    const numbers = rules.map(({ name }) => Number(name.replace(/\D+/, '')))
    expect(numbers).toEqual(numbers.map((_, i) => i + 1))
    expect(rules.map(({ id }) => id)).toEqual(rules.map(({ name }) => name.toLowerCase()))
  })

  test('every rule that code and tests cite has a text', () => {
    const unknown = ['src', 'adapters', 'scripts', 'test'].flatMap(filesBelow).flatMap(path => {
      if (!/\.(ts|mjs)$/.test(path) || path.endsWith('.generated.ts') || path === 'test/tidy.test.ts')
        return []
      return [...read(path).matchAll(/\b(?:A-\d{2,3}|S\d{1,2})\b/g)]
        .filter(([rule]) => !known.has(rule))
        .map(([rule]) => `${path}: ${rule}`)
    })
    expect(unknown).toEqual([])
  })
})

describe('links', () => {
  /** The fragment by which GitHub names a heading. */
  const fragmentOf = (heading: string) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-')

  function fragmentsOf(text: string): Set<string> {
    const fragments = new Set([...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!))
    const withoutBlocks = text.replaceAll(/^(`{3,}).*?^\1`*$/gms, '')
    for (const [, heading] of withoutBlocks.matchAll(/^#+ +(.+?) *$/gm)) {
      const first = fragmentOf(heading!)
      let fragment = first
      for (let n = 1; fragments.has(fragment); n++) fragment = `${first}-${n}`
      fragments.add(fragment)
    }
    return fragments
  }

  test.each([...documents])('those of %s lead to files and headings', (path, text) => {
    const broken = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target]) => target!)
      .filter(target => !/^[a-z]+:/i.test(target))
      .filter(target => {
        const [file, fragment] = target.split('#') as [string, string?]
        const at = file === '' ? path : join(dirname(path), decodeURI(file)).replaceAll('\\', '/')
        if (!existsSync(at)) return true
        if (fragment === undefined) return false
        return statSync(at).isDirectory() || !fragmentsOf(read(at)).has(fragment)
      })
    expect(broken).toEqual([])
  })
})

test('every file that CONTRIBUTING.md and the design pages name is there', () => {
  const pages = [...documents.keys()].filter(path => /^(CONTRIBUTING\.md|docs\/design\/)/.test(path))
  const missing = pages.flatMap(page => {
    const named = documents
      .get(page)!
      .matchAll(/`((?:src|adapters|test|docs|bench|scripts)\/[\w./-]*\w\/?)`/g)
    return [...named].map(([, path]) => path!).filter(path => !existsSync(path))
  })
  expect(missing).toEqual([])
})

test('every file and folder that src/README.md names is there, in src/ or in the repository', () => {
  const named = documents.get('src/README.md')!.matchAll(/`([\w.-]+(?:\/[\w.-]+)*(?:\/|\.(?:ts|mjs)))`/g)
  const paths = [...named].map(([, path]) => path!)
  expect(paths.length).toBeGreaterThan(200)
  expect(paths.filter(path => !existsSync(`src/${path}`) && !existsSync(path))).toEqual([])
})

describe('decisions', () => {
  const folder = 'docs/decisions'
  const index = documents.get(`${folder}/README.md`)!
  const records = [...documents]
    .filter(([path]) => dirname(path) === folder && !path.endsWith('README.md'))
    .map(([path, text]) => ({ file: path.slice(folder.length + 1), text }))
    .sort((a, b) => (a.file < b.file ? -1 : 1))

  test('they are numbered from 1 on, and listed in order by their titles', () => {
    const numbers = records.map(({ file }) => Number(/^(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1]))
    expect(numbers).toEqual(records.map((_, i) => i + 1))
    const rows = records.map(({ file, text }) => {
      const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? []
      return `| [${number}](${file}) | ${title} |`
    })
    expect(index.match(/^\| \[\d{4}\].*$/gm)).toEqual(rows)
  })

  test.each(records)('$file says context, decision, what was rejected, and consequence', ({ file, text }) => {
    expect(text.match(/^# \d{4}/)?.[0]).toBe(`# ${file.slice(0, 4)}`)
    expect(text.match(/^## .+$/gm)).toEqual(['## Context', '## Decision', '## Rejected', '## Consequence'])
  })
})

test('the tables of docs/glossary.md are in alphabetical order', () => {
  const tables = documents.get('docs/glossary.md')!.match(/(?:^\|.*\n)+/gm)!
  const terms = tables.map(table =>
    [...table.matchAll(/^\| (.+?) \|/gm)]
      .slice(1)
      .map(([, term]) => term!.toLowerCase().replaceAll(/[`(),]/g, '')),
  )
  expect(terms.map(each => each.length > 5)).toEqual([true, true, true])
  expect(terms).toEqual(terms.map(each => [...each].sort()))
})

describe('words', () => {
  /** Words that the glossary replaced, and what to write instead. `word`: a regular expression for whole words in any case. */
  const replaced: readonly {
    readonly word: string
    readonly write: string
  }[] = [
    { word: 'upkeep', write: 'maintenance' },
    { word: 'courtesy|courtesies', write: 'back off, priority' },
    { word: 'zeal', write: 'mode' },
    { word: 'sightings?', write: 'heartbeat' },
    {
      word: 'signs? of life',
      write: 'heartbeat',
    },
    {
      word: 'chores',
      write: 'maintenance tasks',
    },
    {
      word: 'made anew',
      write: 'rebuilt',
    },
    {
      word: 'in vain',
      write: 'superseded, without effect',
    },
    { word: 'desks?', write: 'scratch buffer' },
    { word: 'Soon(?=<)', write: 'MaybePromise<' },
    { word: 'Waits(?=<)', write: 'Task<' },
    { word: 'Flow(?=<)', write: 'TaskStream<' },
    { word: 'later\\(\\)', write: 'lazyImport()' },
    { word: 'housekeeping', write: 'maintenance' },
    { word: 'as ever', write: 'the noun or the number' },
    { word: 'anew', write: 'again' },
    { word: 'whoever', write: 'the caller, the reader, the process' },
    { word: 'somebody', write: 'a caller, a process' },
    { word: 'told of', write: 'notified, reported' },
    { word: 'giv(?:en?|es|ing) way|gave way', write: 'back off, be replaced' },
    { word: 'pass(?:es|ed) over', write: 'skip' },
    { word: '(?:cannot|not) be had', write: 'is not available' },
    { word: 'held against', write: 'compared with' },
    { word: 'chore', write: 'maintenance task' },
    { word: '(?:the|its|plain) twin', write: 'reference implementation' },
    { word: 'sieves?', write: 'filter' },
    { word: 'seats?', write: 'worker index' },
  ]

  const exempt = /^docs\/(?:glossary\.md$|decisions\/)|\.generated\.ts$/
  const sources = ['src', 'adapters', 'scripts', 'docs'].flatMap(filesBelow).concat('README.md')
  const texts = sources.filter(path => /\.(?:ts|mjs|md)$/.test(path) && !exempt.test(path))
  const tests = filesBelow('test').filter(path => path.endsWith('.ts'))
  const nameOfTest = /\b(?:test|it|describe)(?:\.\w+(?:\([^\n]*?\))?)?\(\s*(['"`])(?:\\.|(?!\1)[^\\])*\1/g
  const any = new RegExp(replaced.map(({ word }) => `(?<!\\w)(${word})(?!\\w)`).join('|'), 'gi')

  /** Words in `text` as "file:line: word -> replacement". `from`: where `text` begins in `whole`. */
  function wordsIn(path: string, whole: string, text: string, from: number): string[] {
    return [...text.matchAll(any)].map(match => {
      const { write } = replaced[match.slice(1).findIndex(group => group !== undefined)]!
      const line = whole.slice(0, from + match.index).split('\n').length
      return `${path}:${line}: ${match[0]} -> ${write}`
    })
  }

  test('sources, documents and test names use the terms of docs/glossary.md', () => {
    const inTexts = texts.flatMap(path => {
      const text = read(path)
      return wordsIn(path, text, text, 0)
    })
    const inNames = tests.flatMap(path => {
      const text = read(path)
      return [...text.matchAll(nameOfTest)].flatMap(name => wordsIn(path, text, name[0], name.index))
    })
    expect([...inTexts, ...inNames]).toEqual([])
  })

  test('a word is reported with file, line and replacement', () => {
    const text = 'one\ntwo: Upkeep of tables\n'
    expect(wordsIn('docs/x.md', text, text, 0)).toEqual(['docs/x.md:2: Upkeep -> maintenance'])
  })
})
