/** A setting of a session that decides what a statement means, returns or leaves behind. */
interface SessionSetting {
  readonly name: string
  /** As SHOW VARIABLES returns it. */
  readonly value: string
  /**
   * The servers that have it; all, if omitted. They read it in a comment that only they execute, so that the server itself decides by its
   * version.
   */
  readonly of?: 'MariaDB' | 'MariaDB 10.6' | 'MariaDB 10.10' | 'MySQL 8'
  /** What another value does. */
  readonly why: string
}

/** The begin of a comment that those servers execute, and the lowest version of them, as 100 major + minor. */
const servers: Readonly<Record<NonNullable<SessionSetting['of']>, { readonly comment: string; readonly from: number }>> = {
  MariaDB: { comment: '/*M!100300', from: 1003 },
  'MariaDB 10.6': { comment: '/*M!100600', from: 1006 },
  'MariaDB 10.10': { comment: '/*M!101000', from: 1010 },
  // MariaDB ignores comments with the versions 50700 to 99999.
  'MySQL 8': { comment: '/*!80000', from: 800 },
}

/**
 * The settings that each connection sets and reads back, whatever an administrator has set globally. Not here: limits of the server, such as
 * `max_statement_time`, `max_join_size` and `innodb_lock_wait_timeout`, because a statement that exceeds one fails; what only its plans and
 * its log depend on; `auto_increment_increment`, with which a cluster keeps ids apart; and what MySQL allows only its administrators to set.
 */
export const sessionSettings: readonly SessionSetting[] = [
  { name: 'autocommit', value: 'ON', why: 'A statement outside of a transaction is not committed' },
  { name: 'completion_type', value: 'NO_CHAIN', why: 'COMMIT begins another transaction, or closes the connection' },
  { name: 'default_storage_engine', value: 'InnoDB', why: 'A table has no transactions and no foreign keys' },
  { name: 'default_tmp_storage_engine', value: 'InnoDB', why: 'A temporary table has no transactions' },
  { name: 'foreign_key_checks', value: 'ON', why: 'A row may refer to nothing' },
  { name: 'unique_checks', value: 'ON', why: 'A unique index may get a value twice' },
  { name: 'check_constraint_checks', value: 'ON', of: 'MariaDB', why: 'A row may violate a check' },
  { name: 'innodb_strict_mode', value: 'ON', of: 'MariaDB', why: 'A table is created with other options than those given' },
  { name: 'explicit_defaults_for_timestamp', value: 'ON', of: 'MariaDB 10.10', why: 'A column of the type timestamp updates itself' },
  { name: 'sql_if_exists', value: 'OFF', of: 'MariaDB 10.6', why: 'ALTER and DROP of nothing succeed' },
  { name: 'sql_safe_updates', value: 'OFF', why: 'An UPDATE or DELETE without a key in its condition fails' },
  { name: 'updatable_views_with_limit', value: 'YES', why: 'An UPDATE of a view with LIMIT fails' },
  { name: 'sql_select_limit', value: '18446744073709551615', why: 'A result lacks rows' },
  { name: 'max_recursive_iterations', value: '1000', of: 'MariaDB', why: 'A recursive query returns a part of its rows' },
  { name: 'group_concat_max_len', value: '1048576', why: 'GROUP_CONCAT is cut; the default differs between the servers' },
  { name: 'max_sort_length', value: '1024', why: 'Long texts are sorted by their beginning' },
  { name: 'sql_auto_is_null', value: 'OFF', why: '`id is null` finds the last inserted row' },
  { name: 'div_precision_increment', value: '4', why: 'A quotient has other digits' },
  { name: 'default_week_format', value: '0', why: 'WEEK counts otherwise' },
  { name: 'lc_time_names', value: 'en_US', why: 'DATE_FORMAT names months in another language' },
  { name: 'old_mode', value: 'UTF8_IS_UTF8MB3', of: 'MariaDB 10.6', why: 'Casts of times and the character set utf8 differ' },
  { name: 'default_regex_flags', value: '', of: 'MariaDB', why: 'REGEXP matches otherwise' },
  { name: 'standard_compliant_cte', value: 'ON', of: 'MariaDB', why: 'Recursive queries that loop are allowed' },
  { name: 'system_versioning_asof', value: 'DEFAULT', of: 'MariaDB', why: 'A table with system versions shows an earlier state' },
  { name: 'block_encryption_mode', value: 'aes-128-ecb', of: 'MySQL 8', why: 'AES_ENCRYPT returns something else' },
  { name: 'sql_quote_show_create', value: 'ON', why: 'SHOW CREATE and SHOW GRANTS do not quote names' },
  { name: 'session_track_state_change', value: 'ON', why: 'A changed session is given to the next user of its connection' },
  { name: 'sql_notes', value: 'ON', why: 'Notes are not counted as warnings' },
]

/** Assignments of all settings, to follow another one in a SET. */
export const assignments = sessionSettings
  .map(({ name, value, of }) => {
    const assignment = `, session ${name} = ${/^(\d+|ON|OFF|DEFAULT)$/.test(value) ? value : `'${value}'`}`
    return of === undefined ? assignment : ` ${servers[of].comment}${assignment} */`
  })
  .join('')

/** Whether a server sets a setting, by its `version()`, such as `10.11.14-MariaDB-log` or `9.7.4`. */
export function isSetBy({ of }: Pick<SessionSetting, 'of'>, version: string): boolean {
  if (of === undefined) return true
  // MariaDB may pretend to be an old MySQL first: 5.5.5-10.6.12-MariaDB.
  const [, major = '0', minor = '0'] = /^(?:5\.5\.5-)?(\d+)\.(\d+)/.exec(version) ?? []
  return of.startsWith('MariaDB') === /mariadb/i.test(version) && 100 * Number(major) + Number(minor) >= servers[of].from
}
