import { factoryName } from '../util/factory-name.js'

/** Pattern of plugin names: kebab-case. */
export const pluginNamePattern = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/

/** Identifiers that cannot name a constant in the files: reserved words, and what the files import. */
const takenNames: ReadonlySet<string> = new Set([
  ...['arguments', 'await', 'break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'default', 'delete', 'do', 'else', 'enum'],
  ...['eval', 'export', 'extends', 'false', 'finally', 'for', 'function', 'if', 'implements', 'import', 'in', 'instanceof', 'interface'],
  ...['let', 'new', 'null', 'package', 'private', 'protected', 'public', 'return', 'static', 'super', 'switch', 'this', 'throw', 'true'],
  ...['try', 'typeof', 'undefined', 'var', 'void', 'while', 'with', 'yield'],
  ...['assert', 'createTestHost', 'defineConfig', 'defineErrors', 'defineOptions', 'definePlugin', 'defineRoute', 'defineService'],
  ...['describePlugin', 'host', 'response', 'test'],
])

/** Whether the factory of a plugin can be named after it. */
export function canNameFactory(name: string): boolean {
  return !takenNames.has(factoryName(name))
}

/** Returns the files of a new plugin by name: a service, an option, an error and a route in the usual files, with a test and a README. */
export function pluginFiles(name: string): Readonly<Record<string, string>> {
  const factory = factoryName(name)
  const type = `${factory.charAt(0).toUpperCase()}${factory.slice(1)}`
  const code = `${name.toUpperCase().replaceAll('-', '_')}_NAME_EMPTY`
  return {
    'index.ts': `import { definePlugin } from 'zin'
import { ${factory}Service } from './contract.js'
import { ${factory}Errors } from './errors.js'
import { ${factory}Options } from './options.js'
import { ${factory}Routes } from './routes.js'
import { create${type} } from './service.js'

export type { ${type} } from './contract.js'
export { ${factory}Service } from './contract.js'
export type { ${type}Options } from './options.js'

export const ${factory} = definePlugin({
  name: '${name}',
  version: '0.1.0',
  description: 'Greets by name',
  provides: [${factory}Service],
  options: ${factory}Options,
  errors: ${factory}Errors,
  setup({ options, provide, routes }) {
    const service = create${type}(options)
    provide(${factory}Service, service)
    routes(${factory}Routes(service))
  },
})
`,
    'contract.ts': `import { defineService } from 'zin'

/** What this plugin offers to other plugins. */
export interface ${type} {
  /** Throws ${code}. */
  greet(name: string): string
}

export const ${factory}Service = defineService<${type}>('${name}')
`,
    'service.ts': `import type { ${type} } from './contract.js'
import { ${factory}Errors } from './errors.js'
import type { ${type}Options } from './options.js'

export function create${type}({ greeting }: ${type}Options): ${type} {
  return {
    greet(name) {
      if (name.trim() === '') throw ${factory}Errors.${code}()
      return \`\${greeting}, \${name}\`
    },
  }
}
`,
    'options.ts': `import { defineOptions, type OptionsOf, Type } from 'zin'

export type ${type}Options = OptionsOf<typeof ${factory}Options>

export const ${factory}Options = defineOptions(
  Type.Object({
    greeting: Type.String({ minLength: 1, default: 'Hello', description: 'The first word of a greeting' }),
  }),
)
`,
    'errors.ts': `import { defineErrors } from 'zin'

export const ${factory}Errors = defineErrors({
  ${code}: {
    status: 400,
    message: () => 'The name is empty; add one to the path',
    when: 'The name is empty',
    fix: 'Add a name to the path',
  },
})
`,
    'routes.ts': `import { defineRoute, type Route, Type } from 'zin'
import type { ${type} } from './contract.js'

export function ${factory}Routes(service: ${type}): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/${name}/:name',
      summary: 'Greets by name',
      response: { 200: Type.Object({ message: Type.String() }) },
      handler: ({ input }) => ({ message: service.greet(input.params.name) }),
    }),
  ]
}
`,
    [`${name}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost, describePlugin } from 'zin/testing'
import { ${factory} } from './index.js'

describePlugin(() => [], ${factory}, { readme: new URL('./README.md', import.meta.url) })

test('GET /${name}/:name greets with the greeting of the options', async () => {
  const host = await createTestHost({ plugins: [${factory}({ greeting: 'Hi' })] })
  try {
    const response = await host.inject({ method: 'GET', path: '/${name}/Anna' })
    assert.equal(response.status, 200)
    assert.deepEqual(response.body, { message: 'Hi, Anna' })
    const refused = await host.inject({ method: 'GET', path: '/${name}/%20' })
    assert.equal(refused.status, 400)
    assert.equal(refused.body.code, '${code}')
  } finally {
    await host.stop()
  }
})
`,
    'README.md': `# ${name}

## What

Greets by name. Replace this with the purpose of the plugin.

## Enable

\`\`\`ts
import { ${factory} } from './plugins/${name}/index.js'

export default defineConfig({ plugins: [${factory}()] })
\`\`\`

## Options

| option | type | default | meaning |
|---|---|---|---|
| \`greeting\` | string | \`Hello\` | The first word of a greeting |

## Routes

| method | path | what |
|---|---|---|
| GET | \`/${name}/:name\` | Greets by name |

## Services

| service | what |
|---|---|
| \`${name}\` | \`greet(name)\`: the greeting as text |

## Errors

| code | status | when | what to do |
|---|---|---|---|
| \`${code}\` | 400 | The name is empty | Add a name to the path |
`,
  }
}
