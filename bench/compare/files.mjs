/** Compares reads of Lance tables and Parquet files. Each engine runs in a separate process, on one thread if it can. */
import { join } from 'node:path'
import { hashOf, timesOf } from '../../dist/bench/harness.js'
import { agree } from './checks.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'
import { encodedQuery, workedApart } from './spawned.mjs'
import { openDuckdb, openLance } from './stores.mjs'
import { makeWide } from './wide.mjs'

const versions = ['2.1', '2.2']
const columnsOfScans = [['id'], ['text'], ['vector'], ['id', 'text', 'vector']]

export const bench = {
  name: 'files',
  question:
    'how fast are Lance tables and Parquet files read? (one thread; cpuMs: CPU time of the fastest of all scans; sheaf and lancedb return Arrow batches, duckdb chunks of its own)',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, rounds: 1, times: 2 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, rounds: 2, times: 3 },
  async run({ rounds, times, ...size }) {
    const data = makeWide(size)
    const shape = `${size.rows} x {id int64, text, ${size.dim} float32}`
    return inScratch(async folder => {
      const engines = await able({ lancedb: null, duckdb: null })
      const results = []
      if ('lancedb' in engines) {
        await writeLanceTables(data, join(folder, 'lance'))
        for (const version of versions) {
          for (const columns of columnsOfScans) {
            const work = { format: 'lance', name: tableOf(version), columns, times }
            results.push(
              scans(
                `Lance ${version}, ${columns.join()}: ${shape}`,
                folder,
                ['sheaf', 'lancedb'],
                work,
                rounds,
              ),
            )
          }
        }
        results.push(await nearest(data, folder, size, rounds))
      }
      if ('duckdb' in engines) {
        for (const name of await writeParquetFiles(data, folder)) {
          const columns = columnsOfScans.at(-1)
          const work = { format: 'parquet', name: `${name}.parquet`, columns, times }
          results.push(scans(`Parquet, ${name}: ${shape}`, folder, ['sheaf', 'duckdb'], work, rounds))
        }
      }
      return results
    })
  },
}

const tableOf = version => `t${version.replace('.', '')}`

async function writeLanceTables(data, folder) {
  const { db } = await openLance(folder)
  for (const version of versions) {
    const storageOptions = { newTableDataStorageVersion: version }
    await db.createTable(tableOf(version), data.arrow, { storageOptions })
  }
  db.close()
}

/** Write the rows with Sheaf, and copies of that file with DuckDB. Returns the names of the files. */
async function writeParquetFiles(data, folder) {
  const { writeParquet } = await import('../../dist/adapters/files/public.js')
  const path = name => join(folder, `${name}.parquet`)
  await writeParquet(path('snappy of Sheaf'), data.arrow.batches)
  const { connection, close } = await openDuckdb(':memory:')
  for (const codec of ['snappy', 'zstd']) {
    await connection.run(
      `COPY (FROM '${path('snappy of Sheaf')}') TO '${path(`${codec} of DuckDB`)}' (FORMAT parquet, COMPRESSION ${codec})`,
    )
  }
  close()
  return ['snappy of Sheaf', 'snappy of DuckDB', 'zstd of DuckDB']
}

/** Scan with each engine in turn, each time in a new process, in which the first scan is not counted. */
function scans(title, folder, engines, work, rounds) {
  const done = engines.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, engine] of engines.entries()) {
      const worked = workedApart('scan', engine, folder, work)
      agree(title, engine, worked.answer.rows, done[0][0]?.answer.rows ?? worked.answer.rows)
      done[i].push(worked)
    }
  }
  return told(
    title,
    engines.map((name, i) => ({
      name,
      milliseconds: done[i].flatMap(({ answer }) => answer.milliseconds),
      cpu: done[i].flatMap(({ answer }) => answer.cpu),
      answer: done[i][0].answer.rows,
      figures: { peakMegabytes: Math.max(...done[i].map(({ peakBytes }) => peakBytes)) / 1e6 },
    })),
  )
}

/** Search the ten nearest rows in a Lance table, and in a table of Sheaf with the same rows. */
async function nearest(data, folder, { rows, dim }, rounds) {
  const { connect } = await import('../../dist/src/index.js')
  const own = await connect(join(folder, 'own'))
  const lance = await connect(`lance+file://${join(folder, 'lance')}`)
  await own.createTable(tableOf('2.1'), (await lance.openTable(tableOf('2.1'))).query().batches())
  await own.close()
  await lance.close()
  const title = `exact, 10 nearest of ${rows} x ${dim} float32`
  const contestants = [
    ['sheaf, own files', 'sheaf', 'own'],
    ['sheaf, Lance files', 'sheaf', 'lance'],
    ['lancedb', 'lancedb', 'lance'],
  ]
  const work = { query: encodedQuery(data.vectorAt(7).slice()), name: tableOf('2.1') }
  const done = contestants.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, [name, engine, place]] of contestants.entries()) {
      const worked = workedApart('nearest', engine, folder, { ...work, place })
      agree(title, name, worked.answer.found, done[0][0]?.answer.found ?? worked.answer.found)
      done[i].push(worked)
    }
  }
  return told(
    title,
    contestants.map(([name], i) => ({
      name,
      milliseconds: done[i].flatMap(({ answer }) => answer.milliseconds),
      cpu: done[i].flatMap(({ answer }) => answer.cpu),
      answer: done[i][0].answer.found,
      figures: { firstMs: Math.min(...done[i].map(({ answer }) => answer.first)) },
    })),
  )
}

/** Build a case. Relative times are those of the medians. */
function told(title, done) {
  const entries = done.map(({ name, milliseconds, cpu, answer, figures }) => {
    const [times, cpuTimes] = [milliseconds, cpu].map(each => timesOf(Float64Array.from(each)))
    return {
      name,
      milliseconds: times,
      relativeTime: 1,
      answer: hashOf(answer),
      figures: { cpuMs: cpuTimes.min, cpuMedianMs: cpuTimes.p50, ...figures },
    }
  })
  const [first] = entries
  return {
    title,
    entries: entries.map(entry => ({
      ...entry,
      relativeTime: entry.milliseconds.p50 / first.milliseconds.p50,
      figures: { ...entry.figures, relativeCpu: entry.figures.cpuMs / first.figures.cpuMs },
    })),
  }
}
