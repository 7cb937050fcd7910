import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import type { SettingSpecs } from '../../config/settings.js'
import { updateEnvFile } from '../../config/update-env-file.js'
import { messageOf } from '../../errors.js'
import { defineCommand, type Printer } from '../../host/command.js'
import { hostErrors } from '../../host/errors.js'
import type { PackageUses } from '../../host/packages.js'
import type { AnyPluginSpec, PluginFactory } from '../../host/plugin.js'
import type { ServiceRef, Uses } from '../../services/ref.js'
import { withPlugins } from '../config-text.js'
import { cliErrors } from '../errors.js'
import { openApp } from '../open-app.js'
import { zinPackage } from '../package-root.js'
import { newKey } from '../scaffold.js'

export const addCommand = defineCommand({
  name: 'add',
  summary: 'Add plugins of zin/plugins: install their packages, list them in zin.config.ts, and make the keys that they read',
  needs: 'nothing',
  args: [{ name: 'plugin', summary: 'name of the plugin, such as queues; several are separated by spaces', repeated: true }],
  options: {
    all: { type: 'boolean', summary: 'Also install the packages that only some of its options and settings need' },
    'skip-install': { type: 'boolean', summary: 'Install nothing; only change zin.config.ts, package.json and .env' },
  },
  async run({ repeated, options, cwd, env, print }) {
    const found = await findConfig(cwd)
    if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
    const known = await ownPlugins()
    const plugins = repeated
      .map((name) => nameOf(name, known))
      .reduce<readonly OwnPlugin[]>((found, one) => closureOf(one, known, found), [])
    const { rootDir, file } = found
    const packages = plugins.flatMap(({ spec }) => wantedPackages(spec, options.all === true))
    const missing = await listPackages(rootDir, packages)
    await listPlugins(
      file,
      relative(cwd, file),
      plugins.map(({ factory }) => factory),
      print,
    )
    if (missing.length > 0) print.line(`package.json: ${missing.join(', ')}`)
    for (const name of await addKeys(rootDir, plugins, env)) print.line(`.env: ${name}, a new random key; do not commit it`)
    if (missing.length > 0 && options['skip-install'] === true) print.line(`Then run: ${managerOf(rootDir)} install`)
    else {
      if (missing.length > 0) await install(rootDir)
      await checkApp(cwd, print)
    }
    for (const { spec } of plugins) for (const line of later(spec, options.all === true)) print.line(line)
  },
})

interface OwnPlugin {
  readonly factory: string
  readonly spec: AnyPluginSpec
}

async function ownPlugins(): Promise<readonly OwnPlugin[]> {
  const file = join(zinPackage().root, 'dist', 'plugins', 'index.js')
  const factories = (await import(pathToFileURL(file).href)) as Readonly<Record<string, PluginFactory>>
  return Object.entries(factories)
    .filter(([, value]) => typeof value === 'function' && 'spec' in value)
    .map(([factory, { spec }]) => ({ factory, spec }))
}

/** Accepts the name of the plugin and that of its factory. */
function nameOf(given: string, known: readonly OwnPlugin[]): OwnPlugin {
  const found = known.find(({ factory, spec }) => spec.name === given || factory === given)
  if (found !== undefined) return found
  throw hostErrors.ZIN_PLUGIN_UNKNOWN(
    given,
    known.map(({ spec }) => spec.name),
  )
}

/** A plugin and those that it cannot run without, these first. */
function closureOf(plugin: OwnPlugin, known: readonly OwnPlugin[], found: readonly OwnPlugin[] = []): readonly OwnPlugin[] {
  if (found.includes(plugin)) return found
  const { dependencies = [], uses = {} } = plugin.spec
  const services = Object.values(uses as Uses)
    .filter(({ optional }) => !optional)
    .map(({ id }) => id)
  const needed = known.filter(
    ({ spec }) =>
      dependencies.some((name) => name.split('@')[0] === spec.name) ||
      ((spec.provides ?? []) as readonly ServiceRef<unknown>[]).some(({ id }) => services.includes(id)),
  )
  const before = needed.reduce((list, one) => closureOf(one, known, list), found)
  return before.includes(plugin) ? before : [...before, plugin]
}

function wantedPackages({ packages = {} }: AnyPluginSpec, all: boolean): readonly string[] {
  return Object.entries(packages as PackageUses).flatMap(([name, { added = true }]) => (all || added ? [name] : []))
}

