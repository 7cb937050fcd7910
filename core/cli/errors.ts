import { defineErrors, ZinError } from '../errors.js'

/** Errors that end a command, except those in responses of the app. */
export const cliErrors = defineErrors({
  ZIN_ABORTED: {
    message: (what: string) => what,
    cause: (_what: string, error?: unknown) => error,
    when: 'The user cancelled the command or its prompt',
    fix: 'Run it again',
  },
  ZIN_APP_RESPONSE: {
    message: (baseUrl: string, request: string, status: number) =>
      `the response to ${request} on ${baseUrl} has status ${status} and does not come from a Zin app; another server or a proxy may be listening there`,
    when: 'A command reached a server that is not a Zin app',
    fix: 'Pass the address of the app with `--url`',
  },
  ZIN_APP_TIMEOUT: {
    message: (baseUrl: string, method: string, timeoutMs: number) =>
      `the app on ${baseUrl} did not respond to ${method} within ${timeoutMs / 1000} s`,
    cause: (_baseUrl: string, _method: string, _timeoutMs: number, error: unknown) => error,
    when: 'The running app did not respond in time',
    fix: 'Check the log of the app and try again',
  },
  ZIN_APP_UNREACHABLE: {
    message: (baseUrl: string, reason: string) =>
      `no app responds on ${baseUrl}${reason}; start it with "zin start", or pass its address with --url, or with --host and --port`,
    cause: (_baseUrl: string, _reason: string, error: unknown) => error,
    when: 'No process listens at the address of the app',
    fix: 'Start the app, or pass its address with `--url`',
  },
  ZIN_BUILD_FAILED: {
    message: (problems: readonly string[]) => problems.join('\n'),
    details: (problems: readonly string[]) => problems,
    when: '`zin build` found an error in a source file',
    fix: 'Correct the lines that the message names',
  },
  ZIN_BUILD_FOLDER: {
    message: (folder: string) => `${folder} exists and was not written by "zin build"; rename or remove it`,
    when: '`zin build` would replace a folder of yours',
    fix: 'Rename or remove the folder',
  },
  ZIN_COMMAND_CONFLICT: {
    message: (command: string, one: string, other: string) =>
      `the command "${command}" is registered by ${one} and by ${other}; rename one of them`,
    when: 'Two plugins register the same command',
    fix: 'Rename one of them',
  },
  ZIN_COMMAND_FAILED: {
    message: (what: string) => what,
    when: 'A command reported that it failed',
    fix: 'Do what the message says',
  },
  ZIN_COMMAND_NEEDS: {
    message: (command: string, uses: string, must: string) => `the command "${command}" uses ${uses} and must therefore declare ${must}`,
    when: 'A command uses something that its `needs` does not cover',
    fix: 'Declare it as the message says',
  },
  ZIN_FILE_EXISTS: {
    message: (file: string) => `${file} already exists; choose another name or remove it`,
    when: '`zin make:<kind>` would write to a file that exists',
    fix: 'Choose another name',
  },
  ZIN_FILE_NAME: {
    usage: true,
    message: (name: string) =>
      `"${name}" is not a valid name; use lowercase letters and digits with single dashes, at most 60 characters, such as late-orders, or shop/late-orders for a file in a folder`,
    when: '`zin make:<kind>` was given a name that is not in kebab-case',
    fix: 'Use lowercase letters, digits and single dashes',
  },
  ZIN_NOT_CONFIRMED: {
    message: () => 'not confirmed; nothing was changed',
    when: 'The user did not confirm a loss of data',
    fix: 'Type the name of the app, or pass `--yes`',
  },
  ZIN_PLUGIN_EXISTS: {
    message: (folder: string) => `${folder} already exists; choose another name or remove it`,
    when: '`zin make:plugin` would write into a folder that exists',
    fix: 'Choose another name',
  },
  ZIN_PLUGIN_NAME: {
    usage: true,
    message: (name: string) =>
      `"${name}" is not a valid plugin name; use lowercase letters and digits with single dashes, at most 60 characters, such as slow-jobs, or shop/slow-jobs for a folder of plugins`,
    when: '`zin make:plugin` was given a name that is not in kebab-case',
    fix: 'Use lowercase letters, digits and single dashes',
  },
  ZIN_TARGET_USED: {
    message: (target: string, why: string) => `${target} ${why}; choose a new folder`,
    when: '`zin new` was given a folder that cannot be used',
    fix: 'Choose a new folder',
  },
  ZIN_USAGE: {
    status: 400,
    usage: true,
    message: (text: string) => text,
    when: 'A command was given a wrong option, argument or setting',
    fix: 'Follow the message; `zin help <command>` lists options and arguments',
  },
})

/** The command line is wrong: one line on stderr, exit code 2. */
export class UsageError extends ZinError {
  constructor(message: string) {
    const declared = cliErrors.ZIN_USAGE(message)
    super(declared.code, declared.message, declared)
  }
}
