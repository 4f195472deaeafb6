/** The kind of jobs that compact a table or merge its indexes. Their claims keep two processes from the same work. */
export const compactionJob = 'compaction'
