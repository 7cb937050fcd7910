import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ZinConfig } from 'zin'
import type { ServiceContext, ServiceModule } from '../contract.js'

const names = ['index.ts', 'index.mts', 'index.js', 'index.mjs']

/**
 * The app that the module of a service makes. Throws when it is missing, fails, or exports something else.
 *
 * @param failures of starts before: Node keeps a module that failed, unless its address is another one.
 */
export async function loadModule(folder: string, context: ServiceContext, failures = 0): Promise<ZinConfig> {
  const file = await moduleOf(folder)
  if (file.endsWith('ts')) {
    const { register } = await import('tsx/esm/api')
    register()
  }
  const { default: exported } = (await import(pathToFileURL(file).href + (failures === 0 ? '' : `?start=${failures}`))) as {
    readonly default?: ZinConfig | ServiceModule
  }
  const config = typeof exported === 'function' ? await exported(context) : exported
  if (typeof config !== 'object' || config === null)
    throw new Error(`${file} must export by default what defineConfig returns, or a function that returns it`)
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
