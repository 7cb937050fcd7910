/** The PostgreSQL version of the pinned PGlite. Another major version cannot read the files. */
export const postgresMajor = '18'

/** Arguments for creating a data directory. */
export const initDbParams: readonly string[] = ['--wal-segsize=1']

/** Arguments for starting PostgreSQL. */
export const settings: Readonly<Record<string, string>> = {
  search_path: 'bullmq',
  // The default is 128 MB; the queue is small.
  shared_buffers: '16MB',
  min_wal_size: '5MB',
  // A segment of the log that is kept for reuse keeps what it held, with the number of a later one.
  wal_recycle: 'off',
  // After a VACUUM of an empty table the planner would use sequential scans.
  enable_seqscan: 'off',
  // ANALYZE blocks the process. With the default of 100 it reads 30,000 rows with their data, which takes half a second.
  default_statistics_target: '10',
}
