import { getTypeParser } from 'pg-types'

/** The fields of a PostgreSQL protocol message that are read here. */
export interface ProtocolMessage {
  readonly name: string
  readonly status?: string
  readonly text?: string
  readonly message?: string
  readonly code?: string
  readonly detail?: string
  readonly fields?: readonly unknown[]
}

export interface QueryResult {
  readonly rows: Record<string, unknown>[]
  readonly rowCount: number | null
  readonly command: string
}

export interface ReadResponse {
  /** The result of the last statement. */
  readonly result: QueryResult
  readonly error: ProtocolMessage | undefined
  /** Whether the transaction is still open. */
  readonly inTransaction: boolean
  /** Whether the statement was parsed, so that the server knows it by its name. */
  readonly parsed: boolean
}

interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

const nothing: QueryResult = { rows: [], rowCount: 0, command: '' }

/** Converts the messages of one exchange to rows with values as node-postgres returns them. Pure. */
export function readResponse(messages: readonly ProtocolMessage[]): ReadResponse {
  let columns: readonly Column[] = []
  let rows: Record<string, unknown>[] = []
  let result = nothing
  let error: ProtocolMessage | undefined
  let inTransaction = false
  let parsed = false
  for (const message of messages) {
    if (message.name === 'parseComplete') parsed = true
    else if (message.name === 'rowDescription') columns = (message.fields ?? []).map(columnOf)
    else if (message.name === 'dataRow') rows.push(rowOf(columns, message.fields ?? []))
    else if (message.name === 'commandComplete') {
      result = { rows, ...tagOf(message.text ?? '') }
      rows = []
    } else if (message.name === 'error') error ??= message
    else if (message.name === 'readyForQuery') inTransaction = message.status !== 'I'
  }
  return { result, error, inTransaction, parsed }
}

function columnOf(field: unknown): Column {
  const { name, dataTypeID } = field as { readonly name: string; readonly dataTypeID: number }
  return { name, parse: getTypeParser(dataTypeID, 'text') }
}

function rowOf(columns: readonly Column[], fields: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(columns.map(({ name, parse }, i) => [name, typeof fields[i] === 'string' ? parse(fields[i]) : null]))
}

/** `INSERT 0 3` → 3 rows of INSERT. */
function tagOf(tag: string): Pick<QueryResult, 'rowCount' | 'command'> {
  const words = tag.split(' ')
  const count = Number(words.at(-1))
  return { command: words[0] ?? '', rowCount: Number.isNaN(count) ? null : count }
}
