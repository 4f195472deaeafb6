import { execSync } from 'node:child_process'
import * as lancedb from '@lancedb/lancedb'

const db = await lancedb.connect('/tmp/cmp-lance10k')
const t = await db.createTable('t', [{ id: 0, name: 'x' }])
let b = performance.now()
for (let i = 1; i <= 3000; i++) {
  await t.add([{ id: i, name: 'another' }])
  if (i % 500 === 0) {
    const e = performance.now()
    const l = performance.now()
    const n = (await t.listVersions()).length
    console.log(
      i,
      ((e - b) / 500).toFixed(2),
      'ms/append; list',
      (performance.now() - l).toFixed(0),
      'ms',
      n,
      execSync('du -sh /tmp/cmp-lance10k').toString().trim(),
    )
    b = performance.now()
  }
}
process.exit(0)
