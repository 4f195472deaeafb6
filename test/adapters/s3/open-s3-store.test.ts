import { describe, expect, test } from 'vitest'
import { importClient } from '../../../adapters/object-store/options.js'
import { openS3Store } from '../../../adapters/s3/public.js'
import { connect } from '../../../src/index.js'

/** The package of the client is not installed here. `npm run test:stores` tests the store with it. */
const missing = { code: 13, hint: 'npm install @aws-sdk/client-s3' }

describe('openS3Store', () => {
  test('says which package to install', async () => {
    await expect(openS3Store({ bucket: 'b' })).rejects.toMatchObject(missing)
    await expect(connect('s3://bucket/prefix', { storage: { retries: 1 } })).rejects.toMatchObject(missing)
    const load = () => Promise.reject(new Error('not found'))
    await expect(importClient('@aws-sdk/client-s3', '', load)).rejects.toMatchObject(missing)
  })

  test('refuses options that are unknown, wrong or contradict each other', async () => {
    const wrong: [object, string][] = [
      [{}, 'bucket'],
      [{ bucket: '' }, 'bucket'],
      [{ bucket: 'b', prefx: 'x' }, 'prefix'],
      [{ bucket: 's3://b/main' }, 'pass bucket: "b" and prefix: "main"'],
      [{ bucket: 'b', config: { endpoint: '127.0.0.1:9000' } }, 'must begin with http:// or https://'],
      [{ bucket: 'b', prefix: '../x' }, '../x'],
      [{ bucket: 'b', prefix: '/x' }, '/x'],
      [{ bucket: 'b', retries: -1 }, 'retries'],
      [{ bucket: 'b', config: 'eu' }, 'config'],
      [{ bucket: 'b', config: {}, client: {} }, 'either client or config'],
    ]
    for (const [options, text] of wrong) {
      const error = await openS3Store(options as never).catch(reason => reason)
      expect(error).toMatchObject({ code: 13 })
      expect(`${error.message} ${error.hint}`).toContain(text)
    }
  })
})

describe('connect', () => {
  test('refuses a path with an unknown scheme, and lists the known ones', async () => {
    await expect(connect('ftp://host/folder')).rejects.toMatchObject({
      code: 13,
      message: 'paths like "ftp://host/folder" are not supported',
      hint: expect.stringContaining('memory://, s3://, az://, gs://'),
    })
    await expect(connect('https://host')).rejects.toMatchObject({
      code: 13,
      hint: expect.stringContaining('connectHttp'),
    })
    await expect(connect('constructor://host')).rejects.toMatchObject({ code: 13 })
  })

  test('refuses a path without a bucket, and options that have no effect', async () => {
    await expect(connect('s3:///prefix')).rejects.toMatchObject({
      code: 13,
      message: '"s3:///prefix" names no bucket',
    })
    const storage = { retries: 1 }
    await expect(connect('memory://', { storage })).rejects.toMatchObject({ code: 13 })
    await expect(connect('./folder', { storage })).rejects.toMatchObject({ code: 13 })
  })
})
