import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codePath, type HostView, messageOf, type SettingValues } from 'zin'
import { microserviceErrors } from '../errors.js'
import type { MicroservicesOptions } from '../options.js'
import type { microserviceSettings } from '../settings.js'
import { defineServices } from './define-services.js'
import type { ServiceDefinition } from './definition.js'
import { findServices } from './find-services.js'

export interface LoadDefinitionsInput {
  /** Whether services are discovered in folders. */
  readonly discovers: boolean
  readonly app: Pick<HostView['app'], 'codeDir' | 'rootDir'>
  /** Port of the app; 0: any free port. */
  readonly port: number
  readonly options: MicroservicesOptions
  readonly settings: SettingValues<typeof microserviceSettings>
}

/** Discovers services and reads their definitions. Throws SERVICE_CONFIG_INVALID with all problems. `notes` are logged. */
export async function loadDefinitions({ discovers, app, options, port, settings }: LoadDefinitionsInput): Promise<{
  readonly services: readonly ServiceDefinition[]
  readonly notes: readonly string[]
}> {
  const { found, problems } = discovers ? await findServices(codePath(app, options.directory)) : { found: [], problems: [] }
  const authorities = await readAuthorities(app.rootDir, options.services)
  const defined = defineServices({
    discovers,
    found,
    registered: options.services,
    authorities: authorities.read,
    allowed: discovers ? settings.SERVICES : [],
    host: options.host,
    basePort: options.basePort,
    process: options.processes,
    isolation: settings.DATABASE_ISOLATION,
    tracing: { enabled: settings.MICROSERVICES_TRACING, samplingRate: settings.MICROSERVICES_TRACING_RATE },
    reserved: port === 0 ? [] : [port],
  })
  const all = [...problems, ...authorities.problems, ...defined.problems]
  if (all.length > 0) throw microserviceErrors.SERVICE_CONFIG_INVALID(all)
  return { services: defined.services, notes: defined.notes }
}

/** Reads the files of the option `ca`: text by service. */
async function readAuthorities(
  rootDir: string,
  services: MicroservicesOptions['services'],
): Promise<{ readonly read: Readonly<Record<string, string>>; readonly problems: readonly string[] }> {
  const read: Record<string, string> = {}
  const problems: string[] = []
  for (const [name, { ca }] of Object.entries(services)) {
    if (ca === undefined) continue
    try {
      const text = await readFile(resolve(rootDir, ca), 'utf8')
      // Throws if it is invalid: TLS would silently treat an invalid file as empty.
      new X509Certificate(text)
      read[name] = text
    } catch (error) {
      problems.push(`option services.${name}.ca: ${ca} is not a readable PEM certificate (${messageOf(error)})`)
    }
  }
  return { read, problems }
}
