import { factoryName } from '../util/factory-name.js'

/** kebab-case, as plugin names are. */
export const pluginNamePattern = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/

/** Words that cannot be the name of a constant in the files: those of the language, and what the files import. */
const takenNames: ReadonlySet<string> = new Set([
  ...['arguments', 'await', 'break', 'case', 'catch', 'class', 'const', 'continue', 'debugger', 'default', 'delete', 'do', 'else', 'enum'],
  ...['eval', 'export', 'extends', 'false', 'finally', 'for', 'function', 'if', 'implements', 'import', 'in', 'instanceof', 'interface'],
  ...['let', 'new', 'null', 'package', 'private', 'protected', 'public', 'return', 'static', 'super', 'switch', 'this', 'throw', 'true'],
  ...['try', 'typeof', 'undefined', 'var', 'void', 'while', 'with', 'yield'],
  ...['assert', 'createTestHost', 'defineConfig', 'definePlugin', 'describePlugin', 'test'],
])

/** Whether the name of a plugin can be the name of its factory, too. */
export function canNameFactory(name: string): boolean {
  return !takenNames.has(factoryName(name))
}

/** The files of a new plugin by name: a plugin with one option and one route, its test and its README. */
export function pluginFiles(name: string): Readonly<Record<string, string>> {
  const factory = factoryName(name)
  const type = `${factory.charAt(0).toUpperCase()}${factory.slice(1)}Options`
  return {
    'index.ts': `import { definePlugin } from 'zin'
import { ${factory}Options } from './options.js'

export type { ${type} } from './options.js'

export const ${factory} = definePlugin({
  name: '${name}',
  version: '0.1.0',
  description: 'Says hello',
  options: ${factory}Options,
  setup({ options, route }) {
    route({
      method: 'GET',
      path: '/${name}',
      summary: 'Greeting of the plugin ${name}',
      response: { 200: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] } },
      handler: () => ({ message: options.greeting }),
    })
  },
})
`,
    'options.ts': `export interface ${type} {
  /** What the route answers. */
  readonly greeting: string
}

const schema = {
  type: 'object',
  properties: { greeting: { type: 'string', minLength: 1 } },
  required: ['greeting'],
  additionalProperties: false,
}

const defaults: ${type} = { greeting: 'Hello from ${name}' }

export const ${factory}Options = { schema, defaults }
`,
    [`${name}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost, describePlugin } from 'zin/testing'
import { ${factory} } from './index.js'

describePlugin(() => [], ${factory}, { readme: new URL('./README.md', import.meta.url) })

test('GET /${name} answers the greeting of the options', async () => {
  const host = await createTestHost({ plugins: [${factory}({ greeting: 'Hi' })] })
  try {
    const answer = await host.inject({ method: 'GET', path: '/${name}' })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, { message: 'Hi' })
  } finally {
    await host.stop()
  }
})
`,
    'README.md': `# ${name}

## What

Says hello. Replace this by what the plugin is for.

## Enable

\`\`\`ts
import { ${factory} } from './plugins/${name}/index.js'

export default defineConfig({ plugins: [${factory}()] })
\`\`\`

## Options

| option | default | meaning |
|---|---|---|
| \`greeting\` | \`Hello from ${name}\` | What the route answers |

## Routes

| method | path | what |
|---|---|---|
| GET | \`/${name}\` | The greeting |
`,
  }
}
