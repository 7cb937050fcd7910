import { createHash } from 'node:crypto'
import type { PglitePool } from '../embedded/pool.js'
import type { SearchBackend, SearchField } from './contract.js'

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** SQL for the values of a field as one JSON list, whether it contains one value or several. */
function valuesOf({ places }: SearchField): string {
  const lists = places.map(
    (place) => `coalesce(jsonb_path_query_array(data #> array[${place.map(literal).join(', ')}]::text[], '$[*]'), '[]'::jsonb)`,
  )
  return `(${lists.join(' || ')})`
}

/** A name that is specific to the queue and the indexed expression. */
function indexName(field: SearchField): string {
  return `zin_search_${createHash('sha256')
    .update(`${field.queue} ${valuesOf(field)}`)
    .digest('hex')
    .slice(0, 20)}`
}

/** One index on the table of jobs per field. It covers all jobs, including older ones, and drops entries with their rows. */
export function embeddedSearch(pool: PglitePool): SearchBackend {
  return {
    async open(fields) {
      const { rows } = await pool.query<{ name: string }>(
        "select indexname as name from pg_indexes where tablename = 'job' and starts_with(indexname, 'zin_search_')",
      )
      const existing = new Set(rows.map(({ name }) => name))
      const declared = new Map(fields.map((field) => [indexName(field), field]))
      for (const name of existing) if (!declared.has(name)) await pool.query(`drop index ${name}`)
      for (const [name, field] of declared) {
        if (existing.has(name)) continue
        await pool.query(`create index ${name} on job using gin (${valuesOf(field)} jsonb_path_ops) where queue = ${literal(field.queue)}`)
      }
    },
    added: () => Promise.resolve(),
    removed: () => Promise.resolve(),
    async find(field, value, limit) {
      const wanted = formsOf(value).map((form) => JSON.stringify([form]))
      const matches = wanted.map((_, i) => `${valuesOf(field)} @> $${i + 2}::jsonb`).join(' or ')
      // The queue name is a literal, not a parameter: otherwise the planner would not use the index.
      const { rows } = await pool.query<{ id: string; total: string }>(
        `select id, count(*) over () as total from job where queue = ${literal(field.queue)} and (${matches})
         order by added_at_ms desc, seq desc limit $1::int`,
        [limit, ...wanted],
      )
      return { ids: rows.map(({ id }) => id), total: Number(rows[0]?.total ?? 0), since: undefined }
    },
  }
}

/** The JSON values that a search text can stand for. */
function formsOf(value: string): readonly unknown[] {
  const number = Number(value)
  if (String(number) === value && Number.isFinite(number)) return [value, number]
  return value === 'true' || value === 'false' ? [value, value === 'true'] : [value]
}
