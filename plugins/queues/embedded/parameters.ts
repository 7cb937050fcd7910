/** The PostgreSQL that the pinned PGlite is. Another major version cannot read the files. */
export const postgresMajor = '18'

/** How a data directory is made. */
export const initDbParams: readonly string[] = ['--wal-segsize=1']

/** How PostgreSQL is started on it. */
export const settings: Readonly<Record<string, string>> = {
  search_path: 'bullmq',
  // 128 MB by default, for a queue that is small.
  shared_buffers: '16MB',
  min_wal_size: '5MB',
  // A VACUUM of an empty table would make the planner read whole tables from then on.
  enable_seqscan: 'off',
}
