import type { HookMap } from '../hooks/catalogue.js'
import type { ListenerOf } from '../hooks/kinds.js'
import type { ZinConfig } from './define-config.js'
import { definePlugin, type Plugin } from './plugin.js'

/** The app's own routes, listeners, commands and migrations, as a regular plugin named `app`. */
export function appPlugin(config: ZinConfig): Plugin {
  return definePlugin({
    name: 'app',
    version: '0.0.0',
    description: 'Routes, listeners, commands and migrations of zin.config.ts',
    setup(ctx) {
      ctx.routes(config.routes ?? [])
      ctx.commands(config.commands ?? [])
      for (const migration of config.migrations ?? []) ctx.migration(migration)
      for (const [name, listener] of Object.entries(config.hooks ?? {})) {
        ctx.hooks.on(name as keyof HookMap, listener as ListenerOf<HookMap[keyof HookMap]>)
      }
    },
  })()
}
