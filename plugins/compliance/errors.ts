import { defineErrors, messageOf } from 'zin'

export const complianceErrors = defineErrors({
  AUDIT_UNAVAILABLE: {
    status: 503,
    message: (action: string, target: string, error: Error) =>
      `"${action}" of ${target} was refused because it cannot be written to the audit log (${messageOf(error)}). Nothing was changed; try again`,
    headers: { 'Retry-After': '5' },
    details: (action: string, target: string) => ({ action, target }),
    when: 'A management action, a login or the view of a payload cannot be written to the audit log',
    fix: 'Bring the database back; meanwhile, jobs keep running and their outcomes are buffered',
  },
  AUDIT_IN_TRANSACTION: {
    status: 500,
    message: (action: string, target: string) =>
      `"${action}" of ${target} was refused: it runs inside a transaction of the database, which holds the only connection, so it cannot be written to the audit log first. Nothing was changed; do it before or after the transaction`,
    details: (action: string, target: string) => ({ action, target }),
    when: 'On SQLite: code inside of `database.transaction` adds a job, or takes another action that is audited',
    fix: 'Do it before or after the transaction',
  },
  INVALID_AUDIT_QUERY: {
    status: 400,
    message: (what: string) => `The audit log cannot be listed: ${what}`,
    when: 'A filter of the audit log is malformed',
    fix: 'Correct the parameter that the message names',
  },
  TOO_MANY_SUBJECTS: {
    status: 400,
    message: (queue: string, count: number, most: number) =>
      `A job of the queue "${queue}" names ${count} subjects; at most ${most} are exported and erased. Nothing was added: divide it into several jobs`,
    when: 'A job names more than 50 subjects, in its data or options',
    fix: 'Divide it into several jobs',
  },
  REPORT_OFF: {
    status: 409,
    message: () => 'The compliance report is off: WORKER_SOC2 is false',
    when: 'The report is requested while `WORKER_SOC2` is false',
    fix: 'Set `WORKER_SOC2` to true',
  },
  AUDIT_MISSING: {
    message: (error: Error) =>
      `This database has no audit log (${messageOf(error)}): no app with the plugin compliance has migrated it yet, or its tables were dropped. Check ZIN_DATA_DIR or DB_*, and run zin migrate --status`,
    when: '`audit:verify` is run on a database without the tables of the audit log',
    fix: 'Verify the database that the app uses, with the same `.env`',
  },
  AUDIT_ANCHOR_UNREADABLE: {
    status: 503,
    message: (path: string, error: Error) => `The audit log cannot be compared with its anchor file ${path}: ${messageOf(error)}`,
    when: 'The audit log is verified, and the file of `WORKER_AUDIT_ANCHOR_FILE` or `--anchor` is missing, cannot be read, or contains no seal',
    fix: 'Restore the file, or name it with `--anchor`; a file that was deleted or emptied is itself a finding',
  },
  AUDIT_ANCHOR_INVALID: {
    message: (fault: string) => `The audit log cannot be anchored: ${fault}`,
    when: 'At boot: `WORKER_AUDIT_ANCHOR_URL` is not a URL, or `WORKER_AUDIT_ANCHOR_SECRET` is too short',
    fix: 'Correct the setting that the message names',
  },
  AUDIT_SET_BACK: {
    message: (chain: number) =>
      `kv already has a seal of another chain ${chain}: the tables of the audit log were set back, or the database was replaced. It is kept as evidence; run zin audit:verify`,
    when: 'In the log: this process writes a chain whose number another chain had before',
    fix: 'Run `zin audit:verify`; after a deliberate restore of the database, the finding stays until retention deletes the chain',
  },
  AUDIT_KEY_UNKNOWN: {
    message: (id: string) =>
      `The audit log is sealed with the key ${id}, which this process does not have: it runs with an earlier APP_KEY, or the earlier one is missing in APP_KEY_BK`,
    when: 'Retention runs on a node whose `APP_KEY` was replaced, or without the earlier key in `APP_KEY_BK`',
    fix: 'Give all nodes the same `APP_KEY` and `APP_KEY_BK`',
  },
  COMPLIANCE_KEY_MISSING: {
    message: (settings: string) =>
      `APP_KEY is not set, but ${settings} requires it; set it to at least 32 random bytes in the environment or .env`,
    when: 'At boot in production without `APP_KEY`, while `WORKER_AUDIT_LOG` is true',
    fix: 'Set `APP_KEY`; generate one with `node -e "console.log(crypto.randomBytes(32).toString(\'base64url\'))"`',
  },
  HIPAA_REFUSED: {
    message: (missing: string) => `WORKER_HIPAA is true, but the app is missing ${missing}`,
    when: 'At boot: `WORKER_HIPAA` is true and encryption or the audit log is off or has no key',
    fix: 'Turn on what the message names, or set `WORKER_HIPAA` to false',
  },
})