/** What a plugin needs later, with some settings. */
function later({ name, packages = {} }: AnyPluginSpec, all: boolean): readonly string[] {
  const others = all ? [] : Object.entries(packages as PackageUses).filter(([, { added }]) => added === false)
  const reasons = new Set(others.map(([, { when = '' }]) => when))
  return [...reasons].map((when) => {
    const names = others.filter(([, use]) => use.when === when).map(([one]) => one)
    return `When ${when}, ${name} also needs ${names.join(', ')}: zin add ${name} --all`
  })
}

/** Adds packages to package.json, in the versions that this Zin works with. Returns those that were not there. */
async function listPackages(rootDir: string, names: readonly string[]): Promise<readonly string[]> {
  const file = join(rootDir, 'package.json')
  const manifest = JSON.parse(await readFile(file, 'utf8')) as { dependencies?: Record<string, string>; [field: string]: unknown }
  const { peerDependencies = {} } = JSON.parse(await readFile(join(zinPackage().root, 'package.json'), 'utf8')) as {
    readonly peerDependencies?: Readonly<Record<string, string>>
  }
  const { dependencies = {}, optionalDependencies = {} } = manifest as Record<string, Record<string, string> | undefined>
  const missing = [...new Set(names)].filter((name) => !(name in dependencies || name in optionalDependencies)).sort()
  if (missing.length === 0) return []
  const all = { ...dependencies, ...Object.fromEntries(missing.map((name) => [name, peerDependencies[name] ?? '*'])) }
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
  await writeFile(file, `${JSON.stringify({ ...manifest, dependencies: sorted }, null, 2)}\n`)
  return missing
}

async function listPlugins(file: string, shown: string, factories: readonly string[], print: Printer): Promise<void> {
  const before = await readFile(file, 'utf8')
  const after = withPlugins(before, factories)
  if (after === before) return print.line(`${shown} already lists ${factories.join(', ')}`)
  if (after === undefined) {
    throw cliErrors.ZIN_COMMAND_FAILED(
      `${shown} has no list "plugins" that can be changed: add import { ${factories.join(', ')} } from 'zin/plugins', and ${factories.map((one) => `${one}()`).join(', ')} to its plugins`,
    )
  }
  await writeFile(file, after)
  print.line(`${shown}: ${factories.filter((name) => !new RegExp(`\\b${name}\\b`).test(before)).join(', ') || factories.join(', ')}`)
}

/**
 * Writes a random value for the settings that say `generate`, unless the app has one. Returns their names. Not where `.env` has yet to be
 * made from `.env.example`.
 */
async function addKeys(
  rootDir: string,
  plugins: readonly OwnPlugin[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const file = join(rootDir, '.env')
  if (!existsSync(file) && existsSync(`${file}.example`)) return []
  const specs = plugins.flatMap(({ spec }) => Object.entries((spec.settings ?? {}) as SettingSpecs))
  const names = new Set(specs.filter(([, spec]) => spec.type === 'string' && spec.generate === true).map(([name]) => name))
  const missing = [...names].filter((name) => (env[name] ?? '') === '')
  if (missing.length === 0) return []
  let written: readonly string[] = []
  await updateEnvFile(file, (values) => {
    written = missing.filter((name) => (values[name] ?? '') === '')
    return Object.fromEntries(written.map((name) => [name, newKey()]))
  })
  return written
}

const lockFiles = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun' } as const

/** The package manager of an app, by its lock file. */
function managerOf(rootDir: string): string {
  return Object.entries(lockFiles).find(([file]) => existsSync(join(rootDir, file)))?.[1] ?? 'npm'
}

async function install(rootDir: string): Promise<void> {
  const manager = managerOf(rootDir)
  const child = spawn(manager, ['install'], { cwd: rootDir, stdio: ['ignore', 'inherit', 'inherit'], shell: process.platform === 'win32' })
  const [code] = (await Promise.race([once(child, 'close'), once(child, 'error').then(([error]) => [messageOf(error)])])) as [unknown]
  if (code !== 0)
    throw cliErrors.ZIN_COMMAND_FAILED(`"${manager} install" failed (${String(code)}); package.json has the packages: run it again`)
}

/** Says which settings are missing now, as `zin config:check` does. */
async function checkApp(cwd: string, print: Printer): Promise<void> {
  try {
    const app = await openApp({ cwd, environment: { ...process.env }, roles: [] })
    const problems = app.host.view.problems()
    await app.close()
    for (const problem of problems) print.line(`To do: ${problem}`)
    print.line('All settings: zin config:check')
  } catch (error) {
    for (const problem of messageOf(error).split('\n')) print.line(`To do: ${problem}`)
  }
}
