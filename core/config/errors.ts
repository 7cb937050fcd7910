import { extname } from 'node:path'
import { defineErrors } from '../errors.js'

/** Names of the configuration file, in lookup order. */
export const configNames = ['zin.config.ts', 'zin.config.mts', 'zin.config.mjs', 'zin.config.js'] as const

/** Errors of the configuration. */
export const configErrors = defineErrors({
  ZIN_CONFIG_MISSING: {
    message: (cwd: string) =>
      `no ${configNames.join(', ')} in ${cwd} or any folder above it; run the command inside an app, or create one with "zin new <dir>"`,
    when: 'There is no configuration file in the folder or above it',
    fix: 'Run the command inside an app, or create one with `zin new <dir>`',
  },
  ZIN_CONFIG_UNSUPPORTED: {
    message: (file: string) => {
      const [kind, name] = file.endsWith('.cjs') ? ['a CommonJS module', 'zin.config.mjs'] : [`a ${extname(file)} file`, 'zin.config.ts']
      return `${file} is ${kind}; the configuration is an ES module: name it ${name} and write export default defineConfig({ … })`
    },
    when: 'The file has the name of a configuration file, but its format is not supported',
    fix: 'Name it `zin.config.ts` or `zin.config.mjs`',
  },
  ZIN_CONFIG_COMMONJS: {
    message: (file: string) => `${file} would load as CommonJS; add "type": "module" to the package.json of the app`,
    when: 'A configuration in TypeScript would load as CommonJS',
    fix: 'Add `"type": "module"` to the `package.json` of the app',
  },
  ZIN_CONFIG_UNBUILT: {
    message: (file: string, changed?: string) =>
      `${file} is TypeScript, and ${changed === undefined ? 'there is no build of the app' : `${changed} has changed since the app was built`}: run "zin build" where its development dependencies are installed, or "npm install tsx"`,
    when: 'The app has no build that is up to date, and tsx, which loads TypeScript, is not installed',
    fix: 'Run `zin build`, and deploy the folder `build`',
  },
  ZIN_CONFIG_SYNTAX: {
    message: (place: string, text: string) => `${place}: ${text}`,
    cause: (_place: string, _text: string, error: unknown) => error,
    when: 'The configuration, or a file that it imports, has a syntax error',
    fix: 'Correct the line that the message names',
  },
  ZIN_CONFIG_IMPORT: {
    message: (what: string) => `${what}; check that it is installed (npm install) and spelled correctly`,
    cause: (_what: string, error: unknown) => error,
    when: 'The configuration imports a module that cannot be found',
    fix: 'Install the package, or correct its name',
  },
  ZIN_CONFIG_FAILED: {
    message: (place: string, what: string) => `${place}: ${what}`,
    cause: (_place: string, _what: string, error: unknown) => error,
    when: 'The configuration threw an error while it was loaded',
    fix: 'Correct the line that the message names',
  },
  ZIN_CONFIG_INVALID: {
    message: (what: string) => what,
    details: (_what: string, problems?: readonly string[]) => problems,
    when: 'A value of the configuration, an option, a setting or a declaration of a plugin is wrong',
    fix: 'Correct each place that the message names',
  },
  ZIN_SETTING_INVALID: {
    message: (problems: readonly string[]) => problems.join('; '),
    details: (problems: readonly string[]) => problems,
    when: 'A setting has a value that does not match its type or limits, or two plugins declare it differently',
    fix: 'Set a value of the type that the message names',
  },
  ZIN_ENV_FILE: {
    message: (what: string) => what,
    cause: (_what: string, error?: unknown) => error,
    when: '`.env` cannot be read, or a line of it is malformed',
    fix: 'Correct the line that the message names',
  },
  ENV_FILE_BUSY: {
    message: (file: string) =>
      `${file} exists: another process is changing the file, or was killed while doing so; if no such process is running, delete it`,
    when: 'Another process is changing `.env`',
    fix: 'Wait until it is done; if no such process is running, delete the lock file',
  },
})
