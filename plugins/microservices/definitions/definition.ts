import type { AuthStrategy } from '../contract.js'

/** Definition of a service, wherever it runs. */
export interface ServiceDefinition {
  readonly name: string
  readonly domain: string
  readonly version: string
  readonly description: string
  readonly source: 'discovered' | 'registered'
  readonly dependencies: readonly string[]
  readonly healthCheck: string
  readonly auth: AuthStrategy
  readonly database: { readonly isolation: 'shared' | 'isolated'; readonly migrations: boolean }
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
  /** Origins of its instances: `http://127.0.0.1:3001`. */
  readonly urls: readonly string[]
  /** PEM certificates of the authority for its https addresses; absent: the well-known authorities. */
  readonly ca?: string
  /** Present if the service runs here. */
  readonly local?: LocalService
}

export interface LocalService {
  /** Absolute folder of its service.config.json and module. */
  readonly folder: string
  readonly host: string
  /** One port for each instance. */
  readonly ports: readonly number[]
  readonly process: 'own' | 'shared'
}
