import type { Connection as MysqlSocket } from 'mysql2'
import type { Field } from './columns.js'
import type { Command } from './execute.js'

/** A statement prepared on a connection. */
export interface Prepared {
  readonly parameters: readonly unknown[]
  readonly columns: readonly Field[]
  /** Sends it. Rows arrive as arrays, as configured on the connection. */
  execute(values: readonly unknown[]): Command
}

interface Driver {
  prepare(options: { readonly sql: string }, callback: (error: unknown, statement: Prepared) => void): void
}

/** Prepares a statement on a connection; resolves with its parameters and columns. */
export function prepare(socket: MysqlSocket, sql: string): Promise<Prepared> {
  return new Promise((resolve, reject) => {
    ;(socket as unknown as Driver).prepare({ sql }, (error, statement) => (error ? reject(error as Error) : resolve(statement)))
  })
}
