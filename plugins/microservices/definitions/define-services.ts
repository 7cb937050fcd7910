import { checkEgressUrl, messageOf } from 'zin'
import { targetProblem } from '../calls/target.js'
import type { RegisteredService } from '../options.js'
import type { LocalService, ServiceDefinition } from './definition.js'
import type { FoundService } from './find-services.js'
import { inDependencyOrder } from './order.js'
import { assignPorts } from './ports.js'

export interface DefineInput {
  /** Whether services are discovered in folders. */
  readonly discovers: boolean
  /** In the order of discovery. */
  readonly found: readonly FoundService[]
  readonly registered: Readonly<Record<string, RegisteredService>>
  /** Certificates (PEM) by service. */
  readonly authorities: Readonly<Record<string, string>>
  /** Names of discovered services to use; empty: all. */
  readonly allowed: readonly string[]
  readonly host: string
  readonly basePort: number
  readonly process: 'own' | 'shared'
  readonly isolation: 'shared' | 'isolated'
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
  /** Ports used by the app itself. */
  readonly reserved: readonly number[]
}

/** Returns the definitions of all services, dependencies first, and all problems found. `notes` are logged. */
export function defineServices(input: DefineInput): {
  readonly services: readonly ServiceDefinition[]
  readonly problems: readonly string[]
  readonly notes: readonly string[]
} {
  const { found, registered, allowed } = input
  const problems = [...duplicates(found), ...allowed.filter((name) => !isKnown(input, name)).map(unknownAllowed)]
  const ports = assignPorts(
    found.map(({ config }) => ({
      ...(config.port === undefined ? {} : { port: config.port }),
      count: registered[config.name]?.instances ?? 1,
    })),
    input.basePort,
    input.reserved,
  )
  for (const { config, place } of found)
    if (config.port !== undefined && input.reserved.includes(config.port))
      problems.push(`${place}: port ${config.port} is the port of the app`)
  const used = found.flatMap((service, index) =>
    allowed.length === 0 || allowed.includes(service.config.name) ? [discovered(service, ports[index] ?? [], input, problems)] : [],
  )
  const names = new Set(found.map(({ config }) => config.name))
  const remote = Object.entries(registered).flatMap(([name, entry]) => (names.has(name) ? [] : elsewhere(name, entry, input, problems)))
  const services = [...used, ...remote]
  const { notes, unknown } = checkDependencies(services, names)
  problems.push(...unknown)
  const ordered = inDependencyOrder(services)
  if ('cycle' in ordered) problems.push(`the dependencies of services form a cycle: ${ordered.cycle.join(' → ')}`)
  return { services: 'order' in ordered ? ordered.order : [], problems, notes }
}

function isKnown({ found }: DefineInput, name: string): boolean {
  return found.some(({ config }) => config.name === name)
}

function unknownAllowed(name: string): string {
  return `SERVICES contains "${name}", but no service with that name was discovered`
}

function duplicates(found: readonly FoundService[]): string[] {
  const problems: string[] = []
  const names = new Map<string, string>()
  const ports = new Map<number, string>()
  for (const { config, place } of found) {
    const sameName = names.get(config.name)
    if (sameName !== undefined) problems.push(`${place} and ${sameName} have the same name "${config.name}"`)
    else names.set(config.name, place)
    if (config.port === undefined) continue
    const samePort = ports.get(config.port)
    if (samePort !== undefined) problems.push(`${place} and ${samePort} have the same port ${config.port}`)
    else ports.set(config.port, place)
  }
  return problems
}

function discovered(
  { config, domain, folder }: FoundService,
  ports: readonly number[],
  input: DefineInput,
  problems: string[],
): ServiceDefinition {
  const entry = input.registered[config.name] ?? {}
  const urls = urlsOf(config.name, entry, problems)
  const local: LocalService = { folder, host: input.host, ports, process: entry.process ?? input.process }
  return {
    name: config.name,
    domain,
    version: entry.version ?? config.version ?? '0.0.0',
    description: config.description ?? '',
    source: 'discovered',
    dependencies: config.dependencies ?? [],
    healthCheck: healthCheckOf(config.name, entry, problems) ?? config.healthCheck ?? '/health',
    auth: entry.auth ?? config.auth?.strategy ?? 'none',
    database: { isolation: config.database?.isolation ?? input.isolation, migrations: config.database?.migrations ?? false },
    tracing: {
      enabled: config.tracing?.enabled ?? input.tracing.enabled,
      samplingRate: config.tracing?.samplingRate ?? input.tracing.samplingRate,
    },
    ...(urls.length > 0
      ? { urls, ...authority(config.name, input) }
      : { urls: ports.map((port) => `http://${reachable(input.host)}:${port}`), local }),
  }
}

function elsewhere(name: string, entry: RegisteredService, input: DefineInput, problems: string[]): readonly ServiceDefinition[] {
  const urls = urlsOf(name, entry, problems)
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
    problems.push(`option services: the name "${name}" must be made of lower-case letters, digits and single hyphens`)
  if (entry.url === undefined) {
    const why = input.discovers ? 'no service with that name was discovered' : 'services are discovered only with MICROSERVICES=true'
    problems.push(`option services.${name}: it has no url, and ${why}`)
  }
  const healthCheck = healthCheckOf(name, entry, problems) ?? '/health'
  const { version = '0.0.0', auth = 'none' } = entry
  const common = { name, version, auth, healthCheck, urls, tracing: input.tracing, ...authority(name, input) }
  return [
    {
      ...common,
      domain: '',
      description: '',
      source: 'registered',
      dependencies: [],
      database: { isolation: 'shared', migrations: false },
    },
  ]
}

function authority(name: string, { authorities }: DefineInput): { readonly ca?: string } {
  const ca = authorities[name]
  return ca === undefined ? {} : { ca }
}

function healthCheckOf(name: string, { healthCheck }: RegisteredService, problems: string[]): string | undefined {
  const problem = healthCheck === undefined ? undefined : targetProblem(healthCheck)
  if (problem !== undefined) problems.push(`option services.${name}.healthCheck: ${problem}`)
  return healthCheck
}

/** Accepts only origins: calls supply the paths. */
function urlsOf(name: string, { url }: RegisteredService, problems: string[]): readonly string[] {
  return (url === undefined ? [] : typeof url === 'string' ? [url] : url).flatMap((text) => {
    try {
      const parsed = checkEgressUrl(text, { allowPrivate: true })
      if (parsed.pathname === '/' && parsed.search === '' && parsed.hash === '') return [parsed.origin]
      problems.push(`option services.${name}.url: it must be an origin, such as http://users.internal:8080, without path and query`)
    } catch (error) {
      problems.push(`option services.${name}.url: ${messageOf(error)}`)
    }
    return []
  })
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function checkDependencies(services: readonly ServiceDefinition[], discoveredNames: ReadonlySet<string>) {
  const names = new Set(services.map(({ name }) => name))
  const notes: string[] = []
  const unknown: string[] = []
  for (const { name, dependencies } of services) {
    for (const dependency of dependencies) {
      if (names.has(dependency)) continue
      if (discoveredNames.has(dependency)) notes.push(`service "${name}" depends on "${dependency}", which is not listed in SERVICES`)
      else unknown.push(`service "${name}" depends on "${dependency}", which is neither discovered nor registered`)
    }
  }
  return { notes, unknown }
}
