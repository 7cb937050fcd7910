import { WireError, wrongCount } from 'zin/plugins/sql-wire'
import { type Field, GEOMETRY, VECTOR } from './columns.js'
import { connectionLost, UNPREPARABLE } from './db-errors.js'
import type { Prepared } from './prepared.js'
import type { Session } from './session.js'

/** Result of a statement without rows. */
export interface Changes {
  /** The driver returns text if a number would be inexact. */
  readonly affectedRows: number | string
  readonly insertId: number | string
  readonly changedRows?: number
  readonly warningStatus?: number
}

/** Receives the result of a statement while it arrives. */
export interface ResultSink {
  fields(fields: readonly Field[]): void
  row(row: readonly unknown[]): void
}

/** The used part of the driver's command. */
export interface Command {
  on(event: 'fields', listener: (fields: readonly Field[] | undefined) => void): this
  on(event: 'result', listener: (result: unknown) => void): this
  on(event: 'error', listener: (error: unknown) => void): this
  on(event: 'end', listener: () => void): this
  stream(options: { readonly highWaterMark: number }): NodeJS.ReadableStream & AsyncIterable<unknown> & { destroy(): void }
}

/** More than the head of a command, and than a value without its text or bytes. */
const valueBytes = 40

interface Driver {
  execute(options: object): Command
  query(options: object): Command
}

/**
 * Sends a statement over the binary protocol. The parameter count reported by the server is checked first, because MariaDB misreads extra
 * parameters. Statements that cannot be prepared, such as some kinds of SHOW, are sent as text if they have no parameters. Returns no promise
 * if the statement is already prepared, which is the common case and saves a microsecond or more.
 */
export function send(session: Session, sql: string, values: readonly unknown[]): Command | Promise<Command> {
  if (session.broken) throw connectionLost()
  demandFits(session, sql, values)
  const prepared = session.prepare(sql)
  if (!(prepared instanceof Promise)) return sendPrepared(session, sql, prepared, values)
  return prepared.then(
    (found) => {
      try {
        return sendPrepared(session, sql, found, values)
      } finally {
        session.release(sql)
      }
    },
    (error: unknown) => {
      if ((error as { readonly errno?: unknown }).errno !== UNPREPARABLE) throw error
      if (values.length > 0) throw wrongCount(0, values.length)
      // biome-ignore lint/suspicious/noThenProperty: the driver's command for text has one that only throws, which a promise would call
      return Object.assign(driverOf(session).query({ sql, typeCast: rawBytes }), { then: undefined })
    },
  )
}

/** Refuses what the server would answer by closing the connection, which looks like an outage. */
function demandFits({ maxPacketBytes }: Session, sql: string, values: readonly unknown[]): void {
  let most = 0
  for (const value of values) most += valueBytes + (typeof value === 'string' || Buffer.isBuffer(value) ? 3 * value.length : 0)
  // Statement and values are sent apart, each as one packet.
  if (Math.max(3 * sql.length, most) + valueBytes <= maxPacketBytes) return
  let bytes = 0
  for (const value of values) bytes += valueBytes + (typeof value === 'string' || Buffer.isBuffer(value) ? Buffer.byteLength(value) : 0)
  if (Math.max(Buffer.byteLength(sql), bytes) + valueBytes <= maxPacketBytes) return
  throw new WireError(
    'PAYLOAD_TOO_LARGE',
    `The statement or its values are larger than the ${maxPacketBytes} bytes that the database accepts (max_allowed_packet)`,
    { details: { limit: maxPacketBytes } },
  )
}

function sendPrepared(session: Session, sql: string, prepared: Prepared, values: readonly unknown[]): Command {
  if (prepared.parameters.length !== values.length) throw wrongCount(prepared.parameters.length, values.length)
  const isParsed = prepared.columns.some(({ columnType }) => columnType === GEOMETRY || columnType === VECTOR)
  return isParsed ? driverOf(session).execute({ sql, values, typeCast: rawBytes }) : prepared.execute(values)
}

const driverOf = ({ socket }: Session): Driver => socket as unknown as Driver

interface TypeCastField {
  readonly type: string
  buffer(): Buffer | null
}

/** Keeps geometry and vectors as raw bytes; the driver would parse them into objects and numbers. */
function rawBytes(field: TypeCastField, next: () => unknown): unknown {
  return field.type === 'GEOMETRY' || field.type === 'VECTOR' ? field.buffer() : next()
}

/** Receives the result of a statement and converts it. */
export interface Receiver<R> {
  readonly sink: ResultSink
  /** Returns the result at the end of the statement. `changes` is undefined if it had rows, which went to the sink. */
  resultOf(changes: Changes | undefined): R
  /** Called on an error of the database or the sink; the rest of the result may still arrive. */
  onFault(): void
}

/** Runs a statement to its end. Rejects immediately if the sink throws. */
export function execute<R>(session: Session, sql: string, values: readonly unknown[], receiver: Receiver<R>): Promise<R> {
  const sent = send(session, sql, values)
  return sent instanceof Promise ? sent.then((command) => receive(session, command, receiver)) : receive(session, sent, receiver)
}

function receive<R>(session: Session, command: Command, { sink, resultOf, onFault }: Receiver<R>): Promise<R> {
  return new Promise((resolve, reject) => {
    let changes: Changes | undefined
    let hasRows = false
    let results = 0
    const fail = (error: unknown): void => {
      onFault()
      reject(error as Error)
    }
    session.onLost(fail)
    command.on('fields', (fields) => {
      try {
        if (++results > 1) throw new WireError('STATEMENT_NOT_ALLOWED', 'The statement returns more than one result')
        if (fields === undefined) return
        hasRows = true
        sink.fields(fields)
      } catch (error) {
        fail(error)
      }
    })
    command.on('result', (result) => {
      try {
        if (hasRows) sink.row(result as readonly unknown[])
        else changes = result as Changes
      } catch (error) {
        fail(error)
      }
    })
    command.on('error', fail)
    command.on('end', () => {
      session.onLost(undefined)
      resolve(resultOf(changes))
    })
  })
}
