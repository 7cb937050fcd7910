// Without Zin itself, which a test process would take a second to load.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** Starts a server that is not a service of the app; returns its origin. */
export async function serve(
  t: TestContext,
  listener: RequestListener,
): Promise<{ readonly url: string; readonly port: number; close(): void }> {
  const server = createServer(listener)
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  t.after(close)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, close }
}

/** Returns the source of a service module with a health route and the given routes. */
export function moduleText(routes = ''): string {
  return `export default (context) => ({ routes: [
    { method: 'GET', path: '/health', summary: 'Health', probe: true, handler: () => ({ status: 'healthy' }) },
    { method: 'GET', path: '/who', summary: 'Who', handler: ({ request }) => ({ name: context.name, domain: context.domain, version: context.version, port: context.port, pid: process.pid, headers: request.headers }) },
    ${routes}
  ] })
`
}
