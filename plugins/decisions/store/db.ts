import { type Database, deleteBefore, upsertRows } from 'zin/plugins/database'
import type { Decision } from '../contract.js'
import type { DecisionStore, StoreQuery } from './contract.js'

interface DecisionRow {
  readonly id: string
  readonly at: number
  readonly kind: string
  readonly subject: string
  readonly verdict: string
  readonly acted: number
  readonly reason: string
  readonly rule: string
  readonly actor: string
  readonly inputs: string | null
  readonly links: string | null
}

const table = 'zin_decisions'

/** Stores decisions in a table shared by all nodes of the app. */
export function databaseStore(database: Database): DecisionStore {
  const tables = () => database.tables<Record<typeof table, DecisionRow>>()
  const matching = ({ subject, kind, since }: StoreQuery) =>
    tables()
      .selectFrom(table)
      .$if(subject !== undefined, (query) => query.where('subject', '=', subject ?? ''))
      .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? ''))
      .$if(since !== undefined, (query) => query.where('at', '>=', since ?? 0))
  return {
    get kind() {
      return database.dialect
    },
    async add(decisions) {
      if (decisions.length > 0) await upsertRows(tables(), { table, key: ['id'], rows: decisions.map(rowOf), existing: 'replace' })
    },
    async list(query) {
      const page = matching(query).selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(query.limit).offset(query.offset)
      const count = matching(query).select((eb) => eb.fn.countAll().as('total'))
      const [rows, { total }] = await Promise.all([page.execute(), count.executeTakeFirstOrThrow()])
      return { decisions: rows.map(decisionOf), total: Number(total) }
    },
    async prune(before, most) {
      const more = await deleteBefore(tables(), { table, key: ['id'], column: 'at', before })
      if (more) return
      const beyond = await tables().selectFrom(table).select('at').orderBy('at', 'desc').limit(1).offset(most).executeTakeFirst()
      if (beyond !== undefined) await deleteBefore(tables(), { table, key: ['id'], column: 'at', before: Number(beyond.at) + 1 })
    },
  }
}

function rowOf({
  id,
  at,
  kind,
  subject,
  verdict,
  acted,
  reason,
  rule,
  actor,
  inputs,
  links,
}: Decision): DecisionRow & Record<string, unknown> {
  return {
    id,
    at: Date.parse(at),
    kind,
    subject,
    verdict,
    acted: acted ? 1 : 0,
    reason,
    rule,
    actor: JSON.stringify(actor),
    inputs: inputs === undefined ? null : JSON.stringify(inputs),
    links: links === undefined ? null : JSON.stringify(links),
  }
}

/** Drivers return numbers as number, text or bigint. */
function decisionOf({ id, at, kind, subject, verdict, acted, reason, rule, actor, inputs, links }: DecisionRow): Decision {
  return {
    id,
    at: new Date(Number(at)).toISOString(),
    kind,
    subject,
    verdict,
    acted: Number(acted) === 1,
    reason,
    ...(inputs === null ? {} : { inputs: JSON.parse(inputs) }),
    rule,
    actor: JSON.parse(actor),
    ...(links === null ? {} : { links: JSON.parse(links) }),
  }
}
