import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that systems assign to connections and to servers on port 0, so that none of these takes the port before its user does. */
const range = { first: 15_000, end: 32_000 } as const

/**
 * Returns a port of the loopback interface that was free a moment ago.
 *
 * @param together number of ports in a row that have to be free, for a service with several instances. Default 1.
 */
export async function freePort(together = 1): Promise<number> {
  for (;;) {
    const first = range.first + Math.floor(Math.random() * (range.end - range.first - together))
    const ports = Array.from({ length: together }, (_, index) => first + index)
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}
