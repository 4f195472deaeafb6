/** Lists the packages of the engines, with their versions, and determines which of them are installed. */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

/**
 * By the first word of a contestant's name: its packages. The first package is the engine. Others are packages that it
 * needs.
 */
export const packages = {
  lancedb: ['@lancedb/lancedb'],
  hnswlib: ['hnswlib-node'],
  usearch: ['usearch'],
  sqlite: ['better-sqlite3'],
  'sqlite-vec': ['sqlite-vec', 'better-sqlite3'],
  duckdb: ['@duckdb/node-api'],
  minisearch: ['minisearch'],
  flexsearch: ['flexsearch'],
  orama: ['@orama/orama'],
  alasql: ['alasql'],
  zvec: ['@zvec/zvec'],
  pglite: ['@electric-sql/pglite', '@electric-sql/pglite-pgvector'],
}

export const engineOf = name => /^[\w-]*/.exec(name)[0]

const missing = new Map()

/** Return the `makers` whose packages can be loaded. For each other package, print once why it is skipped. */
export async function able(makers) {
  const found = {}
  for (const [name, maker] of Object.entries(makers)) {
    const engine = engineOf(name)
    if (!missing.has(engine)) missing.set(engine, await reasonMissing(packages[engine] ?? []))
    if (missing.get(engine) === null) found[name] = maker
  }
  return found
}

async function reasonMissing(names) {
  for (const name of names) {
    try {
      await import(name)
    } catch (error) {
      const reason = String(error.message).split('\n')[0]
      console.error(`${name} is skipped, because it cannot be loaded on this machine: ${reason}`)
      return reason
    }
  }
  return null
}

/** Return the versions of the engines that occur in `cases`. */
export function versionsOf(cases) {
  const engines = new Set(cases.flatMap(({ entries }) => entries.map(({ name }) => engineOf(name))))
  const names = new Set([...engines].flatMap(engine => packages[engine] ?? []))
  return Object.fromEntries(Array.from(names, name => [name, versionOf(name)]))
}

/** Return the version of a package. package.json names exact versions. */
export function versionOf(name) {
  const { dependencies, optionalDependencies } = manifest
  return dependencies[name] ?? optionalDependencies[name]
}
