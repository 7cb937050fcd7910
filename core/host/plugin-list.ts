import { configErrors } from '../config/errors.js'
import { factoryName } from '../util/factory-name.js'
import { kindOf } from '../util/kind-of.js'
import type { ZinConfig } from './define-config.js'
import { isPlugin, type Plugin } from './plugin.js'

/** Returns the plugins of a configuration without falsy entries. Throws ZIN_CONFIG_INVALID with the index of an entry that is not a plugin. */
export function pluginsOf({ plugins = [] }: ZinConfig): Plugin[] {
  return plugins.flatMap((entry, index) => {
    if (!entry) return []
    if (isPlugin(entry)) return [entry]
    throw configErrors.ZIN_CONFIG_INVALID(`zin.config.ts: plugins[${index}] is ${describeEntry(entry)}`)
  })
}

function describeEntry(entry: unknown): string {
  if (typeof entry !== 'function') return `${kindOf(entry)} that was not created by a plugin factory`
  const name = (entry as { readonly spec?: { readonly name?: unknown } }).spec?.name
  if (typeof name === 'string') return `a plugin factory that was not called: write ${factoryName(name)}()`
  return `the function ${entry.name || 'without a name'}, which is not a plugin: call it if it returns one`
}
