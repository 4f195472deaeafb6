/** How good the ten best rows of an index with default options are, on two collections that people have judged. */
import { expect, test } from 'vitest'
import { connect } from '../../../src/index.js'
import { cranfield, type Judged, meanGain, sciFact } from '../../support/judged.js'

/** `least`: what an index with default options has to reach. LanceDB 0.39 reaches 0.6840 and 0.3746, Anserini 0.6789 of SciFact. */
const collections = [
  { name: 'SciFact', least: 0.68, read: sciFact },
  { name: 'Cranfield', least: 0.37, read: cranfield },
] as const

for (const { name, least, read } of collections) {
  const judged = read()
  test.skipIf(judged === null)(
    judged === null ? `${name}: not where SHEAF_DATA says` : `${name}: nDCG@10 of at least ${least}`,
    async () => {
      const gain = await reached(judged!)
      console.log(`${name}: nDCG@10 ${gain.toFixed(4)}`)
      expect(gain).toBeGreaterThanOrEqual(least)
    },
    60_000,
  )
}

async function reached(judged: Judged): Promise<number> {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  try {
    const rows = Array.from(judged.documents, ([name, text]) => ({ name, text }))
    const table = await ns.createTable('documents', rows)
    const { name: index } = await table.createIndex('text', { type: 'FTS' })
    await table.waitForIndex(index)
    return await meanGain(judged, async query => {
      const found = await table.query().fullText(query).select(['name']).limit(10).toArray()
      return found.map(({ name }) => name as string)
    })
  } finally {
    await ns.close()
  }
}
