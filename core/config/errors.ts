import { extname } from 'node:path'
import { defineErrors } from '../errors.js'

/** Names of the configuration file, in the order in which they are tried. */
export const configNames = ['zin.config.ts', 'zin.config.mts', 'zin.config.mjs', 'zin.config.js'] as const

/** What is wrong with what an app is configured by. */
export const configErrors = defineErrors({
  ZIN_CONFIG_MISSING: {
    message: (cwd: string) =>
      `no ${configNames.join(', ')} in ${cwd} or a folder above it; make an app with "zin new <dir>", or change into one`,
    when: 'No configuration file is in the folder or above it',
    fix: 'Change into an app, or create one with `zin new <dir>`',
  },
  ZIN_CONFIG_UNSUPPORTED: {
    message: (file: string) => {
      const [kind, name] = file.endsWith('.cjs') ? ['a CommonJS module', 'zin.config.mjs'] : [`a ${extname(file)} file`, 'zin.config.ts']
      return `${file} is ${kind}; the configuration is an ES module: name it ${name} and write export default defineConfig({ … })`
    },
    when: 'The file is named like a configuration and cannot be one',
    fix: 'Name it `zin.config.ts` or `zin.config.mjs`',
  },
  ZIN_CONFIG_COMMONJS: {
    message: (file: string) => `${file} would load as CommonJS; put "type": "module" into the package.json of the app`,
    when: 'A configuration in TypeScript would load as CommonJS',
    fix: 'Put `"type": "module"` into the `package.json` of the app',
  },
  ZIN_CONFIG_SYNTAX: {
    message: (place: string, text: string) => `${place}: ${text}`,
    cause: (_place: string, _text: string, error: unknown) => error,
    when: 'The configuration, or a file that it imports, has a syntax error',
    fix: 'Correct the line that the message names',
  },
  ZIN_CONFIG_IMPORT: {
    message: (what: string) => `${what}; is it installed (npm install) and spelled right?`,
    cause: (_what: string, error: unknown) => error,
    when: 'The configuration imports what is not there',
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
    when: 'A setting has a value that does not fit its type or limits, or two plugins declare it differently',
    fix: 'Give a value of the kind that the message names',
  },
  ZIN_ENV_FILE: {
    message: (what: string) => what,
    cause: (_what: string, error?: unknown) => error,
    when: '`.env` cannot be read, or a line of it is malformed',
    fix: 'Correct the line that the message names',
  },
  ENV_FILE_BUSY: {
    message: (file: string) => `${file} exists: another process is changing the file, or one was killed; delete it if none runs`,
    when: 'Another process is changing `.env`',
    fix: 'Wait for it; delete the lock file if none runs',
  },
})
