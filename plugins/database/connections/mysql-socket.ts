import type { ConnectionOptions, Connection as MysqlSocket } from 'mysql2'

/** Opens a connection outside of the pool. It is the caller's to destroy. */
export type OpenSocket = (limitMs: number) => Promise<MysqlSocket>

/** Connects within `limitMs`, or rejects with ETIMEDOUT. */
export async function openSocket(options: ConnectionOptions, limitMs: number): Promise<MysqlSocket> {
  const { createConnection } = await import('mysql2')
  return new Promise((resolve, reject) => {
    const socket = createConnection(options)
    // An error after the log-in is seen by whoever uses the connection next.
    socket.on('error', () => undefined)
    const timer = setTimeout(() => {
      socket.destroy()
      reject(Object.assign(new Error(`no answer within ${Math.round(limitMs)} ms`), { code: 'ETIMEDOUT' }))
    }, limitMs)
    socket.connect((error) => {
      clearTimeout(timer)
      if (error) {
        socket.destroy()
        reject(error)
      } else resolve(socket)
    })
  })
}

/** One statement on a connection. */
export function query<Row>(socket: MysqlSocket, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    socket.query(sql, [...values], (error: unknown, rows: unknown) => {
      if (error) reject(error instanceof Error ? error : new Error(String(error)))
      else resolve(rows as readonly Row[])
    })
  })
}
