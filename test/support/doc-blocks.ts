/** The code, links and headings of documents. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

/** The blocks of a document in one language, in order. */
export function blocksOf(document: string, language: string): readonly string[] {
  const blocks = readFileSync(document, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)
  return [...blocks].filter(([, own]) => own === language).map(([, , text]) => text!)
}

/** The targets of the links to other files or headings of the repository, as they are written. */
export function linksOf(document: string): readonly string[] {
  const links = withoutCode(document).matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g)
  return [...links].map(([, link, source]) => link ?? source!).filter(link => !/^[a-z]+:/.test(link))
}

/** The headings of a document, as the part of a link after `#` names them. */
export function headingsOf(document: string): readonly string[] {
  const headings = withoutCode(document).matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function withoutCode(document: string): string {
  return readFileSync(document, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
}

export interface DocScripts {
  /** The folder in which the scripts run. */
  readonly folder: string
  /**
   * Runs scripts one after the other in one process, against the built package, and returns what each of them printed. `SHEAF_DOCS_NODE`: the
   * Node to run them with; default this one.
   */
  run(...scripts: readonly string[]): readonly string[]
}

/** Scripts that share one folder. Call it at the top of a test file, or of a `describe`. */
export function docScripts(): DocScripts {
  let folder = ''
  let runs = 0
  beforeAll(() => {
    // Inside the package, so that `import 'sheaf'` finds it the way users do.
    mkdirSync('dist/docs', { recursive: true })
    folder = resolve(mkdtempSync(join('dist', 'docs', 'run-')))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return {
    get folder() {
      return folder
    },
    run(...scripts) {
      const run = ++runs
      const files = scripts.map((_, i) => `./${run}-${i + 1}.mjs`)
      for (const [i, script] of scripts.entries()) writeFileSync(join(folder, files[i]!), script)
      const all = join(folder, `${run}.mjs`)
      writeFileSync(all, files.map(file => `console.log('-- block'); await import('${file}')`).join('\n'))
      const out = execFileSync(process.env.SHEAF_DOCS_NODE ?? process.execPath, [all], {
        cwd: folder,
        encoding: 'utf8',
      })
      return out.split('-- block\n').slice(1)
    },
  }
}
