import { describe, expect, test } from 'vitest'
import { openGcsStore } from '../../../adapters/gcs/public.js'
import { connect } from '../../../src/index.js'

/** The package of the client is not installed here. `npm run test:stores` tests the store with it. */
const missing = { code: 13, hint: 'npm install @google-cloud/storage@7' }

describe('openGcsStore', () => {
  test('says which package to install', async () => {
    await expect(openGcsStore({ bucket: 'b' })).rejects.toMatchObject(missing)
    await expect(connect('gs://bucket/prefix')).rejects.toMatchObject(missing)
  })

  test('refuses options that are unknown, wrong or contradict each other', async () => {
    const wrong: [object, string][] = [
      [{}, 'bucket'],
      [{ bucket: 'b', container: 'c' }, 'container'],
      [{ bucket: 'b', config: 'x' }, 'config'],
      [{ bucket: 'b', config: {}, client: {} }, 'either client or config'],
    ]
    for (const [options, text] of wrong) {
      const error = await openGcsStore(options as never).catch(reason => reason)
      expect(error).toMatchObject({ code: 13 })
      expect(`${error.message} ${error.hint}`).toContain(text)
    }
  })
})
