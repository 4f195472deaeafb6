/** The kinds of jobs that a process runs. The code of a kind is loaded when its first job runs. */
import { compactionJob } from '../catalog/compaction-job.js'
import { indexJob, indexJobOf, unitJobOf } from '../catalog/index-builds.js'
import type { CatalogJobKind } from '../catalog/log-types.js'
import type { CustomTokenizer } from '../indexes/text/analysis/analyzer.js'
import { lazyImport } from '../lazy-import.js'
import type { Engine } from '../root/engine.js'
import { backfillJobOf, refreshJob } from '../root/job-names.js'
import type { ColumnFunction } from '../write/functions.js'

const importBackfill = lazyImport(() => import('./backfill.js'))
const importIndexBuild = lazyImport(() => import('./index-build.js'))
const importViewRefresh = lazyImport(() => import('./view-refresh.js'))

/**
 * Return the kinds of jobs that this process can run. Jobs that need a function or tokenizer have a kind of their own.
 * A process without this function or tokenizer leaves them to other processes.
 */
export function jobKinds(
  engine: Engine,
  functions: readonly ColumnFunction[],
  tokenizers: readonly CustomTokenizer[],
): readonly CatalogJobKind[] {
  const backfills = [null, ...functions].map(backfillJobOf)
  const indexes = [indexJob, ...tokenizers.map(({ name }) => indexJobOf(name))]
  return [
    ...backfills.map(
      (name): CatalogJobKind => ({
        name,
        onOrphan: 'requeue',
        run: async job => (await importBackfill()).backfill(engine, job),
      }),
    ),
    ...indexes.map(
      (name): CatalogJobKind => ({
        name,
        onOrphan: 'requeue',
        run: async job => (await importIndexBuild()).buildIndex(engine, job),
      }),
    ),
    ...indexes.map(
      (name): CatalogJobKind => ({
        name: unitJobOf(name),
        onOrphan: 'requeue',
        run: async job => (await importIndexBuild()).buildUnit(engine, job),
      }),
    ),
    // Maintenance begins these jobs. The next due compaction replaces a lost one.
    { name: compactionJob, onOrphan: 'fail' },
    {
      name: refreshJob,
      exclusive: true,
      onOrphan: 'requeue',
      run: async job => (await importViewRefresh()).refreshView(engine, job),
    },
  ]
}
