import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Plugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { ops } from 'zin/plugins/ops'
import { createTestHost, type TestHost } from 'zin/testing'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { type Microservices, microservices, microservicesService } from '../index.js'

/** Files of services by path under `src/services`; objects are written as JSON. */
export type ServiceFiles = Readonly<Record<string, string | object>>

export interface ServicesApp {
  readonly host: TestHost
  readonly services: Microservices
  readonly rootDir: string
}

export interface ServicesAppOptions {
  readonly files?: ServiceFiles
  readonly env?: Readonly<Record<string, string>>
  readonly options?: Parameters<typeof microservices>[0]
  readonly plugins?: readonly Plugin[]
  readonly listen?: boolean
  readonly routes?: Parameters<typeof createTestHost>[0] extends infer O ? (O extends { routes?: infer R } ? R : never) : never
}

/** Returns the plugins that `microservices` needs. */
export function foundations(): readonly Plugin[] {
  return [cluster(), ops(), decisions()]
}

/** Starts an app with services in a temporary folder. */
export async function servicesApp(t: TestContext, given: ServicesAppOptions = {}): Promise<ServicesApp> {
  const later = cleanUp(t)
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-services-'))
  later(() => rm(rootDir, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(given.files ?? {})) {
    const file = join(rootDir, 'src/services', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
  const host = await createTestHost({
    plugins: [...foundations(), ...(given.plugins ?? []), microservices(given.options ?? {})],
    env: { NODE_ENV: 'test', PORT: '0', LOG_REQUESTS: 'false', MICROSERVICES: 'true', ...given.env },
    rootDir,
    listen: given.listen ?? false,
    ...(given.routes === undefined ? {} : { routes: given.routes }),
  })
  later(() => host.stop())
  return { host, services: host.service(microservicesService), rootDir }
}

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

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
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
