/** Which packages the engines are, which of them are here, and of what version. */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

/** By the first word of a contestant's name. The first package is the engine, the others are what it runs in. */
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
}

export const engineOf = name => /^[\w-]*/.exec(name)[0]

const missing = new Map()

/** Those of `makers`, by names, whose packages can be loaded. Says of each other one, once, that it is skipped and why. */
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
      console.error(`skipped: ${name} cannot be loaded here: ${reason}`)
      return reason
    }
  }
  return null
}

/** Versions of the engines that take part in `cases`. */
export function versionsOf(cases) {
  const engines = new Set(cases.flatMap(({ entries }) => entries.map(({ name }) => engineOf(name))))
  const names = new Set([...engines].flatMap(engine => packages[engine] ?? []))
  return Object.fromEntries(Array.from(names, name => [name, versionOf(name)]))
}

/** All are pinned. */
export function versionOf(name) {
  const { dependencies, optionalDependencies } = manifest
  return dependencies[name] ?? optionalDependencies[name]
}
