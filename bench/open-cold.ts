/**
 * Measures the time until a new process has the first answer: open the root, find the table, and read the data for a
 * query.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { dataPath } from '../scripts/data.js'
import { connect, type Schema } from '../src/index.js'
import { type Bench, type CaseResult, type Contestant, race } from './harness.js'
import { fillBytes, fillFloats, seededRandom } from './random.js'

interface Parameters {
  readonly floats: { readonly rows: number; readonly dim: number }
  /** In full size, the images of Fashion-MNIST, if they are on this machine. Otherwise random bytes. */
  readonly bytes: { readonly rows: number; readonly dim: number; readonly fashion: boolean }
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'open-cold',
  question: 'how long does a new process take until its first answer, in addition to the start of Node?',
  small: { floats: { rows: 500, dim: 32 }, bytes: { rows: 300, dim: 784, fashion: false }, rounds: 1 },
  full: { floats: { rows: 10_000, dim: 128 }, bytes: { rows: 60_000, dim: 784, fashion: true }, rounds: 15 },
  async run({ floats, bytes, rounds }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      const images = bytes.fashion ? dataPath('vectors', 'fashion-mnist', 'train-images-idx3-ubyte.gz') : null
      const pixels = images === null ? randomBytes(bytes) : gunzipSync(readFileSync(images)).subarray(16)
      return [
        await ask(
          `${floats.rows} x ${floats.dim} float32`,
          join(folder, 'floats'),
          floats.dim,
          fillFloats(new Float32Array(floats.rows * floats.dim), seededRandom(1)),
          rounds,
        ),
        await ask(
          `${bytes.rows} x ${bytes.dim} uint8${images === null ? '' : ', Fashion-MNIST'}`,
          join(folder, 'bytes'),
          bytes.dim,
          pixels,
          rounds,
        ),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function randomBytes({ rows, dim }: { readonly rows: number; readonly dim: number }): Uint8Array {
  return fillBytes(new Uint8Array(rows * dim), seededRandom(2))
}

async function ask(
  title: string,
  root: string,
  dim: number,
  values: Float32Array | Uint8Array,
  rounds: number,
): Promise<CaseResult> {
  await makeTable(root, dim, values)
  const file = readdirSync(root, { recursive: true, encoding: 'utf8' }).find(name => name.endsWith('.arrow'))
  const plain = pathToFileURL('dist/src/index.js').href
  const read = `require('fs').readFileSync(${JSON.stringify(join(root, file!))})`
  return race({
    title,
    contestants: [
      child('bare node', ['-e', '0']),
      child('read the data file', ['-e', read]),
      child('first answer', [resolve('bench/cold-answer.mjs'), 'sheaf', root, String(dim)]),
      child('first answer, unbundled', [resolve('bench/cold-answer.mjs'), plain, root, String(dim)]),
    ],
    rounds,
  })
}

async function makeTable(root: string, dim: number, values: Float32Array | Uint8Array): Promise<void> {
  const cell =
    values instanceof Float32Array
      ? ({ kind: 'float', bits: 32 } as const)
      : ({ kind: 'int', bits: 8, signed: false } as const)
  const item = { name: 'item', type: cell, nullable: true }
  const schema: Schema = {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: 'vector', type: { kind: 'fixed_size_list', size: dim, child: item }, nullable: false },
    ],
  }
  const rows = Array.from({ length: values.length / dim }, (_, id) => {
    return { id, vector: values.subarray(id * dim, (id + 1) * dim) }
  })
  const ns = await connect(root)
  await ns.createTable('vectors', rows, { schema })
  await ns.close()
}

/** Return a contestant that runs a process from start to end. */
function child(name: string, args: readonly string[]): Contestant {
  return {
    name,
    run() {
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      if (status !== 0) throw new Error(`the process of ${name} exited with the status ${status}: ${stderr}`)
      return stdout
    },
  }
}
