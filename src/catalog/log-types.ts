/** The types of the commit log and of jobs, with the operations and the state of the catalog. */
import type { Committer } from '../commit/committer.js'
import type { Commit, Committed, Entry, Propose } from '../commit/machine.js'
import type { JobKind, JobRun } from '../jobs/job-kind.js'
import type { JobRunner } from '../jobs/job-runner.js'
import type { CatalogOp } from './ops.js'
import type { CatalogState } from './state.js'

export type CatalogEntry = Entry<CatalogOp>
export type CatalogPropose<N extends null = never> = Propose<CatalogState, CatalogOp, N>
export type CatalogCommit = Commit<CatalogState, CatalogOp>
export type CatalogCommitted = Committed<CatalogState, CatalogOp>
export type CatalogCommitter = Committer<CatalogState, CatalogOp>
export type CatalogJobKind = JobKind<CatalogState, CatalogOp>
export type CatalogJobRun = JobRun<CatalogState, CatalogOp>
export type CatalogJobRunner = JobRunner<CatalogState, CatalogOp>
