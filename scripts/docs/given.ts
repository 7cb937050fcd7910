// The names that snippets in documents and docstrings can use without declaring them: the `ctx` of a plugin, services by their usual names, a
// request, and parts of an app that they do not show. Plugins are imported separately.
import type { Context } from 'koa'
import { type DataStore, defineOptions, definePlugin, type PluginContext, Type } from 'zin'
import type { clusterService } from 'zin/plugins/cluster'
import type { databaseService } from 'zin/plugins/database'
import type { kvService } from 'zin/plugins/kv'
import type { Queues, queuesService } from 'zin/plugins/queues'
import type { workersService } from 'zin/plugins/workers'

type Services = {
  readonly cluster: typeof clusterService
  readonly database: typeof databaseService
  readonly kv: typeof kvService
  readonly queues: typeof queuesService
  readonly workers: typeof workersService
}

// biome-ignore lint/suspicious/noExplicitAny: of a plugin with any options and settings
export declare const ctx: PluginContext<any, Services, any>
export const { hooks, log, services } = ctx
export const { cluster, database, kv, queues, workers } = services
export declare const request: Context

/** A plugin of the app. */
export const hello = definePlugin({
  name: 'hello',
  version: '1.0.0',
  options: defineOptions(Type.Object({ who: Type.String({ default: 'world', description: 'Who is greeted' }) })),
  setup: ({ options, route }) => route({ method: 'GET', path: '/hello', summary: 'Greets', handler: () => ({ hello: options.who }) }),
})

export declare const id: string
export declare const apiKeys: ReadonlySet<string>
export declare const audit: { write(entry: object): void }
export declare const caches: { clear(name: string): void }
export declare const directory: { check(email: string, password: string): Promise<{ id: string; email: string; role: string } | undefined> }
export declare const reports: { start(epoch: number): void; stop(): void }
export declare function writeReport(): Promise<void>
export declare const searchIndex: {
  open(): Promise<{ version: string; time(): Promise<number>; close(): Promise<void> }>
  data(): DataStore
}
export declare const sessions: { find(id: string | undefined): Promise<{ id: string; userId: string; endsAt: number } | undefined> }
export declare const tenants: { find(key: string): Promise<{ id: string } | undefined> }
export declare const telemetry: Parameters<Queues['setTelemetry']>[0]
export declare function seal(data: unknown): Promise<string>
export declare function unseal(stored: unknown): Promise<unknown>

/** The credentials that a client received at login. */
export declare const email: string
export declare const password: string
export declare const token: string
export declare const deviceId: string
export declare const deviceSecret: string
export declare const keyId: string
export declare const secret: string
