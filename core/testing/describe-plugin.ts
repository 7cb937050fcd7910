import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { OptionsValidator } from '../config/validate-options.js'
import type { ErrorTable } from '../errors.js'
import type { ProvidedService } from '../host/host-options.js'
import { type Plugin, type PluginFactory, registerOnly } from '../host/plugin.js'
import { commandName, declaredTables, markdownTable, tableKeys, tableRows } from './readme.js'
import { createTestHost, type TestHost } from './test-host.js'

/** Options of {@link describePlugin}. */
export interface DescribePluginOptions {
  /** Path of the plugin's README, which is compared with its options, settings, errors, routes, hooks, services and commands. */
  readonly readme: URL | string
  /** Settings that it requires. */
  readonly env?: Readonly<Record<string, string>>
  /** Services that replace those of other plugins, created with `fake`. */
  readonly services?: readonly ProvidedService[]
  /** Options of the plugin under test; at least the required ones. */
  readonly options?: object
}

/**
 * Registers the conformance tests of a plugin with node:test: it can be enabled and disabled twice and leaves nothing
 * open, its defaults match its schema, its routes and errors are described, and its README matches the code: the tables of the
 * sections Options, Settings and Errors are equal to its declarations, word for word.
 *
 * @example
 * describePlugin(() => [], hello, { readme: new URL('./README.md', import.meta.url) })
 */
// biome-ignore lint/suspicious/noExplicitAny: a factory of any options
export function describePlugin(dependencies: () => readonly Plugin[], factory: PluginFactory<any>, given: DescribePluginOptions): void {
  const { spec } = factory
  let host: TestHost
  const ownRoutes = () => host.host.view.routes().filter((route) => route.plugin === spec.name)

  describe(`plugin ${spec.name} follows the rules for plugins`, () => {
    before(async () => {
      const { env, services, options } = given
      host = await createTestHost({
        plugins: [...dependencies(), registerOnly(factory(options))],
        ...(env === undefined ? {} : { env }),
        ...(services === undefined ? {} : { services }),
      })
    })
    after(() => host.stop())

    it('can be enabled and disabled twice and leaves no route, listener, timer or connection', async () => {
      for (const _round of [1, 2]) {
        await host.enable(spec.name)
        const routes = ownRoutes()
        await host.disable(spec.name)
        assert.deepEqual(ownRoutes(), [])
        assert.deepEqual(listenersOf(host, spec.name), [])
        for (const { method, path } of routes) {
          const { status } = await host.inject({ method, path: path.replaceAll(/:\w+/g, 'x') })
          assert.ok([404, 405].includes(status), `${method} ${path} returns ${status} after the plugin was disabled`)
        }
        await host.assertNothingOpen(spec.name)
      }
    })

    it('has defaults that match its schema, and rejects an unknown option', () => {
      const validator = new OptionsValidator()
      const all = { ...spec.options?.defaults, ...given.options }
      assert.deepEqual(validator.validate(spec, all), { options: all })
      const refused = validator.validate(spec, { thisOptionDoesNotExist: 1 })
      assert.ok('problems' in refused && refused.problems.some((problem) => problem.includes('thisOptionDoesNotExist')))
    })

    it('describes its routes, commands and settings', async () => {
      await host.enable(spec.name)
      const document = host.host.http.openapi() as { paths: Record<string, Record<string, { responses: Record<string, unknown> }>> }
      for (const { method, path, summary } of ownRoutes()) {
        assert.ok(summary.length > 0, `${method} ${path} has no summary`)
        const operation = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
        if (operation === undefined) continue
        assert.ok(
          Object.keys(operation.responses).some((status) => /^[23]/.test(status)),
          `${method} ${path} has no response schema`,
        )
      }
      for (const { command } of ownCommands(host, spec.name))
        assert.ok(command.summary.length > 0, `command ${command.name} has no summary`)
    })

    it('has a README whose tables of options, settings, packages and errors match its declarations', async () => {
      const readme = await readFile(given.readme, 'utf8')
      const tables = declaredTables(spec)
      for (const section of ['Options', 'Settings', 'Packages', 'Errors']) {
        const table = tables[section]
        const rows = tableRows(readme, section)
        // A plugin that declares no errors may list errors of others that it passes on.
        if (section === 'Errors' && spec.errors === undefined) continue
        const message = `the table in section "${section}" of the README does not match the declarations. "zin docs ${spec.name} --write <README.md>" writes it in an app that uses the plugin; it should be\n${table === undefined ? 'absent' : markdownTable(table)}\n`
        assert.deepEqual(rows, table?.rows ?? [], message)
        for (const cells of table?.rows ?? []) assert.ok(!cells.includes(''), `${section}: ${cells[0]} is not described`)
      }
    })

    it('has errors that are listed in the OpenAPI document with their status', () => {
      const { components } = host.host.http.openapi() as OpenApiWithCodes
      const documented = new Map(components.schemas.ErrorCode.anyOf.map((entry) => [entry.const, entry['x-status']]))
      for (const [code, { row }] of Object.entries((spec.errors ?? {}) as ErrorTable)) {
        assert.equal(documented.get(code), row.status, `${code} has a different status in the OpenAPI document`)
      }
    })

    it('has a README that lists exactly its routes, hooks, services and commands', async () => {
      await host.enable(spec.name)
      const readme = await readFile(given.readme, 'utf8')
      const expected = {
        Hooks: Object.keys(spec.hooks ?? {}),
        Services: (spec.provides ?? []).map((ref) => ref.id),
      }
      for (const [section, names] of Object.entries(expected)) assertSame(section, tableKeys(readme, section), names)
      assertSame(
        'Routes',
        tableKeys(readme, 'Routes', 2),
        ownRoutes().map((route) => `${route.method} ${route.path}`),
      )
      assertSame(
        'Commands',
        tableKeys(readme, 'Commands').map(commandName),
        ownCommands(host, spec.name).map(({ command }) => command.name),
      )
    })
  })
}

interface OpenApiWithCodes {
  readonly components: { readonly schemas: { readonly ErrorCode: { readonly anyOf: readonly { const?: string; 'x-status'?: number }[] } } }
}

function ownCommands(host: TestHost, plugin: string) {
  return host.host.commands().filter((entry) => entry.plugin === plugin)
}

function listenersOf(host: TestHost, plugin: string): string[] {
  const hooks = host.host.view.hooks()
  return hooks.filter((hook) => hook.listeners.some((listener) => listener.plugin === plugin)).map((hook) => hook.name)
}

function assertSame(section: string, documented: readonly string[], actual: readonly string[]): void {
  assert.deepEqual([...documented].sort(), [...actual].sort(), `section "${section}" of the README does not match the code`)
}
