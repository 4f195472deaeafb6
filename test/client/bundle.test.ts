/** What a process loads that has only a client: measured on the sources as a bundler joins them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type OutputChunk, rolldown } from 'rolldown'
import { expect, test } from 'vitest'

/** Minified bytes that are loaded at once, those of chunks that are loaded later, and the modules of all of them. */
async function bundled(source: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bundle-'))
  const entry = join(folder, 'entry.ts')
  writeFileSync(entry, source)
  const bundle = await rolldown({
    input: entry,
    external: [/^node:/, 'apache-arrow', 'csv-parse', 'fzstd', 'jose', 'p-queue', 're2js'],
    platform: 'node',
    logLevel: 'silent',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    treeshake: { moduleSideEffects: false },
  })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  rmSync(folder, { recursive: true })
  const chunks = new Map(
    output.filter((each): each is OutputChunk => each.type === 'chunk').map(chunk => [chunk.fileName, chunk]),
  )
  const atOnce = new Set<string>()
  const visit = (name: string) => {
    if (!chunks.has(name) || atOnce.has(name)) return
    atOnce.add(name)
    for (const imported of chunks.get(name)!.imports) visit(imported)
  }
  for (const { fileName, isEntry } of chunks.values()) if (isEntry) visit(fileName)
  const sizes = [...chunks.values()].map(({ fileName, code }) => ({
    fileName,
    bytes: Buffer.byteLength(code),
  }))
  const sum = (some: typeof sizes) => some.reduce((bytes, each) => bytes + each.bytes, 0)
  return {
    atOnce: sum(sizes.filter(({ fileName }) => atOnce.has(fileName))),
    later: sum(sizes.filter(({ fileName }) => !atOnce.has(fileName))),
    modules: [...chunks.values()].flatMap(({ moduleIds }) => moduleIds.map(id => id.replaceAll('\\', '/'))),
  }
}

const engine = /\/src\/(engine|maintenance|verify|root|table|catalog|manifest|jobs|commit|storage)\//

// The most bytes at once, and the most in all.
test.each([
  ['http', "export { connectHttp } from '#/adapters/http/client.ts'", 150_000, 480_000],
  ['worker', "export { connectWorker } from '#/adapters/worker/client.ts'", 189_000, 480_000],
])('the %s client is small, and loads no module of the engine', async (name, source, most, mostInAll) => {
  const { atOnce, later, modules } = await bundled(source.replace('#', resolve('.').replaceAll('\\', '/')))
  console.log(`${name} client, minified: ${atOnce} bytes at once, ${later} later`)
  expect(modules.length).toBeGreaterThan(50)
  expect(modules.filter(id => engine.test(id))).toEqual([])
  expect(atOnce).toBeLessThan(most)
  expect(atOnce + later).toBeLessThan(mostInAll)
})
