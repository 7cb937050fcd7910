import type { ObservedQuery } from 'zin/plugins/database'

const maxLength = 2000

const strings: Readonly<Record<ObservedQuery['dialect'], RegExp>> = {
  mysql: /'(?:[^'\\]|''|\\.)*(?:'|$)|"(?:[^"\\]|""|\\.)*(?:"|$)/gs,
  sqlite: /'(?:[^']|'')*(?:'|$)/g,
}

/** A query as a span shows it: without the literals that code may have written into it, and not too long. */
export function sqlText(sql: string, dialect: ObservedQuery['dialect']): string {
  return sql
    .slice(0, maxLength * 2)
    .replace(strings[dialect], '?')
    .replace(/\b0x[0-9a-f]+\b|(?<![\w"`.])\d+(?:\.\d+)?\b/gi, '?')
    .slice(0, maxLength)
}

/** `SELECT`, `INSERT`, …; `QUERY` for anything else. */
export function operationOf(sql: string): string {
  const word = /^\s*([a-z]{2,12})\b/i.exec(sql)?.[1]?.toUpperCase()
  return word ?? 'QUERY'
}
