import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { enableTypescript, type ZinConfig } from 'zin'
import type { ServiceContext, ServiceModule } from '../contract.js'

const names = ['index.ts', 'index.mts', 'index.js', 'index.mjs']

/**
 * Loads the module of a service and returns its app configuration. Throws if the module is missing, fails, or has the wrong default export.
 *
 * @param failures number of failed starts before: Node caches a failed module by its URL, so each retry uses a different one.
 */
export async function loadModule(folder: string, context: ServiceContext, failures = 0): Promise<ZinConfig> {
  const file = await moduleOf(folder)
  if (file.endsWith('ts')) await enableTypescript(file, ['esm'])
  else process.setSourceMapsEnabled(true)
  const { default: exported } = (await import(pathToFileURL(file).href + (failures === 0 ? '' : `?start=${failures}`))) as {
    readonly default?: ZinConfig | ServiceModule
  }
  const config = typeof exported === 'function' ? await exported(context) : exported
  if (typeof config !== 'object' || config === null)
    throw new Error(`the default export of ${file} must be the result of defineConfig, or a function that returns it`)
  return config
}

async function moduleOf(folder: string): Promise<string> {
  for (const name of names) {
    const file = join(folder, name)
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    )
      return file
  }
  throw new Error(`${folder} has no ${names.join(', ')}`)
}
