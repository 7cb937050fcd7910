import type { Connection as MysqlSocket } from 'mysql2'
import type { Field } from './columns.js'
import type { Command } from './execute.js'

/** A statement that a connection has prepared. */
export interface Prepared {
  readonly parameters: readonly unknown[]
  readonly columns: readonly Field[]
  /** Sends it. The rows arrive as arrays, as the connection is set to. */
  execute(values: readonly unknown[]): Command
}

interface Driver {
  prepare(options: { readonly sql: string }, callback: (error: unknown, statement: Prepared) => void): void
}

/** Has a connection prepare a statement: its parameters and its columns. */
export function prepare(socket: MysqlSocket, sql: string): Promise<Prepared> {
  return new Promise((resolve, reject) => {
    ;(socket as unknown as Driver).prepare({ sql }, (error, statement) => (error ? reject(error as Error) : resolve(statement)))
  })
}
