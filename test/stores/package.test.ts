/** The packed package with the clients, imported, required and in a bundle. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { rolldown } from 'rolldown'
import S3rver from 's3rver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { installPacked } from '../peers/packed.mjs'
import { bucketName, cephProvider, minioProvider as minio, perClient } from './providers.js'
import { Server } from './server.js'

const here = resolve('test/stores')
/** The program `sheaf` of the packed package. */
const command = join(here, 'node_modules', 'sheaf', 'dist', 'lib', 'cli.js')
const programs = join(here, 'node_modules', '.programs')

/** Connects twice, and prints the number of rows. */
const program = (path: string, storage: object | undefined, imports: string) => `
  ${imports}
  async function main() {
    for (let i = 0; i < 2; i++) {
      const ns = await connect(${JSON.stringify(path)}, { storage: ${JSON.stringify(storage)} })
      const table = i === 0 ? await ns.createTable('t', [{ id: 1 }]) : await ns.openTable('t')
      await table.add([{ id: 2 }])
      if (i === 1) console.log(await table.countRows())
      await ns.close()
    }
    const error = await connect(${JSON.stringify(path)}, { create: false, storage: { retries: 'x' } }).catch(each => each)
    console.log(error instanceof SheafError, error.name)
  }
  main()`

/** Uploads 10 MiB, prints a line, and waits for ever. */
const uploadProgram = (key: string, config: object) => `
  import { openS3Store } from 'sheaf/s3'
  const store = await openS3Store({ bucket: '${bucketName}', prefix: 'root', config: ${JSON.stringify(config)} })
  await store.putStream('${key}', (async function* () {
    for (let i = 0; i < 10; i++) yield new Uint8Array(1024 * 1024)
    setTimeout(() => console.log('uploading'), 1000)
    await new Promise(() => setInterval(() => {}, 1000))
  })())`

function runProgram(name: string, code: string, environment = {}): string {
  const path = join(programs, name)
  writeFileSync(path, code)
  const env = { ...process.env, ...environment }
  return execFileSync(process.execPath, [path], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

beforeAll(() => {
  expect(installPacked(here)).toBe(true)
  mkdirSync(programs, { recursive: true })
}, 200_000)
afterAll(() => rmSync(programs, { recursive: true, force: true }))

describe.each(perClient.filter(each => each.program !== null))('the package with $name', provider => {
  let server: Server
  beforeAll(async () => {
    server = await Server.start(provider.program!)
    await provider.createBucket(server.url)
  })
  afterAll(() => server?.stop())

  test.each([
    ['imported', 'program.mjs', "import { connect, SheafError } from 'sheaf'"],
    ['required', 'program.cjs', "const { connect, SheafError } = require('sheaf')"],
  ])('connects by a path when it is %s', (kind, name, imports) => {
    const code = program(provider.path(kind), provider.storage(server.url), imports)
    expect(runProgram(name, code)).toBe('3\ntrue InvalidInput\n')
  })

  test.runIf(provider.environment !== null)('is configured by the environment', () => {
    const code = program(
      provider.path('environment'),
      undefined,
      "import { connect, SheafError } from 'sheaf'",
    )
    const printed = runProgram('environment.mjs', code, provider.environment!(server.url))
    expect(printed).toBe('3\ntrue InvalidInput\n')
  })
})

describe.runIf(minio.program !== null)('sheaf doctor with MinIO', () => {
  let server: Server
  const client = () => new S3Client(minio.storage(server.url).config)
  const keysLeft = async () =>
    (await client().send(new ListObjectsV2Command({ Bucket: bucketName }))).Contents
  const doctor = (path: string, environment = {}) => {
    const env = { ...process.env, ...minio.environment!(server.url), ...environment }
    return spawnSync(process.execPath, [command, 'doctor', path], { encoding: 'utf8', env })
  }
  beforeAll(async () => {
    server = await Server.start(minio.program!)
    await minio.createBucket(server.url)
  })
  afterAll(() => server?.stop())

  test('says that a bucket is fit, and leaves nothing in it', async () => {
    const { status, stdout } = doctor(minio.path('checked'))
    expect(stdout).not.toContain('FAILED')
    expect(stdout).toMatch(/^ {2}getRange( +\d+\.\d+){4}$/m)
    expect(stdout).toMatch(/\ns3:\/\/sheaf-test\/checked is fit for a root\.\n$/)
    expect(status).toBe(0)
    expect(await keysLeft()).toBeUndefined()
  })

  test('SIGINT stops it, and nothing is left in the bucket', async () => {
    const env = { ...process.env, ...minio.environment!(server.url) }
    const child = spawn(process.execPath, [command, 'doctor', minio.path('stopped')], { env })
    const exit = once(child, 'exit')
    let lines = 0
    // The third check runs now: the races.
    for await (const _ of createInterface(child.stdout)) if (++lines === 2) child.kill('SIGINT')
    expect(await exit).toEqual([130, null])
    expect(await keysLeft()).toBeUndefined()
  })

  test('errors say what to do', () => {
    expect(doctor('s3://no-such-bucket/p')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^sheaf: .*no-such-bucket.*\(create the bucket first/m),
    })
    expect(doctor(minio.path('p'), { AWS_SECRET_ACCESS_KEY: 'wrong' })).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^sheaf: .*\(check the credentials/m),
    })
  })
})

