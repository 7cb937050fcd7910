import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
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
