import type { Duplex } from 'node:stream'
import type { ConnectionOptions, Connection as MysqlSocket } from 'mysql2'
import { withDeadline } from 'zin'
import { query, setUpSession } from './mysql-session.js'

const killMs = 2000

/** Opens a connection outside of the pool. The caller must destroy it. */
export type OpenSocket = (limitMs: number) => Promise<MysqlSocket>

/** Connects and sets up the session within `limitMs`, or rejects with ETIMEDOUT. */
export async function openSocket(options: ConnectionOptions, limitMs: number): Promise<MysqlSocket> {
  const { createConnection } = await import('mysql2')
  return new Promise((resolve, reject) => {
    const socket = createConnection(options)
    // An error after the login rejects the next query on the connection.
    socket.on('error', () => undefined)
    const timer = setTimeout(() => {
      discard(socket)
      reject(Object.assign(new Error(`no response within ${Math.round(limitMs)} ms`), { code: 'ETIMEDOUT' }))
    }, limitMs)
    const end = (error?: unknown): void => {
      clearTimeout(timer)
      if (error) {
        discard(socket)
        reject(error as Error)
      } else resolve(socket)
    }
    socket.connect((error) => {
      if (error) end(error)
      else setUpSession(socket).then(() => end(), end)
    })
  })
}

/** Closes a connection now: `destroy` of mysql2 alone waits for the server to close it, too, which a hung server never does. */
export function discard(socket: MysqlSocket): void {
  socket.destroy()
  ;(socket as unknown as { readonly stream: Duplex }).stream.destroy()
}

/** Kills the connection with that id and its running query, if the server responds within 2 s. */
export async function killOn(open: OpenSocket, threadId: number): Promise<void> {
  const socket = await open(killMs).catch(() => undefined)
  if (socket === undefined) return
  // A server that resumed after a hang has killed it already.
  await withDeadline(query(socket, 'kill ?', [threadId]), killMs, '').catch(() => undefined)
  discard(socket)
}
