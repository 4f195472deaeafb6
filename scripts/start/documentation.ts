/** Runs the demonstration with data that every checkout has: the documentation of the installed packages. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Row } from '../../src/index.js'
import { trainEmbedding } from './embedding.js'
import { line, short, step } from './report.js'

const dimensions = 512
const question = 'property based testing that shrinks failing random examples'

interface Package {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly bytes: number
  readonly sections: readonly { readonly heading: string; readonly text: string }[]
}

export async function searchDocumentation(modules: string, root: string): Promise<void> {
  rmSync(root, { recursive: true, force: true })
  line('Sheaf searches the documentation of the installed packages.\n')

  const packages = await step('read', async () => {
    const found = readPackages(modules)
    const sections = found.reduce((sum, { sections }) => sum + sections.length, 0)
    return [found, `${found.length} packages, ${sections} sections of documentation`]
  })
  const { rows, embed } = await step('embed', async () => {
    const sections = packages.flatMap(({ sections, ...about }) =>
      sections.map(section => ({ ...about, ...section })),
    )
    const texts = sections.map(({ name, heading, text }) => `${name} ${heading} ${heading} ${text}`)
    const embed = trainEmbedding(texts, dimensions)
    const rows = sections.map((section, id): Row => ({ id, ...section, vector: embed(texts[id]!) }))
    return [{ rows, embed }, `${dimensions} dimensions: TF-IDF of words and prefixes, hashed`]
  })

  const half = Math.floor(rows.length / 2)
  const ns = await step('open', async () => [await connect(root), `a namespace in ./${root}`])
  const docs = await step('create', async () => {
    return [await ns.createTable('docs', rows.slice(0, half)), `table docs from ${half} rows: version 1`]
  })
  await step('tag', async () => [await docs.tags.create('first', 1), 'version 1 is called "first"'])
  await step('add', async () => {
    const added = await docs.add(rows.slice(half))
    return [added, `${added.rows} more rows: version ${added.version}`]
  })

  const vector = embed(question)
  const search = docs
    .search(vector)
    .distanceType('cosine')
    .select(['name', 'license', 'heading', 'text'])
    .limit(3)
  line(`\n"${question}"`)
  await show('search', () => search.toArray(), `in ${rows.length} rows, nearest by cosine`)
  const small = () => search.where('license = ? AND bytes < ?', ['MIT', 1_000_000]).toArray()
  await show('filter', small, "where license = 'MIT' and bytes < 1000000")
  const first = await docs.checkout('first')
  const earlier = first
    .search(vector)
    .distanceType('cosine')
    .select(['name', 'license', 'heading', 'text'])
    .limit(3)
  await show('travel', () => earlier.toArray(), `at tag "first": ${await first.countRows()} rows`)
  const licences = ['MIT', 'Apache-2.0', 'ISC', 'BSD-3-Clause']
  await step('count', async () => {
    const counts = await Promise.all(licences.map(licence => docs.countRows('license = ?', [licence])))
    return [counts, licences.map((licence, i) => `${licence} ${counts[i]}`).join(', ')]
  })
  await ns.close()

  line(`
The same in your code:

  import { connect } from 'sheaf'
  const ns = await connect('./data')
  const docs = await ns.createTable('docs', rows)          // rows: { id, name, license, bytes, text, vector }
  await docs.tags.create('first', 1)
  await docs.add(moreRows)                                 // version 2
  const hits = await docs.search(vector).distanceType('cosine')
    .where('license = ? AND bytes < ?', ['MIT', 1_000_000]).select(['name', 'text']).limit(3).toArray()
  const then = await docs.checkout('first')                // reads version 1`)
}

async function show(
  name: string,
  find: () => Promise<Record<string, unknown>[]>,
  words: string,
): Promise<void> {
  const hits = await step(name, async () => [await find(), words])
  for (const { _distance, name: from, license, heading, text } of hits) {
    const title = `${from} (${license}): ${heading}`
    line(
      `           ${Number(_distance).toFixed(3)}  ${short(title, 44).padEnd(44)}  ${short(String(text), 60)}`,
    )
  }
}

function readPackages(modules: string): Package[] {
  return readdirSync(modules, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !entry.name.startsWith('.'))
    .flatMap(({ name }) => {
      if (!name.startsWith('@')) return [name]
      return readdirSync(join(modules, name)).map(inScope => `${name}/${inScope}`)
    })
    .sort()
    .flatMap(name => readPackage(join(modules, name)))
}

function readPackage(folder: string): Package[] {
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) return []
  const { name, version, license, description = '' } = JSON.parse(readFileSync(manifest, 'utf8'))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true }).filter(
    entry => entry.isFile() && !entry.parentPath.slice(folder.length).includes('node_modules'),
  )
  const bytes = files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
  const documents = files.filter(
    entry => /\.md$/i.test(entry.name) && !/^(changelog|license)/i.test(entry.name),
  )
  const sections = documents.flatMap(entry =>
    splitSections(readFileSync(join(entry.parentPath, entry.name), 'utf8')),
  )
  const about = { heading: 'description', text: String(description) }
  return [{ name, version, license: String(license ?? 'unknown'), bytes, sections: [about, ...sections] }]
}

/** Split a Markdown text at its headings. Sections of at most 40 characters are left out. */
function splitSections(markdown: string): { heading: string; text: string }[] {
  return markdown
    .split(/^#{1,4} +/m)
    .slice(1)
    .map(section => {
      const end = section.indexOf('\n')
      const heading = section
        .slice(0, end)
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/[`#*]/g, '')
        .trim()
      return { heading, text: section.slice(end + 1).trim() }
    })
    .filter(({ text }) => text.length > 40)
}
