import { defineErrors } from 'zin'

/** What stops the boot. What requests get is in the README of sql-wire. */
export const rdbProxyErrors = defineErrors({
  RDB_PROXY_CONFIG: {
    message: (what: string) => `rdb-proxy: ${what}`,
    when: 'At boot: settings or options of the proxy are unsafe or contradict each other',
    fix: 'Do what the message says',
  },
  RDB_PROXY_STATEMENTS: {
    message: (file: string, problems: readonly string[]) =>
      `rdb-proxy: the statements file ${file} cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    details: (_file: string, problems: readonly string[]) => problems,
    when: 'At boot and in `proxy:statements`: the statements file is missing or has faults',
    fix: 'Correct what the message lists',
  },
  RDB_PROXY_READS_WRITE: {
    message: (user: string, what: string) =>
      `rdb-proxy: the database user "${user}" for reading ${what}; create one with the privilege SELECT alone and set RDB_PROXY_READ_USERNAME and RDB_PROXY_READ_PASSWORD`,
    when: 'At boot in production: the user for reading has privileges beyond reading',
    fix: 'Create a user with the privilege SELECT alone, and set `RDB_PROXY_READ_USERNAME` and `RDB_PROXY_READ_PASSWORD`',
  },
})
