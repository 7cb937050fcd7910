// Checks that the core does not depend on features: it must not mention the settings, names or services of plugins.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { appSettings } from '../core/host/app-settings.js'
import type { PluginFactory } from '../core/host/plugin.js'
import { moduleIn } from './docs/module-in.js'

/** Names of plugins that the core uses with another meaning, such as a value of LOG_CHANNEL. */
const ownWords = new Set(['console'])

/** The declarations of plugins, each with a pattern that finds it in code. */
async function patterns(): Promise<ReadonlyMap<string, RegExp>> {
  const found = new Map<string, RegExp>()
  for (const folder of readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))) {
    for (const { spec } of Object.values(await moduleIn(`plugins/${folder}`)).filter(isFactory)) {
      for (const setting of Object.keys(spec.settings ?? {}))
        if (!(setting in appSettings)) found.set(`the setting ${setting} of ${spec.name}`, new RegExp(`\\b${setting}\\b`))
      if (!ownWords.has(spec.name)) found.set(`the plugin ${spec.name}`, new RegExp(`(['"\`])${spec.name}\\1`))
      for (const { id } of spec.provides ?? []) found.set(`the service ${id} of ${spec.name}`, new RegExp(`(['"])${id}\\1`))
    }
  }
  return found
}

function isFactory(value: unknown): value is PluginFactory {
  return typeof value === 'function' && typeof (value as { readonly spec?: { readonly name?: unknown } }).spec?.name === 'string'
}

const files = readdirSync('core', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join('core', name))
const named = await patterns()
const problems = files.flatMap((file) => {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.flatMap((line, index) =>
    // Docstrings may contain examples.
    [...named]
      .filter(([, pattern]) => !/^\s*(\*|\/\*\*)/.test(line) && pattern.test(line))
      .map(([what]) => `${file}:${index + 1} mentions ${what}`),
  )
})
for (const problem of problems) console.error(`${problem}; the core must not depend on features: let the plugin contribute it`)
// Exits explicitly, because plugins may have loaded something that keeps the process alive.
process.exit(problems.length > 0 ? 1 : 0)
