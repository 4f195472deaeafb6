/** Compares installs of the engines in an empty project, by npm with a filled cache. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { race } from '../../dist/bench/harness.js'
import { npmCommand } from '../../scripts/npm.mjs'
import { packages, versionOf } from './packages.mjs'
import { inScratch } from './scratch.mjs'

const repository = fileURLToPath(new URL('../..', import.meta.url))

export const bench = {
  name: 'install',
  question:
    'how large is a production install, and how long does npm need for it, with packages in its cache? (hnswlib, usearch and sqlite are compiled if there is no binary for the machine; sqlite-vec also needs sqlite; alasql is without its more than 400 optional packages)',
  small: { engines: ['minisearch', 'flexsearch'], rounds: 1 },
  full: { engines: Object.keys(packages), rounds: 1 },
  async run({ engines, rounds }) {
    return inScratch(async folder => {
      const figures = {}
      const pack = runNpm(['pack', '--json', '--pack-destination', folder], repository)
      const tarball = join(folder, JSON.parse(pack.stdout)[0].filename)
      const wanted = {
        sheaf: [tarball],
        ...Object.fromEntries(
          engines.map(engine => {
            const [name] = packages[engine]
            return [engine, [`${name}@${versionOf(name)}`]]
          }),
        ),
      }
      const contestants = []
      for (const [name, words] of Object.entries(wanted)) {
        const path = join(folder, name)
        const install = () => {
          rmSync(path, { recursive: true, force: true })
          mkdirSync(path)
          writeFileSync(join(path, 'package.json'), '{"name":"app","private":true}')
          return runNpm(
            [...installArguments, ...(name === 'alasql' ? ['--omit=optional'] : []), ...words],
            path,
          )
        }
        const { status, stderr } = install()
        if (status !== 0) {
          console.error(
            `${name} is skipped, because it cannot be installed on this machine: ${stderr.trim().split('\n')[0]}`,
          )
          continue
        }
        figures[name] = weighed(join(path, 'node_modules'))
        contestants.push({
          name,
          run: () => {
            if (install().status !== 0)
              throw new Error(`the second install of ${name} failed, although the first one succeeded`)
            return name
          },
        })
      }
      const result = await race({ title: 'npm install in an empty project', contestants, rounds, warmups: 0 })
      const entries = result.entries.map(entry => ({ ...entry, figures: figures[entry.name] }))
      return [{ ...result, entries }]
    })
  },
}

const installArguments = [
  'install',
  '--omit=dev',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
]

function runNpm(args, cwd) {
  const [program, ...first] = npmCommand()
  return spawnSync(program, [...first, ...args], { cwd, encoding: 'utf8', maxBuffer: 1e9 })
}

function weighed(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  const paths = files.map(file => join(file.parentPath, file.name))
  const lock = JSON.parse(readFileSync(join(folder, '.package-lock.json'), 'utf8'))
  return {
    megabytes: paths.reduce((sum, path) => sum + statSync(path).size, 0) / 1e6,
    files: paths.length,
    packages: Object.keys(lock.packages).length,
    nativeFiles: paths.filter(path => /\.(node|so(\.\d+)*|dylib|dll)$/.test(path)).length,
  }
}
