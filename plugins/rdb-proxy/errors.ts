import { defineErrors } from 'zin'

/** Errors that stop the boot or a command. Errors of requests are documented in the README of sql-wire. */
export const rdbProxyErrors = defineErrors({
  RDB_PROXY_CONFIG: {
    message: (what: string) => `rdb-proxy: ${what}`,
    when: 'At boot: settings or options of the proxy are unsafe or contradict each other',
    fix: 'Follow the advice in the message',
  },
  RDB_PROXY_STATEMENTS: {
    message: (file: string, problems: readonly string[]) =>
      `rdb-proxy: the statements file ${file} cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    details: (_file: string, problems: readonly string[]) => problems,
    when: 'At boot and in `proxy:statements`: the statements file is missing or invalid',
    fix: 'Fix the problems that the message lists',
  },
  RDB_PROXY_POWERFUL_ACCOUNT: {
    message: (user: string, privileges: string) =>
      `rdb-proxy: the database user "${user}" has privileges beyond its database: ${privileges}. With them, SQL can reach files or other accounts of the server. Revoke them (grant only on the database of the app), or set RDB_PROXY_ALLOW_POWERFUL_ACCOUNT=true`,
    when: 'At boot in production: the user for writing has `FILE`, `SUPER`, `PROCESS` or another privilege beyond the databases of the app',
    fix: 'Grant the user privileges only on the database of the app; or set `RDB_PROXY_ALLOW_POWERFUL_ACCOUNT=true`',
  },
  RDB_PROXY_READS_WRITE: {
    message: (user: string, what: string) =>
      `rdb-proxy: the database user "${user}" for reading ${what}; create a user with only the privilege SELECT and set RDB_PROXY_READ_USERNAME and RDB_PROXY_READ_PASSWORD`,
    when: 'At boot in production: the reading user has privileges beyond reading',
    fix: 'Create a user with only the privilege SELECT, and set `RDB_PROXY_READ_USERNAME` and `RDB_PROXY_READ_PASSWORD`',
  },
})