// Not with MinIO, which does not list uploads by prefix.
test.runIf(cephProvider.program !== null)(
  'garbage collection aborts the upload of a killed process, and keeps a younger one',
  async () => {
    const server = await Server.start(cephProvider.program!)
    const uploading: ChildProcess[] = []
    try {
      await cephProvider.createBucket(server.url)
      const { config } = cephProvider.storage(server.url)
      const uploads = async () => {
        const command = new ListMultipartUploadsCommand({ Bucket: bucketName })
        return ((await new S3Client(config).send(command)).Uploads ?? []).map(({ Key }) => Key)
      }
      /** Start a process that uploads an object without end. Resolves after its first part. */
      const startUpload = async (key: string) => {
        const path = join(programs, `upload-${uploading.length}.mjs`)
        writeFileSync(path, uploadProgram(key, config))
        const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'ignore'] })
        uploading.push(child)
        await once(child.stdout, 'data')
        return child
      }
      const keepOrphansMs = 3000
      const ns = await connect(cephProvider.path('root'), {
        storage: { config },
        maintenance: { keepOrphansMs },
      })
      const table = await ns.createTable('t', [{ id: 0 }])
      const killed = await startUpload('tables/killed')
      killed.kill('SIGKILL')
      expect(await uploads()).toEqual(['root/tables/killed'])
      // The times of the server are whole seconds.
      await new Promise(resolve => setTimeout(resolve, keepOrphansMs + 2000))
      await startUpload('tables/younger')
      await table.add([{ id: 1 }])
      await ns.optimize()
      expect(await uploads()).toEqual(['root/tables/younger'])
      expect(await table.countRows()).toBe(2)
      await ns.close()
    } finally {
      for (const child of uploading) child.kill('SIGKILL')
      await server.stop()
    }
  },
)

test('sheaf doctor says that a server is not fit which accepts a second conditional put', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-s3rver-'))
  const configureBuckets = [{ name: 'sheaf-test' }]
  const server = new S3rver({ port: 0, silent: true, directory: folder, configureBuckets })
  try {
    const { port } = await server.run()
    const environment = {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    }
    const child = spawn(process.execPath, [command, 'doctor', 's3://sheaf-test/p'], {
      env: { ...process.env, ...environment },
    })
    const exit = once(child, 'exit')
    const printed = Buffer.concat(await child.stdout.toArray()).toString()
    expect(printed).toContain('FAILED  a second conditional put is refused')
    expect(printed).toMatch(
      / is not fit, because it breaks the guarantee .* one of the commits is lost: use another server/,
    )
    expect(await exit).toEqual([1, null])
  } finally {
    await server.close()
    rmSync(folder, { recursive: true })
  }
})

test('a bundle without the package says that the option store is needed', async () => {
  const entry = join(programs, 'entry.mjs')
  writeFileSync(
    entry,
    "import { connect } from 'sheaf'\nconnect('s3://bucket/prefix').catch(error => console.log(error.name, error.hint))",
  )
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bundle-'))
  try {
    const bundle = await rolldown({ input: entry, platform: 'node', logLevel: 'silent' })
    await bundle.write({ dir: folder, format: 'esm', entryFileNames: 'program.mjs' })
    const { stdout } = spawnSync(process.execPath, [join(folder, 'program.mjs')], { encoding: 'utf8' })
    expect(stdout).toMatch(/^InvalidInput if a bundler packed sheaf .* import openS3Store from 'sheaf\/s3'/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
