import type { ObservedQuery } from 'zin/plugins/database'

const maxLength = 2000

const strings: Readonly<Record<ObservedQuery['dialect'], RegExp>> = {
  mysql: /'(?:[^'\\]|''|\\.)*(?:'|$)|"(?:[^"\\]|""|\\.)*(?:"|$)/gs,
  sqlite: /'(?:[^']|'')*(?:'|$)/g,
}

/** Returns a query as shown in spans: with literals replaced, and cut to a maximum length. */
export function sqlText(sql: string, dialect: ObservedQuery['dialect']): string {
  return sql
    .slice(0, maxLength * 2)
    .replace(strings[dialect], '?')
    .replace(/\b0x[0-9a-f]+\b|(?<![\w"`.])\d+(?:\.\d+)?\b/gi, '?')
    .slice(0, maxLength)
}

/** Returns the operation: `SELECT`, `INSERT`, …; `QUERY` for anything else. */
export function operationOf(sql: string): string {
  const word = /^\s*([a-z]{2,12})\b/i.exec(sql)?.[1]?.toUpperCase()
  return word ?? 'QUERY'
}
