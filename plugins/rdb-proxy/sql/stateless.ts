import { tokensOf } from 'zin/plugins/sql-wire'

/** Words that may precede a parenthesis in a statement that neither reads nor changes session state. */
const harmless: ReadonlySet<string> = new Set(
  [
    'SELECT FROM JOIN ON WHERE AND OR NOT IN EXISTS AS UNION ALL ANY SOME OVER USING BY THEN ELSE WHEN CASE BETWEEN LIKE IS LIMIT HAVING EXCEPT INTERSECT DISTINCT',
    'COUNT SUM MIN MAX AVG COALESCE IFNULL NULLIF IF LOWER UPPER CONCAT CONCAT_WS GROUP_CONCAT LENGTH CHAR_LENGTH CAST ABS ROUND FLOOR CEIL CEILING MOD',
    'SUBSTRING SUBSTR TRIM LTRIM RTRIM LEFT RIGHT REPLACE GREATEST LEAST HEX UNHEX MD5 SHA1 SHA2 DATE YEAR MONTH DAY JSON_EXTRACT JSON_VALUE JSON_UNQUOTE',
    'CHAR VARCHAR DECIMAL BINARY ROW_NUMBER RANK LAG LEAD',
  ]
    .join(' ')
    .split(' '),
)

/**
 * Returns whether a read certainly leaves no session state except warnings, and reads none: no variables, no SHOW (it could show warnings of
 * the previous statement), and only well-known functions. Its connection then needs no reset, which costs more than most reads.
 */
export function isStateless(sql: string): boolean {
  const { tokens } = tokensOf(sql, 'mysql')
  return tokens.every(({ kind, text }, at) => {
    if (kind === 'name') return !text.startsWith('@') && tokens[at + 1]?.text !== '('
    if (kind === 'symbol') return text !== ':'
    if (kind !== 'word') return true
    return text !== 'SHOW' && (tokens[at + 1]?.text !== '(' || harmless.has(text))
  })
}
