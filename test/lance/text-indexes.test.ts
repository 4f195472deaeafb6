/** Text indexes of LanceDB 0.39: searches use their options, and read every row. */
import { cpSync, existsSync, readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { connect, ErrorCode } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()

/** Copy a table whose text index has no stems, and the only stop word 'foxes'. */
function copyOfTables(): string {
  const folder = freshRoot()
  cpSync(join(import.meta.dirname, '../golden/lance-import'), folder, { recursive: true })
  return folder
}

const addressOf = (folder: string) => `lance+${pathToFileURL(folder)}`

test('a search uses the options of the index, and says that it reads every row', async () => {
  await using ns = await connect(addressOf(copyOfTables()))
  const docs = await ns.openTable('docs')
  const counts: Record<string, number> = {}
  for (const word of ['the', 'running', 'run', 'foxes'])
    counts[word] = (await docs.query().fullText(word).limit(1000).toArray()).length
  expect(counts).toEqual({ the: 66, running: 66, run: 0, foxes: 0 })
  expect(await docs.query().fullText('the').explain()).toContain(
    'not used: text_idx: Sheaf uses the options of text indexes of LanceDB, and reads every row',
  )
})

test('a search is refused if the options of the index cannot be read', async () => {
  const folder = copyOfTables()
  const indexes = join(folder, 'docs.lance/_indices')
  const own = readdirSync(indexes).find(name => existsSync(join(indexes, name, 'metadata.lance')))!
  truncateSync(join(indexes, own, 'metadata.lance'), 100)
  await using ns = await connect(addressOf(folder))
  const docs = await ns.openTable('docs')
  expect(await failure(docs.query().fullText('the').toArray())).toMatchObject({
    code: ErrorCode.Unsupported,
    message: expect.stringContaining('the options of the text index "text_idx" of LanceDB cannot be used'),
    hint: expect.stringContaining('import the table'),
  })
  expect(await docs.countRows()).toBe(66)
})

test('prewarming a table loads its columns, and the index of LanceDB that searches use', async () => {
  await using ns = await connect(
    `lance+${pathToFileURL(join(import.meta.dirname, '../golden/lance-indexes'))}`,
  )
  await ns.operations.prewarmTable({ id: ['l2'] })
  expect(ns.stats().memory.partitions.columns!.bytes).toBeGreaterThan(0)
  await ns.operations.prewarmTableIndex({ id: ['l2'], index_name: 'vector_idx' })
  expect(ns.stats().memory.partitions['lance-segments']!.entries).toBe(1)
})
