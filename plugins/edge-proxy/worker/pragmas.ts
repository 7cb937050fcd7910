/** Pragmas that describe tables and indexes, and change nothing: a statement may read them as tables, such as `pragma_table_info('t')`. */
export const describingPragmas: ReadonlySet<string> = new Set([
  'foreign_key_list',
  'index_info',
  'index_list',
  'index_xinfo',
  'table_info',
  'table_list',
  'table_xinfo',
])
