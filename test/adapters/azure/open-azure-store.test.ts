import { describe, expect, test } from 'vitest'
import { openAzureStore } from '../../../adapters/azure/public.js'
import { connect } from '../../../src/index.js'

/** The package of the client is not installed here. `npm run test:stores` tests the store with it. */
const missing = { code: 13, hint: 'npm install @azure/storage-blob@12.32' }

describe('openAzureStore', () => {
  test('says which package to install', async () => {
    await expect(openAzureStore({ container: 'c' })).rejects.toMatchObject(missing)
    await expect(connect('az://container/prefix')).rejects.toMatchObject(missing)
  })

  test('refuses options that are unknown, wrong or contradict each other', async () => {
    const wrong: [object, string][] = [
      [{}, 'container'],
      [{ container: 'c', bucket: 'b' }, 'bucket'],
      [{ container: 'c', config: { connection: 'x' } }, 'connectionString'],
      [{ container: 'c', config: {}, client: {} }, 'either client or config'],
    ]
    for (const [options, text] of wrong) {
      const error = await openAzureStore(options as never).catch(reason => reason)
      expect(error).toMatchObject({ code: 13 })
      expect(`${error.message} ${error.hint}`).toContain(text)
    }
  })
})
